"""The traffic period by period."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.logs.log_files import parquet, read
from tuner.traffic.drift import periods

DAY = 1_714_521_600


@pytest.mark.parametrize(
    ("seconds", "step_s", "period_count"),
    [(1800, 10, 30), (3 * 3600, 60, 18), (86_400, 600, 24), (14 * 86_400, 3600, 14)],
)
def test_periods_are_minutes_hours_or_days_by_the_span(
    tmp_path: Path, seconds: int, step_s: int, period_count: int
) -> None:
    times = DAY + np.arange(0, seconds, step_s)
    traffic = read(parquet(tmp_path / "a.parquet", {"ts": times, "seq": np.ones(len(times), np.int64)}))

    found = periods(traffic)

    assert len(found) == period_count
    assert sum(period.count for period in found) == len(times)


def test_each_period_has_its_own_percentiles(tmp_path: Path) -> None:
    times = DAY + np.arange(24) * 3600
    traffic = read(
        parquet(tmp_path / "a.parquet", {"ts": times, "batch": [2] * 24, "seq": np.arange(24) + 1})
    )

    found = periods(traffic)

    assert [period.percentiles["seq"] for period in found] == [(h + 1, h + 1, h + 1) for h in range(24)]
    assert found[3].percentiles["work"] == (8, 8, 8)


def test_without_times_there_is_no_drift(tmp_path: Path) -> None:
    assert periods(read(parquet(tmp_path / "a.parquet", {"seq": [1, 2]}))) == ()
