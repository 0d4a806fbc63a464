"""The replay's section: response times, queue and capacity of servers, as the document has them."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from tests.report.documents import Written
from tests.report.reading import charts, column
from tuner.report.contents import Section, Table
from tuner.report.replay_section import replay_section


def replay(p50: float | None, **facts: Any) -> dict[str, Any]:
    times = {f"{kind}_{p}_ms": p50 and p50 * n for kind in ("response", "waiting")
             for n, p in enumerate(("p50", "p90", "p99", "p999"), start=1)}  # fmt: skip
    rest = {
        "throughput_rps": 100.0,
        "goodput_rps": None,
        "busy_share": 0.5,
        "mean_batch": 2.5,
        "padding_ratio": 0.1,
    }
    return {"requests": 100, "overloaded": p50 is None, **times, **rest, "queue_lengths": [0, 3, 1], **facts}


def server(name: str, p50: float | None, rate: float | None = None) -> dict[str, Any]:
    capacity = None if rate is None else {"load": 1.0, "rate_rps": rate, "interval_rps": [rate - 5, rate + 5]}
    settings = {"batcher": "triton", "max_batch_size": 8, "preferred_batch_size": [4, 8]}
    more = {"max_queue_delay_microseconds": 500, "unlike_shapes": "pad", "deployment": "one_model"}
    found = {"name": name, "opts": [{"batch": 8, "seq": 64}], "judged_at": None, **settings, **more}
    return found | {"replay": replay(p50), "capacity": capacity}


def batching(**facts: Any) -> dict[str, Any]:
    chosen = server("<b>tuned</b>", 1.5, 900.0)
    fixed = {"outcome": "converged", "iterations": 3, "batchers_tried": 20, "cycles": 0}
    servers = [server("default", 4.0, 500.0), server("none", None), chosen]
    calibration = [{"percent": 50.0, "observed_ms": 2.0, "replayed_ms": 1.8}]
    found = chosen | {"instance_count": 2, "load": 1.5, "arrival_rate_rps": 650.0, "fixed_point": fixed}
    return found | {"servers": servers, "notes": ["a note"], "calibration": calibration, **facts}


def of(sample: Written, **facts: Any) -> Section:
    found = replay_section({**sample.document, "batching": batching(**facts)})
    assert found is not None
    return found


def test_every_chart_is_one_that_plotly_accepts(sample: Written) -> None:
    names = []
    for chart in charts(of(sample)):
        go.Figure(data=list(chart.data), layout=dict(chart.layout))
        names.append(chart.table.name)
    assert names == ["response-times", "queue", "capacity", "calibration"]


def test_what_changes_cost_is_told_where_they_are_not_free(sample: Written) -> None:
    changes = {"size_ms": 0.02, "profile_ms": 0.05, "size_share": 0.6, "profile_share": 0.125}
    told = [line for line in of(sample, replay=replay(1.5, changes=changes)).sentences if "longer" in line]
    assert told == [
        "An execution takes 0.02 ms longer after another size on its context (60.0 % of the executions), "
        "0.05 ms after another profile (12.5 %)."
    ]
    assert not any("longer" in line for line in of(sample).sentences)


def test_an_overloaded_server_has_no_percentiles_and_stays_in_the_table(sample: Written) -> None:
    section = of(sample)
    assert [trace["name"] for trace in charts(section)[0].data] == [
        "default",
        "&lt;b&gt;tuned&lt;/b&gt; (recommended)",
    ]
    servers = next(part for part in section.parts if isinstance(part, Table) and part.name == "servers")
    assert column(servers, "response P99 (ms)") == [12.0, None, 4.5]
    assert "within the limit/s" not in [c.heading for c in servers.columns]


def test_settings_load_and_fixed_point_are_told(sample: Written) -> None:
    told = " ".join(of(sample).sentences)
    for words in (
        "at most 8 requests",
        "preferred sizes 4, 8",
        "1.5 times",
        "650 requests/s",
        "converged after 3",
    ):
        assert words in told


def test_a_load_beyond_capacity_is_said_plainly(sample: Written) -> None:
    assert "beyond capacity" in " ".join(of(sample, replay=replay(None)).sentences)


def test_executed_batches_are_drawn_where_the_document_has_them(sample: Written) -> None:
    section = of(sample, replay=replay(1.0, executed=[[1, 32, 30], [8, 32, 40], [8, 64, 30]]))
    chart = next(c for c in charts(section) if c.table.name == "batches")
    assert chart.title == "70.0 % of the executions have batch 8"
    assert list(chart.data[0]["y"]) == [0.3, 0.7]


def test_the_recommended_server_is_marked_wherever_it_stands(sample: Written) -> None:
    found = batching()
    servers = found["servers"][::-1]
    section = replay_section({**sample.document, "batching": found | {"servers": servers}})
    assert section is not None
    names = [trace["name"] for trace in charts(section)[0].data]
    assert names == ["default", "&lt;b&gt;tuned&lt;/b&gt; (recommended)"]
    assert charts(section)[0].title.startswith("<b>tuned</b> (recommended): P99")


def test_without_a_batcher_there_is_no_such_section(sample: Written) -> None:
    assert replay_section(sample.document) is None
