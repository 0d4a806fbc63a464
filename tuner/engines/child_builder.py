"""The builder that the tool uses: each build in a child process with limits and a log of its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tuner.engines.builder import BuildJob, BuiltPlan
from tuner.engines.child import Answer, Limits, run_child
from tuner.errors import BuildFailed, TunerError

BUILD_CHILD = (sys.executable, "-m", "tuner.engines.build_child")
DESCRIBE_LIMITS = Limits(seconds=120)


@dataclass(frozen=True, slots=True)
class ChildBuilder:
    """Builds in children; `log_folder` keeps what each of them printed, in a file named after its plan."""

    limits: Limits
    log_folder: Path
    program: Sequence[str] = BUILD_CHILD

    def describe(self, flavour: str) -> str:
        """The version that would build; TunerError where the flavour cannot be imported."""
        log_path = self.log_folder / f"{flavour}.log"
        try:
            answers = list(
                run_child(self.program, {"describe": flavour}, DESCRIBE_LIMITS, log_path, failure=BuildFailed)
            )
        except BuildFailed as error:
            raise TunerError(str(error)) from error
        return str(_only(answers, "version"))

    def build(self, job: BuildJob) -> BuiltPlan:
        log_path = self.log_folder / f"{Path(job.plan_path).name}.log"
        request = {"job": job.to_json()}
        answers = list(run_child(self.program, request, self.limits, log_path, failure=BuildFailed))
        built = _only(answers, "built")
        assert isinstance(built, dict)  # the child's side of this very file format
        return BuiltPlan.from_json(built)


def _only(answers: Sequence[Answer], name: str) -> object:
    if len(answers) != 1 or name not in answers[0]:
        raise BuildFailed(f"the build's process gave {len(answers)} answers instead of '{name}'", "crash")
    return answers[0][name]
