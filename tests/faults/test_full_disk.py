"""Full disks and read-only folders, with a small file system mounted for real."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.jobs import Folder, folder_at
from tuner.engines.child import Limits, run_child
from tuner.errors import BuildFailed

pytestmark = pytest.mark.slow
OLD = b'{"an": "older document"}\n'


class Disk:
    """A file system of a few MiB at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def fill(self, leave_bytes: int = 0) -> None:
        """Take up all room but so many bytes."""
        filler = self.path / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while file.write(b"\0" * 4096):
                    pass
            except OSError:
                pass
            file.truncate(max(0, filler.stat().st_size - leave_bytes))

    def make_room(self) -> None:
        (self.path / "filler").unlink()

    def make_read_only(self) -> None:
        subprocess.run(["mount", "-o", "remount,ro", str(self.path)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    path = tmp_path / "disk"
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(path)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    yield Disk(path)
    subprocess.run(["umount", str(path)], check=True)


def assert_one_line(err: str, *words: str) -> None:
    assert len(err.strip().splitlines()) == 1, err
    for word in words:
        assert word in err


def assert_a_rerun_completes(folder: Folder, *more: str) -> None:
    ended = folder.run(*more)
    assert (ended.exit_code, ended.err) == (0, "")


@pytest.mark.parametrize("room", [0, 100_000, 300_000, 500_000])
def test_a_store_on_a_full_disk_ends_the_run_and_loses_nothing(disk: Disk, room: int) -> None:
    folder = folder_at(disk.path / "job")
    folder.document.write_bytes(OLD)
    disk.fill(leave_bytes=room)
    ended = folder.run()
    assert ended.exit_code == 1
    assert_one_line(ended.err, "tuner: ", "full" if room else "")
    assert folder.document.read_bytes() == OLD
    stored = folder.stored()
    disk.make_room()
    assert_a_rerun_completes(folder)
    assert folder.stored() >= stored


def test_a_document_on_a_full_disk_leaves_the_old_one_as_it_was(tmp_path: Path, disk: Disk) -> None:
    folder = folder_at(tmp_path / "job")
    out = disk.path / "profile.json"
    out.write_bytes(OLD)
    disk.fill()
    ended = folder.run("--out", str(out))
    assert ended.exit_code == 1
    assert_one_line(ended.err, "cannot write", "No space left on device")
    assert out.read_bytes() == OLD
    assert sorted(p.name for p in disk.path.iterdir()) == ["filler", "profile.json"]
    disk.make_room()
    assert_a_rerun_completes(folder, "--out", str(out))
    assert out.read_bytes() != OLD


def test_a_night_whose_document_could_not_be_written_is_not_in_the_history(
    tmp_path: Path, disk: Disk
) -> None:
    from tuner.measurements.history import entries
    from tuner.measurements.store import open_store

    folder = folder_at(tmp_path / "job")
    disk.fill()
    assert folder.run("--out", str(disk.path / "profile.json")).exit_code == 1
    with open_store(f"sqlite:///{folder.path}/tuner.db") as store:
        assert entries(store) == []


def test_a_read_only_folder_is_found_before_anything_is_measured(tmp_path: Path, disk: Disk) -> None:
    folder = folder_at(tmp_path / "job")
    disk.make_read_only()
    ended = folder.run("--out", str(disk.path / "profile.json"))
    assert ended.exit_code == 1
    assert_one_line(ended.err, "cannot write", "Read-only file system")
    assert not (folder.path / "tuner.db").exists()


def test_a_read_only_store_says_so(tmp_path: Path, disk: Disk) -> None:
    folder = folder_at(tmp_path / "job")
    disk.make_read_only()
    ended = folder.run("--store", f"sqlite:///{disk.path}/tuner.db")
    assert ended.exit_code == 1
    assert_one_line(ended.err, "its folder must exist and be writable")
    assert not folder.document.exists()


def test_a_plan_on_a_full_disk_is_a_failed_build_and_the_old_plan_stays(tmp_path: Path, disk: Disk) -> None:
    plan = disk.path / "model.engine"
    plan.write_bytes(OLD)
    disk.fill()
    child = [sys.executable, str(Path(__file__).parents[1] / "stand_ins" / "misbehaving_child.py")]
    request = {"how": "write", "plan": str(plan)}
    with pytest.raises(BuildFailed, match="No space left on device"):
        list(run_child(child, request, Limits(seconds=30), tmp_path / "log", failure=BuildFailed))
    assert plan.read_bytes() == OLD
    assert sorted(p.name for p in disk.path.iterdir()) == ["filler", "model.engine"]
