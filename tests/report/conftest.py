"""Documents that several tests of the report read; each is made once."""

from __future__ import annotations

import pytest

from tests.report import documents
from tests.report.documents import SAMPLES, Written
from tuner.measurements.opening import open_recorded
from tuner.measurements.store import open_store
from tuner.recommendation.document import as_document
from tuner.recommendation.recommend import recommend
from tuner.recommendation.scored import RecommendSettings
from tuner.settings import LogSettings
from tuner.traffic.reading import read_traffic


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """The recommendation for the sample logs over the recorded encoder."""
    folder = tmp_path_factory.mktemp("sample")
    store_url = f"sqlite:///{folder}/tuner.db"
    with open_store(store_url) as store:
        source = open_recorded(store, str(SAMPLES / "h200_trt86_encoder6.parquet"), None)
        logs = (str(SAMPLES / "prod.parquet"),)
        axes = {"batch": "batch_size", "seq": "seq_len"}
        settings = LogSettings(logs=logs, axes=axes, time="time", log_kind="batches")
        found = recommend(read_traffic(settings, source.model), source, RecommendSettings(), store_url)
    return documents.written(folder, as_document(found), store_url)


@pytest.fixture(scope="session")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return documents.evil(tmp_path_factory.mktemp("evil"))


@pytest.fixture(scope="session")
def one_axis(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return documents.one_axis(tmp_path_factory.mktemp("one"))


@pytest.fixture(scope="session")
def three_axes(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return documents.three_axes(tmp_path_factory.mktemp("three"))
