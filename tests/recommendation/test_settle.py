"""A set whose engine is off its prediction sends the choice on, over recorded curves."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from tests.recommendation.test_confirm import traffic_in
from tests.stand_ins.recorded_engine import RECORDED
from tuner.axes import Size
from tuner.measurements.curve import Curve
from tuner.measurements.flat_parquet import read_flat
from tuner.measurements.measurement import Mode
from tuner.measurements.recorded import RecordedSource
from tuner.measurements.source import MeasuredProfile
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.recommendation.confirm import as_confirmed
from tuner.recommendation.document import as_document, schema
from tuner.recommendation.recommend import recommend
from tuner.recommendation.scored import RecommendSettings
from tuner.recommendation.settle import MOST_CONFIRMATIONS
from tuner.replay.slo import Slo, parse_slo
from tuner.search.search import SearchSettings

SETTINGS = RecommendSettings(search=SearchSettings(max_profiles=2, builds=40))
FactorOf = Callable[[Size], float]


def slower(found: MeasuredProfile, factor: float) -> MeasuredProfile:
    curves = {mode: Curve(c.profile, c.sizes, factor * c.latency_ms) for mode, c in found.curves.items()}
    return dataclasses.replace(found, curves=curves)


def document_with(folder: Path, factor_of: FactorOf, *slos: Slo) -> dict[str, Any]:
    """What is recommended where in a set's engine each profile is slower by a factor of its opt."""
    flat = read_flat(RECORDED)
    traffic, source = traffic_in(folder, flat.model), RecordedSource(flat.model, flat.engines)
    alone = {p.opt: source.measure(p, traffic.histogram.sizes) for p in source.candidates()}

    def confirm(profiles: ProfileSet, builds: int) -> Sequence[MeasuredProfile]:
        found = [alone[profile.opt] for profile in profiles]
        return [slower(m, factor_of(m.profile.opt)) for m in found if isinstance(m, MeasuredProfile)]

    settings = dataclasses.replace(SETTINGS, slos=slos)
    found = recommend(traffic, source, settings, f"sqlite:///{folder}/s.db", confirm=confirm)
    document = as_document(found)
    jsonschema.validate(document, schema())
    return document


def opts_of(document: dict[str, Any]) -> list[dict[str, int]]:
    return [profile["opt"] for profile in document["profiles"]]


def test_set_that_comes_out_as_predicted_is_the_only_one_that_is_built(tmp_path: Path) -> None:
    document = document_with(tmp_path, lambda opt: 1.0)
    (attempt,) = document["evidence"]["confirmation"]["attempts"]
    assert attempt["opts"] == opts_of(document)


def test_set_that_comes_out_worse_gives_way_to_the_next(tmp_path: Path) -> None:
    (first,) = document_with(tmp_path, lambda opt: 1.0)["evidence"]["confirmation"]["attempts"]
    slow = [Size.of(**opt) for opt in first["opts"]]
    document = document_with(tmp_path, lambda opt: 1.5 if opt in slow else 1.0)
    confirmation = document["evidence"]["confirmation"]
    before, last = confirmation["attempts"][0], confirmation["attempts"][-1]
    assert before["confirmed"] == pytest.approx(1.5 * before["predicted"], rel=1e-3)
    assert last["opts"] == opts_of(document) != first["opts"]
    assert confirmation["confirmed"] == last["confirmed"] == pytest.approx(last["predicted"])
    assert not [c for c in document["caveats"] if c["kind"] == "confirmed_otherwise"]


def test_sets_that_all_come_out_worse_end_with_the_best_that_was_built(tmp_path: Path) -> None:
    document = document_with(tmp_path, lambda opt: 3.0)
    confirmation = document["evidence"]["confirmation"]
    attempts = confirmation["attempts"]
    assert len(attempts) == MOST_CONFIRMATIONS
    assert confirmation["confirmed"] == min(attempt["confirmed"] for attempt in attempts)
    assert document["expected"]["value"] == pytest.approx(confirmation["confirmed"], rel=1e-3)
    assert [c for c in document["caveats"] if c["kind"] == "confirmed_otherwise"]


def test_limit_that_nothing_keeps_as_it_comes_out_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    predicted = document_with(tmp_path / "first", lambda opt: 1.0)["expected"]["tune"]["service_p99_ms"]
    document = document_with(tmp_path, lambda opt: 3.0, parse_slo(f"service_p99<={1.001 * predicted}ms"))
    assert document["evidence"]["confirmation"]["confirmed"] is not None
    assert [c for c in document["caveats"] if c["kind"] == "confirmed_otherwise"]


def test_set_that_comes_out_better_is_kept_and_not_built_again(tmp_path: Path) -> None:
    document = document_with(tmp_path, lambda opt: 0.8)
    (attempt,) = document["evidence"]["confirmation"]["attempts"]
    assert attempt["opts"] == opts_of(document)
    assert document["expected"]["value"] == pytest.approx(attempt["confirmed"], rel=1e-3)


class TellingSource(RecordedSource):
    """A source that learns what a change of profile costs with the first set that is confirmed."""

    def confirm(self, profiles: ProfileSet, builds: int) -> Sequence[MeasuredProfile]:
        self.facts = dataclasses.replace(self.facts, switch_ms=5.0)
        found = [self.measure(profile, np.zeros((0, 2), np.int64)) for profile in profiles]
        return [one for one in found if isinstance(one, MeasuredProfile)]


def test_choice_is_made_again_once_an_engine_tells_what_a_change_of_profile_costs(tmp_path: Path) -> None:
    flat = read_flat(RECORDED)
    traffic, source = traffic_in(tmp_path, flat.model), TellingSource(flat.model, flat.engines)
    url = f"sqlite:///{tmp_path}/s.db"
    first = recommend(traffic, source, SETTINGS, url, confirm=source.confirm)
    told, last = as_document(first)["evidence"]["confirmation"]["attempts"]
    assert (len(told["opts"]), len(last["opts"])) == (2, 1)
    assert told["predicted"] == told["confirmed"]  # of latencies alone, as one engine gave them
    assert first.chosen.tune is not None
    assert first.chosen.tune.value == pytest.approx(last["confirmed"], rel=1e-4)  # it changes no profile
    several = [rule.tune for rule in first.rules.values() if len(rule.profiles) > 1]
    assert several
    assert all(score is not None and score.value > 1 for score in several)  # rules were judged again too
    again = as_document(recommend(traffic, source, SETTINGS, url, confirm=source.confirm))
    assert again["evidence"]["confirmation"]["attempts"] == [last]
    assert {**again, "evidence": None} == {**as_document(first), "evidence": None}


def test_times_of_the_set_count_where_it_has_some_and_predicted_ones_beyond() -> None:
    def measured(low: int, high: int, ms: float) -> MeasuredProfile:
        profile = OptimizationProfile(Size.of(n=low), Size.of(n=2), Size.of(n=high))
        sizes = np.array([[low], [2], [high]])
        curves = {Mode.ENQUEUE: Curve(profile, sizes, np.array([ms, 2 * ms, 3 * ms]))}
        return MeasuredProfile(profile=profile, curves=curves, engine_keys=("k",))

    joined = as_confirmed(measured(1, 16, 1.0), measured(1, 4, 10.0), Mode.ENQUEUE).curve(Mode.ENQUEUE)
    assert joined.latencies(np.array([[1], [2], [4], [16]]))[0].tolist() == [10.0, 20.0, 30.0, 3.0]
