"""The driver of ingestion on Ray: hands units out, keeps files whole, and merges in order."""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pyarrow import fs

from tuner.cluster import counting_tasks
from tuner.cluster.connection import ray_errors
from tuner.cluster.counting_tasks import Broken
from tuner.cluster.merge_tree import MergeTree, Part
from tuner.cluster.unit_run import Call, CutRun, Promised, UnitRun, WholeRun
from tuner.cluster.units import Unit, WholeFiles, unit_bytes_for, units_of
from tuner.errors import DamagedFile
from tuner.logs.log_file import LogFile
from tuner.logs.sources import Source
from tuner.traffic.counted import Counted
from tuner.traffic.ingest import Ingest, Progress
from tuner.traffic.tally import Tally

RETRIES = 3
"""How often Ray runs a task again whose worker or node was lost."""
_FILES_AN_OPENING = 64
_CALLS_A_CPU = 3
"""Tasks that are out for each CPU, so that none waits for the driver."""


class CountingCluster:
    """Opens and counts log files on the nodes of a connected Ray: both halves of the map step."""

    def __init__(self, ray: Any, unit_bytes: int | None = None) -> None:
        self._ray = ray
        self._unit_bytes = unit_bytes

    def open_files(self, sources: Sequence[Source]) -> Iterator[LogFile | DamagedFile]:
        """Open files where they will be read: the driver never sees their bytes."""
        open_each = _remote(self._ray, counting_tasks.open_each)
        found = [_seen_from_anywhere(source) for source in sources]
        starts = range(0, len(found), _FILES_AN_OPENING)
        promised = [open_each.remote(found[start : start + _FILES_AN_OPENING]) for start in starts]
        for one in promised:
            with ray_errors(self._ray):
                opened = self._ray.get(one)
            for file in opened:
                yield file.error() if isinstance(file, Broken) else file

    def count_files(self, ingest: Ingest, progress: Progress | None = None) -> Counted:
        """Everything counted, the same as on one machine; each task needs the memory of a few blocks."""
        axes = ingest.rules.axes
        workers = RayWorkers(self._ray, axes)
        tree = MergeTree(workers.merge)
        with ray_errors(self._ray):
            unit_bytes = self._unit_bytes or unit_bytes_for(ingest, workers.cpu_count)
            for part in _parts(workers, units_of(ingest, unit_bytes), progress):
                tree.add(part)
            # One at a time: the driver never holds more than the total and a part.
            parts = ((rows, self._ray.get(promised)) for rows, promised in tree.rest())
            return counting_tasks.merged(Counted(Tally(axes)), parts)


def _seen_from_anywhere(source: Source) -> Source:
    """A worker has a working folder of its own; how the file is shown stays."""
    if not isinstance(source.filesystem, fs.LocalFileSystem):
        return source
    return replace(source, path=os.path.abspath(source.path))


def _remote(ray: Any, function: Any, **options: Any) -> Any:
    return ray.remote(num_cpus=1, max_retries=RETRIES, **options)(function)


class RayWorkers:
    """Starts the tasks of ingestion; Ray decides where they run, and runs them again when a node is lost."""

    def __init__(self, ray: Any, axes: tuple[str, ...]) -> None:
        self.ray = ray
        self.cpu_count = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self.most_out = max(4, _CALLS_A_CPU * self.cpu_count)
        self._axes = axes
        self._whole = _remote(ray, counting_tasks.count_whole, num_returns=2)
        self._span = _remote(ray, counting_tasks.count_span, num_returns=2)
        self._numbers = _remote(ray, counting_tasks.number_span, num_returns=2)
        self._merge = _remote(ray, counting_tasks.merge_counted)

    def whole(self, unit: WholeFiles) -> Promised:
        return tuple(self._whole.remote(unit.files))

    def span(self, cut: Any, span: tuple[int, int], first_row: int) -> Promised:
        return tuple(self._span.remote(cut, span, first_row))

    def numbers(self, cut: Any, span: tuple[int, int]) -> Promised:
        return tuple(self._numbers.remote(cut, span))

    def merge(self, parts: Sequence[Part]) -> Any:
        return self._merge.remote(self._axes, [rows for rows, _ in parts], *(part for _, part in parts))

    def put(self, value: object) -> Any:
        return self.ray.put(value)


def _parts(workers: RayWorkers, units: Iterator[Unit], progress: Progress | None) -> Iterator[Part]:
    """What all units count for, in order; a bounded number of tasks is out at any time."""
    ray = workers.ray
    runs: deque[UnitRun] = deque()
    to_start = _started(units, workers, runs)
    out: dict[Any, Call] = {}
    byte_count = row_count = 0
    while True:
        for call in itertools.islice(to_start, max(0, workers.most_out - len(out))):
            out[call.promised[0]] = call
        if not out:
            return
        done, _ = ray.wait(list(out), num_returns=1)
        call = out.pop(done[0])
        more, following = call.run.take(call.place, ray.get(done[0]), call.promised[1])
        out |= {then.promised[0]: then for then in following}
        byte_count, row_count = byte_count + more.byte_count, row_count + more.row_count
        if progress is not None:
            progress(byte_count, row_count)
        while runs and runs[0].parts:
            yield from runs.popleft().parts


def _started(units: Iterator[Unit], workers: RayWorkers, runs: deque[UnitRun]) -> Iterator[Call]:
    """Every task of every unit's first pass, started as it is taken; its run joins the others in order."""
    for unit in units:
        run = WholeRun(unit, workers) if isinstance(unit, WholeFiles) else CutRun(unit, workers)
        runs.append(run)
        yield from run.calls()
