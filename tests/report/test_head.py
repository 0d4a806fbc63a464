"""The decision in one sentence with its number."""

from __future__ import annotations

import copy
from typing import Any

from tests.report.documents import Written
from tuner.report.head import decision_sentence, facts_of


def with_expected(written: Written, **facts: Any) -> dict[str, Any]:
    document = copy.deepcopy(written.document)
    document["expected"] |= facts
    return document


def test_without_a_deployed_set_the_gain_is_over_the_usual_rule(sample: Written) -> None:
    gain = sample.document["expected"]["rules"]["max"]["holdout_gain"]
    found = decision_sentence(sample.document)
    assert found == (
        f"change: {100 * gain:.1f} % less GPU time per request than the usual rule opt = max "
        "on held-out traffic"
    )


def test_a_deployed_set_comes_first_and_its_interval_is_told(sample: Written) -> None:
    deployed = {"profiles": [], "gain": 0.3, "holdout_gain": {"value": 0.311, "low": 0.29, "high": 0.33}}
    sentence = decision_sentence(with_expected(sample, deployed=deployed))
    assert sentence == (
        "change: 31.1 % less GPU time per request than the deployed set on held-out traffic, "
        "95 % interval 29 to 33 %"
    )


def test_a_night_that_keeps_tells_what_the_best_challenger_would_have_gained(sample: Written) -> None:
    deployed = {"profiles": [], "holdout_gain": {"value": 0.01, "low": -0.01, "high": 0.03}}
    document = with_expected(sample, deployed=deployed) | {"decision": "keep"}
    assert decision_sentence(document) == (
        "keep: the deployed set stays; the best challenger has 1.0 % less GPU time per request "
        "on held-out traffic, 95 % interval -1 to 3 %"
    )


def test_a_night_without_a_challenger_keeps_and_claims_nothing(sample: Written) -> None:
    assert decision_sentence(sample.document | {"decision": "keep"}) == "keep: the deployed set stays"


def test_where_every_rule_is_judged_at_a_stand_in_no_gain_is_claimed(sample: Written) -> None:
    assert "no gain can be claimed" in decision_sentence(with_expected(sample, rules={}))


def test_a_loss_reads_as_one(sample: Written) -> None:
    deployed = {"profiles": [], "gain": None, "holdout_gain": -0.05}
    assert "5.0 % more GPU time" in decision_sentence(with_expected(sample, deployed=deployed))


def test_a_profile_by_rule_says_that_nothing_was_measured(sample: Written) -> None:
    document = {**sample.document, "expected": None, "evidence": "rule"}
    assert "nothing was measured" in decision_sentence(document)
    assert dict(facts_of(document)) == {"Evidence": "a rule, nothing was measured"}


def test_the_evidence_names_gpu_tensorrt_model_date_and_builds(sample: Written) -> None:
    facts = dict(facts_of(sample.document))
    assert facts["GPU"] == "NVIDIA H200"
    assert facts["TensorRT"].startswith("8.6.0")
    assert "encoder6" in facts["Model"]
    assert facts["Measured on"] == "2026-11-30"
    assert "builds" in facts["Builds"] or facts["Builds"][0].isdigit()
    assert facts["Driver, CUDA"].startswith("-")  # the driver was not recorded, so nothing is made up
