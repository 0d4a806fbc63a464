"""Several runs that start on a new store make its study tables once, and none of them fails over it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
OPEN = "import sys; from tuner.search.study import open_storage; open_storage(sys.argv[1])"


def test_runs_that_make_the_tables_at_the_same_time_all_go_on(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OPEN, f"sqlite:///{tmp_path}/t.db"]
    runs = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    assert [(run.communicate()[1], run.returncode) for run in runs] == [("", 0)] * 4
