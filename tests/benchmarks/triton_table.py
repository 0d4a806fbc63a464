"""The README's table of a real Triton server beside our replay. Run it by hand on a quiet machine:

TUNER_TRITON_PYTHON=/path/to/python-with-nvidia-pytriton python -m tests.benchmarks.triton_table
"""

from __future__ import annotations

from tests.replay.real_triton.compared import CASES, compare, table

if __name__ == "__main__":
    print(table([compare(case) for case in CASES]))
