"""Checks the names that we call in TensorRT 10 against its published type stubs, with mypy.

    pip install --no-deps --target STUBS tensorrt-stubs
    python tests/check_tensorrt_names.py STUBS

The stubs are generated and hold a few lines that are not Python; a repaired copy is what mypy reads.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKED = (
    "tuner/engines/tensorrt_api.py",
    "tuner/engines/tensorrt_builder.py",
    "tuner/measurements/engine_lane.py",
    "tuner/measurements/engine_tensors.py",
    "tuner/measurements/tensorrt_runner.py",
)
# The stubs' own types are too loose to judge ours: only names and call signatures count.
UNKNOWN = ("[attr-defined]", "[call-arg]", "[name-defined]")


def repaired(stubs: str) -> str:
    """Keywords used as parameter names renamed, defaults in the wrong order completed."""
    return re.sub(r"\bin: ", "in_: ", stubs).replace("channel_axis: int)", "channel_axis: int = 0)")


def main(folder: Path) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "stubs"
        shutil.copytree(folder, copy)
        bindings = copy / "tensorrt_bindings" / "tensorrt.pyi"
        bindings.write_text(repaired(bindings.read_text()))
        (copy / "tensorrt_libs.pyi").touch()
        command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--cache-dir", scratch + "/cache"]
        files = [path for path in CHECKED if Path(path).exists()]
        environment = {**os.environ, "MYPYPATH": str(copy)}
        done = subprocess.run(
            [*command, *files], env=environment, capture_output=True, text=True, check=False
        )
    wrong = [
        line for line in done.stdout.splitlines() if line.startswith("tuner/") and line.endswith(UNKNOWN)
    ]
    print("\n".join([*wrong, f"{len(wrong)} names unknown to the stubs in {len(files)} files"]))
    return 1 if wrong or "errors prevented further checking" in done.stdout else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
