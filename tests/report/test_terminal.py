"""What a terminal says of the numbers that it shows."""

from __future__ import annotations

import pytest

from tests.recommendation.test_recommend import all_tuned
from tests.search.problems import encoder_mix, recorded_with
from tuner.recommendation.recommend import recommend
from tuner.recommendation.scored import RecommendSettings
from tuner.report.terminal import sentences


def said(size_ms: float | None, profile_ms: float | None) -> list[str]:
    source = recorded_with(size_ms, profile_ms)
    found = recommend(all_tuned(encoder_mix("small")), source, RecommendSettings(), "sqlite://")
    return [text.plain for text in sentences(found) if text.plain.startswith("charged")]


@pytest.mark.parametrize(
    ("costs", "numbers"),
    [
        ((0.01, 0.03), "0.01 ms where the request before had another size, 0.03 ms"),
        ((0.01, None), "0.01 ms where the request before had another size, 0.01 ms"),
    ],
)
def test_what_was_charged_is_one_line(costs: tuple[float, float | None], numbers: str) -> None:
    (line,) = said(*costs)
    assert numbers in line


def test_nothing_is_said_where_changes_are_free() -> None:
    assert said(None, None) == []
