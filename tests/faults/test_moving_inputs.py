"""Inputs that change under a running job, and a clock that jumps."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from tests.faults.jobs import SLOW_JOB, Folder, ended, folder_at
from tests.measurements.recorded_files import summary
from tests.models import save
from tuner.axes import Size
from tuner.engines.spec import EngineSpec, Environment
from tuner.measurements.flat_parquet import RecordedEngine, write_flat
from tuner.measurements.measurement import BuiltEngine, Measurement, Mode
from tuner.onnx_file import read_onnx
from tuner.profiles.profile import OptimizationProfile, ProfileSet

pytestmark = pytest.mark.slow


def wait_for(folder: Folder, phase: str) -> None:
    phases = folder.path / "phases.txt"
    deadline = time.monotonic() + 60
    while not (phases.exists() and phase in phases.read_text()) and time.monotonic() < deadline:
        time.sleep(0.005)


def recorded_tiny(folder: Path) -> tuple[Path, Path]:
    """A model file and recorded measurements of it at two opts."""
    model_path = save("tiny", folder / "tiny.onnx")
    model = read_onnx(model_path)
    engines = []
    for opt in (1, 8):
        profile = OptimizationProfile(Size.of(batch=1), Size.of(batch=opt), Size.of(batch=8))
        spec = EngineSpec(
            model_hash=model.content_hash or "",
            profiles=ProfileSet((profile,)),
            precision="fp16",
            builder_options="defaults",
            environment=Environment(gpu="Test GPU", tensorrt="8.6.0"),
        )
        measurements = tuple(
            Measurement(
                profile_index=0,
                size=Size.of(batch=n),
                mode=Mode.ENQUEUE,
                summary=summary(1.0 + abs(n - opt)),
            )
            for n in (1, 2, 4, 8)
        )
        engines.append(RecordedEngine(BuiltEngine(spec=spec, name=f"opt{opt}"), measurements))
    write_flat(folder / "tiny.parquet", model, engines)
    return model_path, folder / "tiny.parquet"


def test_a_model_that_is_replaced_in_the_middle_of_a_run_ends_it_without_a_document(tmp_path: Path) -> None:
    folder = folder_at(tmp_path / "job")
    model, measurements = recorded_tiny(folder.path)
    (folder.path / "day.csv").write_text("batch,count\n1,50\n4,20\n8,10\n")
    given = ("--model", str(model), "--measurements", str(measurements))
    job = folder.start(*given, program=(str(SLOW_JOB),))
    wait_for(folder, "searching")
    save("ranker", model.with_name("other.onnx"))
    os.replace(model.with_name("other.onnx"), model)
    result = ended(job)
    assert result.exit_code == 1
    assert "was replaced during the run" in result.err
    assert len(result.err.strip().splitlines()) == 1
    assert not folder.document.exists()


def test_a_log_that_is_replaced_while_it_is_read_is_told_in_the_document(tmp_path: Path) -> None:
    folder = folder_at(tmp_path / "job")
    log = folder.path / "day.csv"
    rows = log.read_text()
    log.write_text(rows + "1,32,1\n" * 300_000)
    job = folder.start()
    deadline = time.monotonic() + 60
    while not (folder.path / "tuner.db").exists() and time.monotonic() < deadline:
        time.sleep(0.002)
    while job.poll() is None:  # replaced again and again, so that some of it falls into the reading
        other = folder.path / "other"
        other.write_text(rows + "1,32,1\n" * 300_000)
        os.replace(other, log)
        time.sleep(0.05)
    result = ended(job)
    if result.exit_code == 0:
        notes = json.loads(folder.document.read_text())["traffic"]["notes"]
        assert any("was replaced or cut while it was read" in note for note in notes)
    else:
        assert len(result.err.strip().splitlines()) == 1


LIBFAKETIME = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)


@pytest.mark.skipif(LIBFAKETIME is None, reason="needs libfaketime: apt-get install faketime")
@pytest.mark.parametrize("jump", ["-1d", "+1d"])
def test_a_clock_that_jumps_in_the_middle_of_a_run_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: str
) -> None:
    folder, undisturbed = folder_at(tmp_path / "job"), folder_at(tmp_path / "undisturbed")
    offset = tmp_path / "offset"
    offset.write_text("+0d")
    with monkeypatch.context() as faked:
        faked.setenv("LD_PRELOAD", str(LIBFAKETIME))
        faked.setenv("FAKETIME_TIMESTAMP_FILE", str(offset))
        faked.setenv("FAKETIME_NO_CACHE", "1")
        faked.setenv("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        job = folder.start()
    deadline = time.monotonic() + 60
    while not (folder.path / "tuner.db").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    offset.write_text(jump)
    result = ended(job)
    assert (result.exit_code, result.err) == (0, "")
    assert undisturbed.run().exit_code == 0
    assert folder.document.read_bytes() == undisturbed.document.read_bytes()
