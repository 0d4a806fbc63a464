"""How contexts share a GPU."""

from __future__ import annotations

import pytest

from tuner.errors import TunerError
from tuner.replay.concurrency import SHARED, Concurrency, independent


def test_unmeasured_contexts_share_one_processor():
    assert [SHARED.rate(n) for n in (1, 2, 8)] == [1.0, 1.0, 1.0]


def test_beyond_what_was_measured_the_last_rate_holds():
    measured = Concurrency((1.0, 1.3, 1.4), is_measured=True)
    assert [measured.rate(n) for n in (1, 2, 3, 9)] == [1.0, 1.3, 1.4, 1.4]


def test_independent_contexts_add_up():
    assert independent(3).rate(3) == 3.0


@pytest.mark.parametrize("rates", [(), (1.0, 0.0), (1.0, float("nan"))])
def test_rates_have_to_be_above_zero(rates):
    with pytest.raises(TunerError, match="rates above zero are accepted"):
        Concurrency(rates)


def test_one_execution_alone_has_the_rate_one():
    with pytest.raises(TunerError, match="one execution alone has the rate 1"):
        Concurrency((2.0, 3.0))
