"""The router gives the answers that the replay used, and keeps its memory bounded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.export.written_documents import AXES, THREE, document_of, encoder, one
from tests.strategies import profile_sets
from tuner.axes import Size
from tuner.errors import TunerError
from tuner.export import router as module
from tuner.export.router import Router
from tuner.profiles import routing
from tuner.profiles.profile import OptimizationProfile, ProfileSet

# Few values, so that ties and covered sizes are frequent.
small_sizes = st.lists(
    st.tuples(*[st.sampled_from((1, 2, 3, 4, 8, 16, 32, 64, 128))] * 2), min_size=1, max_size=20
)


@st.composite
def small_sets(draw: st.DrawFn) -> ProfileSet:
    bound = st.tuples(*[st.sampled_from((1, 2, 4, 8, 16, 32, 64, 128))] * 3).map(sorted)
    rows = st.tuples(bound, bound).map(lambda found: one(*zip(*found, strict=True)))
    return ProfileSet(tuple(draw(st.lists(rows, min_size=1, max_size=4, unique=True))))


def answers(
    profiles: ProfileSet, policy: str, sizes: Sequence[tuple[int, ...]], **facts: object
) -> list[int]:
    router = Router(document_of(encoder(), profiles.profiles, policy=policy, **facts))
    found = [router(*size) for size in sizes]
    assert found == [router(*size) for size in sizes] or policy == "sticky"
    return [routing.NOT_COVERED if index is None else index for index in found]


@settings(max_examples=60, deadline=None)
@given(small_sets(), small_sizes, st.data())
def test_the_written_table_routes_as_the_replay_does(
    profiles: ProfileSet, sizes: list[tuple[int, ...]], data: st.DataObject
) -> None:
    listed = {}
    for values in sizes[::2]:
        size = Size(AXES, values)
        covering = [i for i, p in enumerate(profiles) if p.covers(size)]
        if covering:
            listed[size] = data.draw(st.sampled_from(covering))
    replayed = routing.RoutingTable(profiles, listed).route(np.array(sizes))
    assert answers(profiles, "best", sizes, table=listed) == replayed.tolist()


@settings(max_examples=60, deadline=None)
@given(
    profile_sets(), st.lists(st.tuples(st.integers(1, 4096), st.integers(1, 4096)), min_size=1, max_size=20)
)
def test_any_unlisted_size_is_routed_as_the_replay_does(
    profiles: ProfileSet, sizes: list[tuple[int, ...]]
) -> None:
    unique = ProfileSet(tuple(dict.fromkeys(profiles)))
    replayed = routing.RoutingTable(unique, {}).route(np.array(sizes))
    assert answers(unique, "best", sizes) == replayed.tolist()


@settings(max_examples=60, deadline=None)
@given(small_sets(), small_sizes)
def test_the_other_policies_route_as_the_replay_does(
    profiles: ProfileSet, sizes: list[tuple[int, ...]]
) -> None:
    rows = np.array(sizes)
    expected = {
        "first_fit": routing.route_first_fit(profiles, rows),
        "profile_zero": routing.route_profile_zero(profiles, rows),
        "sticky": routing.route_sticky(profiles, rows),
        "nearest_opt": routing.route_nearest_opt(profiles, rows, encoder()),
    }
    for policy, replayed in expected.items():
        assert answers(profiles, policy, sizes) == replayed.tolist()


def test_equally_near_profiles_are_a_tie_for_the_lower_index() -> None:
    profiles = [one((1, 1), (4, 128), (512, 512)), one((1, 1), (16, 32), (512, 512))]
    assert answers(ProfileSet(tuple(profiles)), "best", [(8, 64)]) == [0]
    assert answers(ProfileSet(tuple(profiles[::-1])), "best", [(8, 64)]) == [0]


def test_sticky_stays_while_the_profile_covers() -> None:
    profiles: tuple[OptimizationProfile, ...] = (one((1, 1), (4, 4), (8, 8)), one((4, 4), (8, 8), (64, 64)))
    sizes = [(1, 1), (6, 6), (32, 32), (6, 6), (100, 1), (6, 6), (1, 1)]
    assert answers(ProfileSet(profiles), "sticky", sizes) == [0, 0, 1, 1, -1, 1, 0]


def test_a_size_that_no_profile_covers_has_no_index() -> None:
    assert Router(document_of(encoder(), THREE))(65, 512) is None


def test_sizes_are_given_in_order_or_by_axis() -> None:
    router = Router(document_of(encoder(), THREE))
    assert router.at(seq=200, batch=48) == router(48, 200) == 1
    with pytest.raises(TunerError, match=r"one value for each of \['batch', 'seq'\], but got \(1,\)"):
        router(1)


def test_memory_stays_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_REMEMBERED", 3)
    router = Router(document_of(encoder(), THREE))
    assert [router(1, 16 + i) for i in range(10)] == [0] * 10
    assert len(router._known) == 3


def test_both_sides_call_the_same_distances_equal() -> None:
    assert module.SAME_LOG_DISTANCE == routing.SAME_LOG_DISTANCE


def test_nearest_opt_needs_the_models_inputs() -> None:
    with pytest.raises(TunerError, match="names no model's inputs"):
        Router(document_of(None, THREE, policy="nearest_opt"))
