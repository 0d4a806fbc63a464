"""What a run is judged by: a file, a store, or a clear word that there is nothing."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.measurements.recorded_files import MODEL, engine, write
from tuner.errors import TunerError
from tuner.measurements.opening import open_recorded
from tuner.measurements.store import open_store


def test_a_file_is_opened_through_the_store(tmp_path: Path) -> None:
    path = write(tmp_path / "m.parquet", engine(1), engine(4))
    with open_store(f"sqlite:///{tmp_path}/t.db") as store:
        source = open_recorded(store, str(path), None)
        assert [p.opt["n"] for p in source.candidates()] == [1, 4]
        again = open_recorded(store, None, MODEL)
        assert again.candidates() == source.candidates()


def test_a_store_of_another_machine_is_opened_by_its_url(tmp_path: Path) -> None:
    path = write(tmp_path / "m.parquet", engine(1))
    other = f"sqlite:///{tmp_path}/other.db"
    with open_store(other) as store:
        open_recorded(store, str(path), None)
    with open_store(f"sqlite:///{tmp_path}/mine.db") as mine:
        assert len(open_recorded(mine, other, None).candidates()) == 1
        assert mine.engines() == []


def test_measurements_of_another_model_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "m.parquet", engine(1))
    given = dataclasses.replace(MODEL, name="mine", content_hash="f" * 64)
    with (
        open_store(f"sqlite:///{tmp_path}/t.db") as store,
        pytest.raises(TunerError, match=r"are of another model: small with hash 0123456789abcdef, but mine"),
    ):
        open_recorded(store, str(path), given)


def test_an_empty_store_says_how_to_fill_it(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path}/t.db") as store:
        with pytest.raises(TunerError, match="holds measurements of 0 models"):
            open_recorded(store, None, None)
        with pytest.raises(TunerError, match="no measurements of model small"):
            open_recorded(store, None, MODEL)
