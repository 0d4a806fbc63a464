"""The runner's contract on the stand-in that answers from recorded measurements."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.contracts.runner_contract import RunnerContract
from tests.stand_ins.recorded_engine import RecordedRunner
from tuner.axes import Size
from tuner.measurements.runner import Runner, SizeTask


def encoder_task(batch: int, seq: int) -> SizeTask:
    shape = (batch, seq)
    return SizeTask(
        size=Size.of(batch=batch, seq=seq),
        profile_index=0,
        shapes={"input_ids": shape, "attention_mask": shape},
        values={},
        outputs={},
    )


class TestRecordedRunner(RunnerContract):
    @pytest.fixture
    def runner(self) -> Runner:
        return RecordedRunner()

    @pytest.fixture
    def plan(self, tmp_path: Path) -> Path:
        path = tmp_path / "recorded.engine"
        path.write_text(json.dumps([[[1, 16], [4, 128], [64, 512]]]))
        return path

    @pytest.fixture
    def small(self) -> SizeTask:
        return encoder_task(1, 16)

    @pytest.fixture
    def outside(self) -> SizeTask:
        return encoder_task(128, 16)
