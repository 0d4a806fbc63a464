"""Stand-in for `airflow.sdk`: runs the tasks of a DAG one after the other, in the order of its `chain`."""

from __future__ import annotations

import subprocess
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Airflow:
    """The module's names, and what ran: the names of the tasks, each with its output."""

    ran: list[tuple[str, str]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def module(self) -> types.ModuleType:
        sdk = types.ModuleType("airflow.sdk")
        task = types.SimpleNamespace(bash=self._task(self._bash), short_circuit=self._task(bool))
        sdk.dag, sdk.task, sdk.chain = self._dag, task, self._chain  # type: ignore[attr-defined]
        return sdk

    def _dag(self, **options: Any) -> Callable[[Callable[[], None]], Callable[[], None]]:
        self.options = options
        return lambda function: function

    def _task(self, run: Callable[[Any], Any]) -> Any:
        def decorated(function: Callable[[], Any]) -> Callable[[], Any]:
            return lambda: (function.__name__, lambda: run(function()))

        return decorated

    def _bash(self, command: str) -> str:
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout

    def _chain(self, *tasks: tuple[str, Callable[[], Any]]) -> None:
        for name, run in tasks:
            result = run()
            self.ran.append((name, str(result)))
            if result is False:
                return
