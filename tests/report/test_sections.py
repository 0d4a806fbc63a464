"""What the sections of a report hold, against the document and the curves that they are made from."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.report.documents import Written, many_sizes
from tests.report.reading import charts, column, contents_of, curves_of, section, tables
from tuner.report.charts import literal
from tuner.report.document_parts import histogram_of, profile_of
from tuner.report.latency_section import shown_curves
from tuner.report.performance_chart import sweet_spot
from tuner.report.report import report_contents


@pytest.fixture(params=["sample", "evil", "one_axis", "three_axes"])
def any_written(request: pytest.FixtureRequest) -> Written:
    return request.getfixturevalue(request.param)


def test_every_chart_is_one_that_plotly_accepts(any_written: Written) -> None:
    for one in contents_of(any_written).sections:
        for chart in charts(one):
            go.Figure(data=list(chart.data), layout=dict(chart.layout))


def test_sections_stand_in_the_order_of_the_flow(sample: Written) -> None:
    assert [s.name for s in contents_of(sample).sections] == ["traffic", "latency", "comparison", "search"]


def test_the_table_of_sizes_has_every_row_of_the_log(any_written: Written) -> None:
    sizes = next(t for t in tables(contents_of(any_written)) if t.name == "sizes")
    counts = [value for value in column(sizes, "rows") if isinstance(value, int)]
    assert sum(counts) == histogram_of(any_written.document).counts.sum()
    assert counts == sorted(counts, reverse=True)


def test_the_heat_map_of_sizes_holds_all_of_the_traffic(sample: Written) -> None:
    heat = charts(section(contents_of(sample), "traffic"))[0].data[0]
    cells = np.array(heat["z"], dtype=float)
    assert np.nansum(10**cells) == pytest.approx(1, abs=1e-3)


def test_each_profile_has_a_frame_and_an_opt_in_the_traffic(sample: Written) -> None:
    chart = charts(section(contents_of(sample), "traffic"))[0]
    count = len(sample.document["profiles"])
    assert len(chart.layout["shapes"]) == count
    assert len(chart.data) == 1 + count


def test_one_axis_is_drawn_as_bars_and_three_as_a_map_for_each_pair(
    one_axis: Written, three_axes: Written
) -> None:
    kinds = [c.data[0]["type"] for c in charts(section(contents_of(one_axis), "traffic"))]
    assert kinds == ["bar"]
    kinds = [c.data[0]["type"] for c in charts(section(contents_of(three_axes), "traffic"))]
    assert kinds == ["heatmap"] * 3


def test_drift_is_drawn_for_each_axis_and_the_work_where_times_are_known(
    sample: Written, one_axis: Written
) -> None:
    drifts = [c for c in charts(section(contents_of(sample), "traffic")) if "over time" in c.title]
    assert len(drifts) == 3
    assert not any("over time" in c.title for c in charts(section(contents_of(one_axis), "traffic")))


def test_rejected_rows_are_listed_with_reason_and_place(evil: Written) -> None:
    rejected = next(t for t in tables(contents_of(evil)) if t.name == "rejected")
    assert rejected.rows[0][:2] == ("missing", 7)


def test_no_profile_is_faster_than_the_best_known(sample: Written) -> None:
    curves = curves_of(sample)
    axes = tuple(sample.document["traffic"]["histogram"]["axes"])
    profiles = contents_profiles(sample, axes)
    shown = shown_curves(profiles, histogram_of(sample.document), curves)
    assert len(shown) == len(profiles)
    for one in shown:
        assert (one.ratio >= 1 - 1e-12).all()
        assert one.profile.covers_rows(one.sizes).all()


def contents_profiles(written: Written, axes: tuple[str, ...]):  # type: ignore[no-untyped-def]
    from tuner.profiles.profile import ProfileSet

    return ProfileSet(tuple(profile_of(p, axes) for p in written.document["profiles"]))


def test_timed_and_interpolated_sizes_are_told_apart(sample: Written) -> None:
    latency = next(t for t in tables(contents_of(sample)) if t.name == "latency-profile-0")
    told = dict(
        zip(
            zip(column(latency, "batch"), column(latency, "seq"), strict=True),
            column(latency, "from"),
            strict=True,
        )
    )
    assert told[(4, 32)] == "timed"
    assert told[(3, 32)] == "interpolated"


@pytest.mark.parametrize(
    ("throughputs", "place"),
    [([100, 190, 350, 380, 390], 2), ([100, 105], 0), ([100, 150, 220], 2), ([100, 150, 300, 310], 2)],
)
def test_the_sweet_spot_is_where_doubling_brings_less_than_a_tenth(
    throughputs: list[float], place: int
) -> None:
    assert sweet_spot([1, 2, 4, 8, 16][: len(throughputs)], throughputs) == place


def test_the_comparison_shows_the_documents_own_scores(sample: Written) -> None:
    comparison = next(t for t in tables(contents_of(sample)) if t.name == "comparison")
    expected = sample.document["expected"]
    held = dict(zip(column(comparison, "set"), column(comparison, "held out (ms)"), strict=True))
    assert held["recommended"] == expected["holdout"]["value"]
    assert held["rule max"] == expected["rules"]["max"]["holdout"]["value"]
    gains = dict(zip(column(comparison, "set"), column(comparison, "gain, held out"), strict=True))
    assert gains["rule max"] == expected["rules"]["max"]["holdout_gain"]


def test_the_memory_of_a_set_is_that_of_its_largest_profile(sample: Written) -> None:
    comparison = next(t for t in tables(contents_of(sample)) if t.name == "comparison")
    curves = curves_of(sample)
    axes = tuple(sample.document["traffic"]["histogram"]["axes"])
    found = [curves.measured(p) for p in contents_profiles(sample, axes)]
    most = max(m.device_memory_bytes for m in found if m and m.device_memory_bytes)
    assert column(comparison, "device memory (GiB)")[0] == pytest.approx(most / 2**30, rel=1e-3)


def test_gpu_time_saved_size_by_size_adds_up_to_the_gain(sample: Written) -> None:
    differences = next(t for t in tables(contents_of(sample)) if t.name == "differences")
    saved = sum(v for v in column(differences, "share of all GPU time saved") if isinstance(v, float))
    rules = sample.document["expected"]["rules"]["max"]
    # The table is over all of the traffic, so it lies between the tuned part's gain and the held-out one's.
    low, high = sorted((rules["gain"], rules["holdout_gain"]))
    assert low - 0.01 <= saved <= high + 0.01


def test_without_curves_the_page_says_so_and_draws_the_rest(sample: Written) -> None:
    contents = report_contents(sample.document, None)
    assert [s.name for s in contents.sections] == ["traffic", "comparison", "search"]
    assert "no_curves" in [kind for kind, _ in contents.caveats]


def test_a_profile_by_rule_has_its_traffic_and_nothing_else(sample: Written) -> None:
    document = copy.deepcopy(sample.document) | {"expected": None, "evidence": "rule"}
    contents = report_contents(document, None)
    assert [s.name for s in contents.sections] == ["traffic"]


def test_plotly_is_given_no_text_that_it_would_read_as_markup(evil: Written) -> None:
    assert literal("<b>&") == "&lt;b&gt;&amp;"
    for one in contents_of(evil).sections:
        for chart in charts(one):
            shown = str((chart.data, chart.layout)).replace("<extra></extra>", "")
            assert "<" not in shown


def test_the_search_shows_every_trial_and_the_best_score_never_rises(sample: Written) -> None:
    trials = next(t for t in tables(contents_of(sample)) if t.name == "trials")
    assert len(trials.rows) == sample.document["evidence"]["trials"]
    best = [value for value in column(trials, "best so far (ms)") if isinstance(value, float)]
    assert best == sorted(best, reverse=True)
    assert set(column(trials, "outcome")) <= {"scored", "pruned"}


def test_failed_trials_are_marked_and_keep_their_reason(sample: Written) -> None:
    document = copy.deepcopy(sample.document)
    failed = {
        "opt": document["evidence"]["outcomes"][0]["opt"],
        "outcome": "failed",
        "reason": "no memory",
        "value": None,
    }
    document["evidence"]["outcomes"].insert(0, failed)
    search = section(report_contents(document, None), "search")
    chart = next(c for c in charts(search) if c.table.name == "trials")
    assert chart.table.rows[0] == (1, chart.table.rows[0][1], "failed", None, "no memory")
    assert [trace["name"] for trace in chart.data] == ["best set so far", "failed"]


def test_what_builds_needed_and_how_often_sets_were_confirmed_is_told(sample: Written) -> None:
    document = copy.deepcopy(sample.document)
    attempt = {"opts": [], "predicted": 1.0, "confirmed": 1.2, "reason": None}
    document["evidence"] |= {
        "workspace_bytes": 2**30,
        "timing_cache": {"accepted_builds": 3, "accepted_s": 9.0, "other_builds": 1, "other_s": 30.0},
        "confirmation": {"predicted": 1.0, "confirmed": 1.2, "reason": None, "attempts": [attempt, attempt]},
    }
    told = " ".join(section(report_contents(document, None), "search").sentences)
    assert "accepted the timing cache in 3 builds, with a median of 9 s; 1 without took 30 s" in told
    assert "a workspace of up to 1024 MiB" in told
    assert "2 sets were built as one engine" in told


def test_a_pareto_front_is_drawn_by_what_tells_its_sets_apart(sample: Written) -> None:
    document = copy.deepcopy(sample.document)
    opt = document["profiles"][0]["opt"]
    front = [
        {"opts": [opt], "value": 0.2, "device_memory_bytes": 2**30, "build_s": 20.0},
        {"opts": [opt, opt], "value": 0.1, "device_memory_bytes": 2**30, "build_s": 40.0},
    ]
    document["pareto"] = front
    chart = next(
        c for c in charts(section(report_contents(document, None), "search")) if c.table.name == "pareto"
    )
    assert chart.layout["xaxis"]["title"]["text"] == "build time (s)"
    front[0]["device_memory_bytes"] = 2**29
    chart = next(
        c for c in charts(section(report_contents(document, None), "search")) if c.table.name == "pareto"
    )
    assert list(chart.data[0]["x"]) == [512.0, 1024.0]


def test_what_each_profile_is_worth_comes_from_the_explanation(sample: Written) -> None:
    worth = next(t for t in tables(contents_of(sample)) if t.name == "worth")
    assert column(worth, "GPU time per request without it") == sample.document["explanation"]["dropping"]


def test_where_no_size_is_heavy_the_title_names_none(tmp_path: Path) -> None:
    chart = charts(section(contents_of(many_sizes(tmp_path, 500)), "traffic"))[0]
    assert chart.title.startswith("No size has more than 0.")
