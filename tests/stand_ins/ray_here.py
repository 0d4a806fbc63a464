"""A stand-in for Ray in this process: tasks run one by one in an order that a seed decides.

Whatever goes to a task and comes back is pickled as Ray pickles it, so that nothing passes here that could
not travel.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

ray = pytest.importorskip("ray", reason="needs Ray: pip install 'trt-profile-tuner[ray]'")


class Task:
    """A call that runs once, when something asks for its results."""

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Any], returns: int) -> None:
        kept = [None if isinstance(a, Reference) else a for a in arguments]
        self._function = function
        self._arguments = ray.cloudpickle.dumps(kept)
        self._promises = [a if isinstance(a, Reference) else None for a in arguments]
        self._returns = returns
        self._results: list[bytes] | None = None

    def result(self, place: int) -> Any:
        if self._results is None:
            values = ray.cloudpickle.loads(self._arguments)
            given = [v if p is None else p.value() for p, v in zip(self._promises, values, strict=True)]
            found = self._function(*given)
            self._results = [ray.cloudpickle.dumps(one) for one in (found if self._returns > 1 else [found])]
        return ray.cloudpickle.loads(self._results[place])


class Reference:
    """The promise of one value."""

    def __init__(self, task: Task, place: int = 0) -> None:
        self._task = task
        self._place = place

    def value(self) -> Any:
        return self._task.result(self._place)


class Remote:
    """What `ray.remote` makes of a function."""

    def __init__(self, function: Callable[..., Any], returns: int) -> None:
        self._function = function
        self._returns = returns

    def remote(self, *arguments: Any) -> Any:
        task = Task(self._function, arguments, self._returns)
        references = [Reference(task, place) for place in range(self._returns)]
        return references if self._returns > 1 else references[0]


class RayHere:
    """The part of Ray's module that ingestion uses."""

    exceptions = ray.exceptions

    def __init__(self, seed: int, cpus: int = 2) -> None:
        self._random = random.Random(seed)
        self._cpus = cpus

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": self._cpus}

    def remote(self, **options: Any) -> Callable[[Callable[..., Any]], Remote]:
        return lambda function: Remote(function, options.get("num_returns", 1))

    def put(self, value: object) -> Reference:
        return Reference(Task(lambda: value, [], 1))

    def wait(self, references: Sequence[Reference], num_returns: int) -> tuple[list[Reference], list[Any]]:
        done = self._random.sample(list(references), num_returns)
        return done, [r for r in references if r not in done]

    def get(self, reference: Reference) -> Any:
        return reference.value()
