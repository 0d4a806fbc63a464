"""Single arrivals: when each request came and what it asked for, cleaned of what clocks do wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.errors import TunerError

FloatArray = NDArray[np.float64]
Int64Array = NDArray[np.int64]

_NO_TIMES = "no request has a time; a replay needs arrival times, name their column with --time"
CLOCK_RESET_S = 60.0
"""A step back of more than this, inside one file, is a clock that was set anew and not a late row."""
LONG_GAP_S = 3600.0
"""A pause that is worth a sentence: hours without a request are a log with a hole, or a night."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Arrivals:
    """Requests in arrival order.

    `arrival_s` has shape (requests,): seconds since the start of the request's segment, rising inside it.
    `sizes` has shape (distinct, axes) and `size_rows`, shape (requests,), names the size of each request.
    `segments` are the (start, stop) rows between clock resets; each is replayed on its own, with an empty
    queue. `latency_ms`, shape (requests,), is what the log says each request took, None where it does not.
    """

    axes: tuple[str, ...]
    arrival_s: FloatArray
    sizes: Int64Array
    size_rows: Int64Array
    segments: tuple[tuple[int, int], ...]
    latency_ms: FloatArray | None = None
    out_of_order_count: int = 0
    equal_time_count: int = 0
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.arrival_s) == 0:
            raise TunerError(
                "no request with a time; a replay needs arrival times, name a column with --time"
            )
        if len(self.arrival_s) != len(self.size_rows):
            raise TunerError(f"{len(self.arrival_s)} arrival times but {len(self.size_rows)} sizes")
        if not np.isfinite(self.arrival_s).all():
            raise TunerError("an arrival time is not finite; leave such rows out")
        bounds = [row for segment in self.segments for row in segment]
        if bounds[0] != 0 or bounds[-1] != len(self.arrival_s) or bounds[1:-1:2] != bounds[2::2]:
            raise TunerError(f"segments {self.segments} do not cover {len(self.arrival_s)} requests in order")
        for start, stop in self.segments:
            if (np.diff(self.arrival_s[start:stop]) < 0).any():
                raise TunerError("arrival times fall inside a segment; sort them first")

    def __len__(self) -> int:
        return len(self.arrival_s)

    @property
    def span_s(self) -> float:
        """Seconds from first to last arrival, summed over segments."""
        return float(sum(self.arrival_s[stop - 1] - self.arrival_s[start] for start, stop in self.segments))

    @property
    def rate_rps(self) -> float:
        """Mean arrivals a second over all segments; infinite where all come at once."""
        gaps = len(self) - len(self.segments)
        return gaps / self.span_s if self.span_s > 0 else float("inf")

    @property
    def occurring(self) -> NDArray[np.bool_]:
        """Which rows of `sizes` some request has, shape (distinct,)."""
        return np.asarray(np.bincount(self.size_rows, minlength=len(self.sizes)) > 0)

    def values(self, axis: str) -> Int64Array:
        """The axis' value of each request, shape (requests,)."""
        values: Int64Array = self.sizes[self.size_rows, self.axes.index(axis)]
        return values

    def where(self, keep: NDArray[np.bool_]) -> Arrivals:
        """The kept requests, `keep` of shape (requests,); segments that lose all of theirs go."""
        kept = np.concatenate([[0], np.cumsum(keep)])
        segments = [(int(kept[a]), int(kept[b])) for a, b in self.segments if kept[a] < kept[b]]
        return Arrivals(
            axes=self.axes,
            arrival_s=self.arrival_s[keep],
            sizes=self.sizes,
            size_rows=self.size_rows[keep],
            segments=tuple(segments) or ((0, 0),),
            latency_ms=None if self.latency_ms is None else self.latency_ms[keep],
            out_of_order_count=self.out_of_order_count,
            equal_time_count=self.equal_time_count,
            notes=self.notes,
        )

    def with_sizes(self, sizes: Int64Array) -> Arrivals:
        """The same arrivals at other sizes, row by row of `sizes` (distinct, axes)."""
        return Arrivals(
            axes=self.axes,
            arrival_s=self.arrival_s,
            sizes=sizes,
            size_rows=self.size_rows,
            segments=self.segments,
            latency_ms=self.latency_ms,
            out_of_order_count=self.out_of_order_count,
            equal_time_count=self.equal_time_count,
            notes=self.notes,
        )

    def part(self, start: int, stop: int) -> Arrivals:
        """Requests from row `start` up to `stop`, with their times as they are."""
        rows = np.arange(len(self))
        return self.where((rows >= start) & (rows < stop))


@dataclass(frozen=True, slots=True, eq=False)
class ArrivalPart:
    """The rows of one file in its own order: seconds since the epoch, sizes (rows, axes), latencies."""

    place: str
    time_s: FloatArray
    sizes: Int64Array
    latency_ms: FloatArray | None = None


def arrivals_of(axes: Sequence[str], parts: Sequence[ArrivalPart]) -> Arrivals:
    """Arrivals from the rows of files.

    Rows that come late are sorted in and counted. A step back of more than `CLOCK_RESET_S` inside a file
    starts a new segment of that file, named by its row. Files without a reset share one timeline, since they
    are the logs of servers side by side or of hours one after the other.
    """
    shared: list[ArrivalPart] = []
    later: list[ArrivalPart] = []
    notes: list[str] = []
    for part in parts:
        pieces = _between_resets(part)
        notes += [
            f"{piece.place}: the clock goes back here; the rows before and after it are replayed apart"
            for piece in pieces[1:]
        ]
        shared.append(pieces[0])
        later += pieces[1:]
    segments = [_joined(shared), *[_joined([piece]) for piece in later]]
    late = sum(int((np.diff(piece.time_s) < 0).sum()) for piece in (*shared, *later))
    return _assembled(tuple(axes), segments, late, notes)


def _between_resets(part: ArrivalPart) -> list[ArrivalPart]:
    if len(part.time_s) == 0:
        return [part]
    # A late row is behind the newest one before it by a little, a reset clock by a lot and for good.
    newest = np.maximum.accumulate(part.time_s)
    back = np.flatnonzero((newest[:-1] - part.time_s[1:] > CLOCK_RESET_S) & (np.diff(part.time_s) < 0)) + 1
    if len(back) == 0:
        return [part]
    first = int(back[0])
    head = ArrivalPart(part.place, part.time_s[:first], part.sizes[:first], _cut(part.latency_ms, 0, first))
    rest = ArrivalPart(
        f"{part.place.split(', row')[0]}, row {first + 1 + _row_of(part.place)}",
        part.time_s[first:],
        part.sizes[first:],
        _cut(part.latency_ms, first, None),
    )
    return [head, *_between_resets(rest)]


def _row_of(place: str) -> int:
    return int(place.rpartition(", row ")[2]) - 1 if ", row " in place else 0


def _cut(values: FloatArray | None, start: int, stop: int | None) -> FloatArray | None:
    return None if values is None else values[start:stop]


def _joined(parts: Sequence[ArrivalPart]) -> ArrivalPart:
    """The parts as one, sorted by time; equal times keep their order."""
    time_s = np.concatenate([part.time_s for part in parts])
    order = np.argsort(time_s, kind="stable")
    known = [part.latency_ms for part in parts if part.latency_ms is not None]
    latency = np.concatenate(known)[order] if len(known) == len(parts) else None
    sizes = np.concatenate([part.sizes for part in parts])[order]
    return ArrivalPart(parts[0].place, time_s[order], sizes, latency)


def _assembled(
    axes: tuple[str, ...], segments: Sequence[ArrivalPart], late: int, notes: list[str]
) -> Arrivals:
    filled = [segment for segment in segments if len(segment.time_s)]
    if not filled:
        raise TunerError(_NO_TIMES)
    stops = np.cumsum([len(segment.time_s) for segment in filled]).tolist()
    gaps = [np.diff(segment.time_s) for segment in filled]
    longest = max((float(gap.max()) for gap in gaps if len(gap)), default=0.0)
    if late:
        notes.append(f"{late} rows came out of order and were sorted in by their time")
    if longest > LONG_GAP_S:
        notes.append(f"the longest pause between requests is {longest / 3600:.1f} hours")
    sizes, rows = np.unique(np.concatenate([s.sizes for s in filled]), axis=0, return_inverse=True)
    latencies = [s.latency_ms for s in filled if s.latency_ms is not None]
    return Arrivals(
        axes=axes,
        arrival_s=np.concatenate([s.time_s - s.time_s[0] for s in filled]),
        sizes=sizes,
        size_rows=rows.reshape(-1).astype(np.int64),
        segments=tuple(zip([0, *stops[:-1]], stops, strict=True)),
        latency_ms=np.concatenate(latencies) if len(latencies) == len(filled) else None,
        out_of_order_count=late,
        equal_time_count=sum(int((gap == 0).sum()) for gap in gaps),
        notes=tuple(notes),
    )
