"""Our folder of plans and timing caches: by key, whole or absent, the oldest evicted past a size limit."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from tuner.engines.spec import Environment

DEFAULT_LIMIT_BYTES = 20 << 30


@dataclass(frozen=True, slots=True)
class PlanStore:
    """Plans are code: whoever loads one compares its digest with the one recorded when we built it."""

    folder: Path
    limit_bytes: int = DEFAULT_LIMIT_BYTES

    def path(self, key: str, repeat: int) -> Path:
        return self.folder / f"{key}.{repeat}.engine"

    def holds(self, key: str, repeat: int, digest: str | None) -> bool:
        """True where the plan is there, byte for byte as recorded; using it makes it the newest."""
        plan = self.path(key, repeat)
        if digest is None or not plan.is_file():
            return False
        with plan.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                return False
        os.utime(plan)
        return True

    def timing_cache(self, environment: Environment) -> Path:
        """One cache for each flavour, version and GPU: TensorRT's are good for no other."""
        name = f"{environment.flavour}-{environment.tensorrt}-{environment.gpu}"
        return self.folder / f"{re.sub(r'[^A-Za-z0-9.]+', '_', name)}.timing"

    def trim(self, keep: Path) -> list[Path]:
        """Evict the plans that were not used for longest until the limit holds; `keep` always stays."""
        plans = sorted(self.folder.glob("*.engine"), key=lambda plan: plan.stat().st_mtime)
        total = sum(plan.stat().st_size for plan in plans)
        evicted = []
        for plan in plans:
            if total <= self.limit_bytes:
                break
            if plan != keep:
                total -= plan.stat().st_size
                plan.unlink()
                evicted.append(plan)
        return evicted
