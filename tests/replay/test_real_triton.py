"""Our replay against a real Triton server, batch by batch: by hand and in a slow step of CI.

TUNER_TRITON_PYTHON names an interpreter with nvidia-pytriton, whose server runs without a GPU.
"""

from __future__ import annotations

import pytest

from tests.replay.real_triton.compared import CASES, INTERPRETER, compare

pytestmark = [pytest.mark.slow, pytest.mark.server]


@pytest.mark.skipif(INTERPRETER is None, reason="TUNER_TRITON_PYTHON names no interpreter")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_triton_batches_and_answers_as_the_replay_says(case):
    p50, p99, mean_batch = compare(case).errors
    assert abs(p50) <= 0.05
    assert abs(p99) <= 0.10
    assert abs(mean_batch) <= 0.03
