"""Tests of the main job on recorded curves: what is recommended, and that it is the best there is."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from tests.search.problems import (
    ENCODER,
    MIXES,
    encoder_mix,
    full_range_curves,
    judge_of,
    recorded,
    recorded_with,
)
from tuner.axes import Size
from tuner.errors import NothingFeasible, TunerError
from tuner.recommendation.document import as_document, document_text, schema
from tuner.recommendation.recommend import recommend
from tuner.recommendation.recommendation import Recommendation
from tuner.recommendation.scored import RecommendSettings
from tuner.replay.slo import Slo
from tuner.search.search import SearchSettings
from tuner.traffic.histogram import SizeHistogram
from tuner.traffic.traffic import TimeBuckets, Traffic


def all_tuned(histogram: SizeHistogram) -> Traffic:
    return Traffic(histogram=histogram, tune=histogram)


def halves(first: SizeHistogram, second: SizeHistogram, blocks: int = 20) -> Traffic:
    """Traffic whose two halves in time differ; the last 30 % are held out."""
    whole = SizeHistogram.merged([first, second])
    rows = {tuple(row): place for place, row in enumerate(whole.sizes.tolist())}
    entries = []
    for block in range(blocks):
        half = first if block < blocks // 2 else second
        for row, count in zip(half.sizes.tolist(), half.counts.tolist(), strict=True):
            entries.append((block * 3_600_000_000, rows[tuple(row)], count // (blocks // 2)))
    starts, places, counts = np.array([entry for entry in entries if entry[2]]).T
    whole_again = SizeHistogram(whole.axes, whole.sizes[places], counts)
    rows = {tuple(row): place for place, row in enumerate(whole_again.sizes.tolist())}
    parts = [starts < 0.7 * blocks * 3_600_000_000, starts >= 0.7 * blocks * 3_600_000_000]
    tune, holdout = (SizeHistogram(whole.axes, whole.sizes[places[p]], counts[p]) for p in parts)
    return Traffic(
        histogram=SizeHistogram.merged([tune, holdout]),
        tune=tune,
        holdout=holdout,
        holdout_by="time",
        buckets=TimeBuckets(starts, np.array([rows[tuple(whole.sizes[p].tolist())] for p in places]), counts),
    )


def recommended(traffic: Traffic, folder: Path | None = None, **given: object) -> Recommendation:
    searching = {k: given.pop(k) for k in ("max_profiles", "sampler", "seed") if k in given}
    source = given.pop("source", recorded(ENCODER))
    settings = RecommendSettings(search=SearchSettings(**searching), **given)  # type: ignore[arg-type]
    url = f"sqlite:///{folder}/t.db" if folder else "sqlite://"
    return recommend(traffic, source, settings, url)  # type: ignore[arg-type]


@pytest.mark.parametrize("mix", MIXES)
def test_one_profile_is_the_opt_that_brute_force_finds(mix: str) -> None:
    histogram = encoder_mix(mix, seed=3)
    found = recommended(all_tuned(histogram), max_profiles=1, profiles=1)
    table = full_range_curves(recorded(ENCODER))
    whole = [p for p in recorded(ENCODER).candidates() if p.max.values == (64, 512)]
    values = {p.opt: judge_of(histogram).value(recorded_latency(p, histogram)) for p in whole}
    assert found.chosen.profiles.profiles[0].opt == min(values, key=values.__getitem__)
    assert len(table.latency_ms) >= 16


def recorded_latency(profile: object, histogram: SizeHistogram) -> np.ndarray:
    from tuner.measurements.measurement import Mode

    measured = recorded(ENCODER).measure(profile, histogram.sizes)  # type: ignore[arg-type]
    return measured.curve(Mode.ENQUEUE).latencies(histogram.sizes)[0]  # type: ignore[union-attr]


@pytest.mark.parametrize("mix", ["small", "two-tier", "uniform"])
@pytest.mark.parametrize("count", [2, 3])
def test_sets_score_within_a_percent_of_brute_force(mix: str, count: int) -> None:
    histogram = encoder_mix(mix, seed=3)
    found = recommended(all_tuned(histogram), max_profiles=count, profiles=count)
    whole = [p for p in recorded(ENCODER).candidates() if p.max.values == (64, 512)]
    latency = np.stack([recorded_latency(p, histogram) for p in whole])
    judge = judge_of(histogram)
    best = min(
        judge.value(latency[list(rows)].min(axis=0))
        for rows in itertools.combinations(range(len(whole)), count)
    )
    assert found.chosen.tune is not None
    assert found.chosen.tune.value <= best * 1.01


def test_the_same_inputs_and_seed_give_the_same_document(tmp_path: Path) -> None:
    traffic = halves(encoder_mix("small"), encoder_mix("bulk"))
    texts = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        texts.append(document_text(as_document(recommended(traffic, tmp_path / folder, pareto=True))))
    assert texts[0] == texts[1]
    again = document_text(as_document(recommended(traffic, tmp_path / "a", pareto=True)))
    assert again == texts[0]  # a finished study is read


def test_the_document_has_its_parts_and_keeps_the_schema() -> None:
    traffic = halves(encoder_mix("two-tier"), encoder_mix("two-tier", 1))
    document = json.loads(document_text(as_document(recommended(traffic, pareto=True))))
    jsonschema.validate(document, schema())
    low, high = document["expected"]["interval"]
    assert low < document["expected"]["holdout"]["value"] < high
    assert all(document["alternatives"][policy] is not None for policy in document["alternatives"])
    assert document["explanation"]["second_best"]["worse_by"] >= 0
    assert len(document["explanation"]["dropping"]) == len(document["profiles"])
    assert document["evidence"]["stopped"] == "all candidates measured"
    assert document["pareto"][0]["value"] == min(point["value"] for point in document["pareto"])


def test_traffic_whose_halves_differ_does_not_fit_the_first_half() -> None:
    first, second = encoder_mix("small"), encoder_mix("bulk")
    found = recommended(halves(first, second), max_profiles=1, profiles=1)
    for_first = recommended(all_tuned(first), max_profiles=1, profiles=1).chosen.profiles
    whole = [p for p in recorded(ENCODER).candidates() if p.max.values == (64, 512)]
    judge = judge_of(second)
    values = {p.opt: judge.value(recorded_latency(p, second)) for p in whole}
    opt = found.chosen.profiles.profiles[0].opt
    assert opt != for_first.profiles[0].opt
    assert values[opt] <= min(values.values()) * 1.03


def test_held_out_traffic_decides_on_the_number_of_profiles() -> None:
    # The first 70 % hold two kinds of requests, the rest only one of them.
    small, single = encoder_mix("two-tier"), encoder_mix("single", 2)
    many = recommended(halves(small, small))
    fewer = recommended(halves(small, single))
    assert len(fewer.chosen.profiles) < len(many.chosen.profiles)
    assert fewer.explanation is not None
    assert any("the best set of" in reason for reason in fewer.explanation.reasons)


def test_a_limit_that_nothing_keeps_is_a_finding_with_the_nearest_set() -> None:
    traffic = all_tuned(encoder_mix("bulk"))
    with pytest.raises(NothingFeasible, match=r"no measured set keeps every --slo: .* over its worst limit"):
        recommended(traffic, slos=(Slo("service_p99", 0.001),))


def test_a_limit_on_the_tail_is_kept_where_the_fastest_mean_breaks_it() -> None:
    traffic = all_tuned(encoder_mix("chat-small"))
    free = recommended(traffic, max_profiles=1, profiles=1)
    best_tail = recommended(traffic, max_profiles=1, profiles=1, objective="service_p99")
    assert free.chosen.tune is not None
    assert best_tail.chosen.tune is not None
    tails = (best_tail.chosen.tune.service_p99_ms, free.chosen.tune.service_p99_ms)
    assert tails[0] < tails[1]
    limit = sum(tails) / 2
    kept = recommended(traffic, max_profiles=1, profiles=1, slos=(Slo("service_p99", limit),))
    assert kept.chosen.tune is not None
    assert kept.chosen.tune.service_p99_ms <= limit
    assert kept.chosen.tune.value >= free.chosen.tune.value


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_other_samplers_end_at_the_same_set(sampler: str) -> None:
    traffic = all_tuned(encoder_mix("chat-small"))
    assert recommended(traffic, sampler=sampler).chosen.profiles == recommended(traffic).chosen.profiles


def test_one_profile_more_than_can_serve_is_asked_for_otherwise() -> None:
    with pytest.raises(NothingFeasible, match="no set of exactly 40 profiles serves all traffic"):
        recommended(all_tuned(encoder_mix("single")), profiles=40)


def test_traffic_over_other_axes_says_how_to_map_them() -> None:
    other = SizeHistogram.of({Size.of(rows=1): 1})
    with pytest.raises(
        TunerError, match=r"traffic has the axes \['rows'\].*map the log's columns with --axis"
    ):
        recommended(all_tuned(other))


def test_a_seed_changes_the_study_and_not_the_score_of_the_best_set() -> None:
    traffic = all_tuned(encoder_mix("small"))
    one, two = (recommended(traffic, seed=seed, profiles=2).chosen.tune for seed in (0, 1))
    assert one is not None
    assert two is not None
    assert one.value == pytest.approx(two.value)


def test_a_dear_change_of_profile_makes_a_smaller_set_win() -> None:
    traffic = all_tuned(encoder_mix("two-tier"))
    free, dear = recommended(traffic), recommended(traffic, source=recorded_with(0.01, 2.0))
    assert len(free.chosen.profiles) > 1
    assert len(dear.chosen.profiles) == 1
    assert list(dear.by_count.values()) == sorted(dear.by_count.values())  # each further profile costs more


def test_every_set_of_a_document_is_charged_alike() -> None:
    """Where only the cost of a size is known, each set pays it as often as the size changes."""
    histogram = encoder_mix("two-tier")
    free = recommended(all_tuned(histogram), pareto=True)
    costly = recommended(all_tuned(histogram), pareto=True, source=recorded_with(0.05, None))
    shares = histogram.counts / histogram.counts.sum()
    charge = 0.05 * (1 - float((shares**2).sum()))
    assert costly.chosen.profiles == free.chosen.profiles
    pairs = [(costly.chosen, free.chosen)]
    pairs += [(costly.rules[name], free.rules[name]) for name in free.rules]
    pairs += [(costly.alternatives[name], free.alternatives[name]) for name in free.alternatives]
    for charged, plain in pairs:
        assert charged.tune is not None
        assert plain.tune is not None
        assert charged.tune.value == pytest.approx(plain.tune.value + charge)
    for count, value in free.by_count.items():
        assert costly.by_count[count] == pytest.approx(value + charge)
    assert costly.pareto is not None
    assert free.pareto is not None
    assert costly.pareto[0].value == pytest.approx(free.pareto[0].value + charge)
    assert costly.interval is not None
    assert free.interval is not None
    assert costly.interval == pytest.approx([end + charge for end in free.interval], abs=0.01)


def test_trials_of_a_search_are_judged_without_what_changes_cost() -> None:
    traffic = all_tuned(encoder_mix("two-tier"))
    free, dear = recommended(traffic), recommended(traffic, source=recorded_with(0.1, 2.0))
    assert free.evidence is not None
    assert dear.evidence is not None
    assert [trial.value for trial in dear.evidence.trials] == [trial.value for trial in free.evidence.trials]


def test_a_change_of_profile_that_nobody_measured_is_a_caveat_of_several_profiles() -> None:
    traffic = all_tuned(encoder_mix("two-tier"))

    def kinds(size_ms: float | None, profile_ms: float | None, **given: object) -> list[str]:
        source = recorded_with(size_ms, profile_ms)
        return [c.kind for c in recommended(traffic, source=source, **given).caveats]

    assert "switch_not_measured" in kinds(0.05, None)
    assert "switch_not_measured" not in kinds(0.05, None, profiles=1)
    assert "switch_not_measured" not in kinds(0.05, 0.06)
    assert "switch_not_measured" not in kinds(None, None)
