"""The tally: N tallies merged are one tally of all rows, in whatever order."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tuner.traffic import counting
from tuner.traffic import tally as tally_module
from tuner.traffic.cells import Cells, Grid
from tuner.traffic.counting import count_rows
from tuner.traffic.tally import MOST_CELLS, UNTIMED_HOLDOUT, UNTIMED_TUNE, WIDTHS_US, Tally

Rows = NDArray[np.int64]
times = st.integers(0, 10**13) | st.sampled_from([UNTIMED_TUNE, UNTIMED_HOLDOUT])
rows = st.lists(st.tuples(times, st.integers(0, 40), st.integers(0, 2**31 - 1)), max_size=60)


def tallied(*parts: list[tuple[int, int, int]], level: int = 0) -> Tally:
    tally = Tally(("a", "b"), level)
    for part in parts:
        if part:
            table = np.array(part, dtype=np.int64).T
            tally.add(Cells(table[0], table[1:], np.ones(len(part), np.int64)))
    return tally


def content(tally: Tally) -> tuple[int, list[list[int]]]:
    cells = tally.cells()
    return tally.level, [cells.starts_us.tolist(), *cells.sizes.tolist(), cells.counts.tolist()]


@pytest.fixture
def tight_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that a few dozen rows reach."""
    for name, value in (("MOST_BUCKETS", 6), ("MOST_CELLS", 8), ("MOST_MATRIX_CELLS", 40)):
        monkeypatch.setattr(tally_module, name, value)


@given(st.lists(rows, max_size=5))
def test_merged_tallies_are_one_tally(parts: list[list[tuple[int, int, int]]]) -> None:
    merged = Tally(("a", "b"))
    for part in parts:
        merged.merge(tallied(part))

    assert content(merged) == content(tallied(*parts))


@pytest.mark.usefixtures("tight_bounds")
class TestUnderTightBounds:
    """A few rows drive the tally through wider buckets and the matrix."""

    @settings(max_examples=300, deadline=None)
    @given(st.lists(rows, max_size=6), st.randoms(), st.sampled_from([0, 0, 12, 20, 25]))
    def test_neither_order_nor_split_changes_the_tally(
        self,
        parts: list,  # type: ignore[type-arg]
        random: object,
        level: int,
    ) -> None:
        whole = [row for part in parts for row in part]
        shuffled = whole.copy()
        random.shuffle(shuffled)  # type: ignore[attr-defined]
        merged = Tally(("a", "b"), level)
        for part in parts:
            merged.merge(tallied(part, level=level))
        one_by_one = tallied(*[[row] for row in shuffled], level=level)

        assert content(one_by_one) == content(tallied(whole, level=level)) == content(merged)

    @pytest.mark.parametrize("level", [0, 12])
    def test_rows_that_come_again_do_not_widen_buckets(self, level: int) -> None:
        once = [(min(i, 5) * 1_000_000, i, i) for i in range(7)]
        known = content(tallied(once, level=level))
        assert content(tallied(once * 3, level=level))[0] == known[0]
        assert content(tallied(*[once] * 3, level=level))[0] == known[0]

    @given(rows)
    def test_every_row_is_counted_and_its_size_kept(self, some: list[tuple[int, int, int]]) -> None:
        cells = tallied(some).cells()

        assert cells.counts.sum() == len(some)
        assert set(zip(*cells.sizes.tolist(), strict=True)) == {(a, b) for _, a, b in some}

    @given(rows)
    def test_a_bucket_starts_at_or_before_its_times(self, some: list[tuple[int, int, int]]) -> None:
        tally = tallied(some)
        starts = tally.cells().starts_us
        timed = sorted({t // tally.width_us * tally.width_us for t, _, _ in some if t > UNTIMED_HOLDOUT})

        assert sorted({s for s in starts.tolist() if s > UNTIMED_HOLDOUT}) == timed


@settings(max_examples=200, deadline=None)
@pytest.mark.usefixtures("tight_bounds")
@given(st.lists(rows, max_size=6), st.integers(0, len(WIDTHS_US) - 1))
def test_a_grid_counts_like_its_cells(parts: list[list[tuple[int, int, int]]], level: int) -> None:
    by_grid, by_cells, merged = (Tally(("a", "b"), level) for _ in range(3))
    for part in parts:
        if part:
            grid = grid_of(part)
            by_grid.add(grid)
            by_cells.add(grid.cells())
            alone = Tally(("a", "b"), level)
            alone.add(grid)
            merged.merge(alone)
    assert content(by_grid) == content(by_cells) == content(merged)


def grid_of(part: list[tuple[int, int, int]]) -> Grid:
    starts, sizes = sorted({row[0] for row in part}), sorted({row[1:] for row in part})
    counts = np.zeros((len(starts), len(sizes)), np.int64)
    for row in part:
        counts[starts.index(row[0]), sizes.index(row[1:])] += 1
    return Grid(np.array(starts), np.array(sizes, dtype=np.int64).T, counts)


def test_each_width_divides_the_next_and_long_ones_align_with_days() -> None:
    assert all(wide % narrow == 0 for narrow, wide in pairwise(WIDTHS_US))
    day = 86_400_000_000
    assert all(day % width == 0 or width % day == 0 for width in WIDTHS_US)


def test_a_small_log_keeps_every_distinct_time() -> None:
    times = np.arange(MOST_CELLS, dtype=np.int64) * 7

    tally = Tally(("a",))
    tally.add(Cells(times, np.ones((1, len(times)), np.int64), np.ones(len(times), np.int64)))

    assert tally.cells().starts_us.tolist() == times.tolist()


def test_a_large_log_keeps_bounded_cells() -> None:
    random = np.random.default_rng(1)
    tally = Tally(("batch", "seq"))
    for hour in range(12):
        times = np.sort(random.integers(0, 3_600_000_000, 100_000)) + hour * 3_600_000_000
        sizes = (random.integers(1, 65, len(times)), random.integers(1, 513, len(times)))
        tally.add(count_rows(times, tally.width_us, sizes, None))

    cells = tally.cells()

    assert cells.counts.sum() == 1_200_000
    assert len(np.unique(cells.starts_us)) * 64 * 512 <= 1 << 20


@given(rows, st.booleans(), st.booleans(), st.sampled_from([1, 2, 10**6, 86_400_000_000]))
def test_counting_is_grouping(
    some: list[tuple[int, int, int]], weighted: bool, in_order: bool, width_us: int
) -> None:
    check_counting(some, weighted=weighted, in_order=in_order, width_us=width_us)


@given(
    st.lists(st.tuples(st.integers(0, 10**13), st.integers(0, 9), st.integers(5, 20)), max_size=60),
    st.sampled_from([10**12, 86_400_000_000]),
)
def test_counting_in_a_grid_is_grouping(some: list[tuple[int, int, int]], width_us: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_ROWS_PER_GRID_START", 0)
        check_counting(some, weighted=False, in_order=False, width_us=width_us)


def check_counting(
    some: list[tuple[int, int, int]], *, weighted: bool, in_order: bool, width_us: int
) -> None:
    some = [row for row in some if row[0] > UNTIMED_HOLDOUT]
    some = sorted(some) if in_order else some
    if not some:
        return
    table = np.array(some, dtype=np.int64).T
    weights = table[1] + 1 if weighted else None

    counted = count_rows(table[0], width_us, tuple(table[1:]), weights)
    cells = counted.cells() if isinstance(counted, Grid) else counted

    expected: Counter[tuple[int, ...]] = Counter()
    for time, a, b in some:
        expected[time // width_us * width_us, a, b] += a + 1 if weighted else 1
    found: Counter[tuple[int, ...]] = Counter()
    for *row, count in zip(
        cells.starts_us.tolist(), *cells.sizes.tolist(), cells.counts.tolist(), strict=True
    ):
        found[tuple(row)] += count
    assert found == expected
