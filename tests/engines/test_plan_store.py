"""Tests of the folder of plans."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from tuner.engines.plan_file import write_whole
from tuner.engines.plan_store import PlanStore
from tuner.engines.spec import Environment


def stored(store: PlanStore, key: str, content: bytes, age: int) -> Path:
    path = store.path(key, 0)
    write_whole(path, content)
    os.utime(path, (1000 - age, 1000 - age))
    return path


def test_plan_is_held_only_with_its_own_digest(tmp_path: Path) -> None:
    store = PlanStore(tmp_path)
    stored(store, "a", b"plan", 0)
    assert store.holds("a", 0, hashlib.sha256(b"plan").hexdigest())
    assert not store.holds("a", 0, hashlib.sha256(b"other").hexdigest())
    assert not store.holds("a", 0, None)
    assert not store.holds("b", 0, hashlib.sha256(b"plan").hexdigest())


def test_oldest_plans_go_first_and_the_new_one_stays(tmp_path: Path) -> None:
    store = PlanStore(tmp_path, limit_bytes=25)
    oldest, old, new = (stored(store, key, b"0123456789", age) for key, age in (("a", 9), ("b", 5), ("c", 0)))
    assert store.trim(new) == [oldest]
    assert old.exists()
    assert PlanStore(tmp_path, limit_bytes=1).trim(new) == [old]
    assert new.exists()


def test_used_plan_counts_as_new(tmp_path: Path) -> None:
    store = PlanStore(tmp_path, limit_bytes=15)
    used, unused = stored(store, "a", b"0123456789", 9), stored(store, "b", b"9876543210", 5)
    assert store.holds("a", 0, hashlib.sha256(b"0123456789").hexdigest())
    assert store.trim(used) == [unused]


def test_timing_caches_are_kept_apart_by_gpu_and_version(tmp_path: Path) -> None:
    store = PlanStore(tmp_path)
    one = Environment(gpu="NVIDIA H200", tensorrt="8.6.1")
    others = (
        Environment(gpu="NVIDIA H100", tensorrt="8.6.1"),
        Environment(gpu="NVIDIA H200", tensorrt="10.1"),
    )
    assert len({store.timing_cache(e) for e in (one, *others)}) == 3
    assert store.timing_cache(one).name == "tensorrt_8.6.1_NVIDIA_H200.timing"


def test_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "plan"
    write_whole(path, b"old")
    path.chmod(0o444)
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert [p.name for p in tmp_path.iterdir()] == ["plan"]
