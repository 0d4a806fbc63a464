"""The store keeps what it was given, once, and says clearly when it cannot."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.measurements.recorded_files import MODEL, engine
from tuner.errors import TunerError
from tuner.measurements.store import Store, open_store, same_hash


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/t.db") as opened:
        yield opened


def test_an_engine_and_its_measurements_come_back_as_they_were_stored(store: Store) -> None:
    recorded = engine(4)
    samples = dataclasses.replace(
        recorded.measurements[0], samples_ms=(1.25, 1.5), caveats=("unstable",), h2d_ms=0.1, enqueue_ms=0.2
    )
    store.add_engine(MODEL, recorded.engine)
    key = recorded.engine.spec.key
    store.add_measurements(key, 0, [samples, *recorded.measurements[1:]])
    assert store.engines() == [recorded.engine]
    assert store.measurements(key, 0) == [samples, *recorded.measurements[1:]]
    assert [(m.name, m.axes) for m in store.models()] == [("small", ("n",))]


def test_what_is_stored_already_is_not_stored_again(store: Store) -> None:
    recorded = engine(4)
    store.add_engine(MODEL, recorded.engine)
    store.add_engine(MODEL, dataclasses.replace(recorded.engine, build_s=99.0))
    key = recorded.engine.spec.key
    assert store.add_measurements(key, 0, recorded.measurements) == 4
    assert store.add_measurements(key, 0, recorded.measurements) == 0
    assert [e.build_s for e in store.engines()] == [1.5]
    assert len(store.measurements(key, 0)) == 4


def test_a_failed_build_is_kept_with_its_reason(store: Store) -> None:
    failed = dataclasses.replace(engine(4).engine, outcome="out_of_memory", reason="needs 3072 GiB")
    store.add_engine(MODEL, failed)
    assert [(e.outcome, e.reason, e.is_built) for e in store.engines()] == [
        ("out_of_memory", "needs 3072 GiB", False)
    ]


def test_measurements_of_an_unknown_build_are_refused(store: Store) -> None:
    with pytest.raises(TunerError, match=r"build nothing \(0\) is unknown"):
        store.add_measurements("nothing", 0, [])


def test_everything_survives_closing_and_opening(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/t.db"
    with open_store(url) as store:
        store.add_engine(MODEL, engine(4).engine)
    with open_store(url) as store:
        assert [e.name for e in store.engines()] == ["opt4"]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nonsense", "cannot be used"),
        ("nosuch://host/db", "cannot be used"),
        ("sqlite:////nowhere/t.db", "its folder must exist and be writable"),
    ],
)
def test_a_store_that_cannot_be_opened_says_what_to_do(url: str, said: str) -> None:
    with pytest.raises(TunerError, match=said):
        open_store(url)


def test_a_file_that_is_no_database_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "t.db").write_bytes(b"this is no database at all" * 100)
    with pytest.raises(TunerError, match="not a database"):
        open_store(f"sqlite:///{tmp_path}/t.db")


def test_a_store_of_a_newer_schema_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/t.db"
    open_store(url).close()
    with sqlite3.connect(tmp_path / "t.db") as raw:
        raw.execute("update tuner_alembic set version_num = '999'")
    raw.close()
    with pytest.raises(TunerError, match="schema version 999"):
        open_store(url)


def test_a_password_in_the_url_is_never_shown() -> None:
    with pytest.raises(TunerError, match="cannot be used") as caught:
        open_store("nosuch://user:secret@host/db")
    assert "secret" not in str(caught.value)


def test_a_hash_matches_its_own_prefix_only() -> None:
    assert same_hash("abcdef", "abc")
    assert not same_hash("abcdef", "abd")
    assert not same_hash("", "abc")


def test_a_disturbed_measurement_gives_way_to_a_later_one_and_no_other_does(store: Store) -> None:
    recorded = engine(4)
    first, second = recorded.measurements[:2]
    shared = ("shared: 1 other processes used the GPU; measure again when they have ended",)
    store.add_engine(MODEL, recorded.engine)
    key = recorded.engine.spec.key
    store.add_measurements(key, 0, [dataclasses.replace(first, caveats=shared), second])
    later = [dataclasses.replace(m, first_run_ms=9.0) for m in (first, second)]
    assert store.add_measurements(key, 0, later) == 1
    assert {m.size: m.first_run_ms for m in store.measurements(key, 0)} == {
        first.size: 9.0,
        second.size: None,
    }
    assert not any(m.is_contended for m in store.measurements(key, 0))


def test_a_disturbed_measurement_never_replaces_one(store: Store) -> None:
    recorded = engine(4)
    store.add_engine(MODEL, recorded.engine, recorded.measurements)
    again = dataclasses.replace(recorded.measurements[0], caveats=("shared: 2 others",))
    assert store.add_measurements(recorded.engine.spec.key, 0, [again]) == 0


def test_counts_are_those_of_the_model(store: Store) -> None:
    recorded = engine(4)
    store.add_engine(MODEL, recorded.engine, recorded.measurements)
    assert store.counts(MODEL.content_hash) == (1, 4)
    assert store.counts("another") == (0, 0)
    assert store.counts(None) == (1, 4)
