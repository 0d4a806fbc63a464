"""The flat Parquet form: out and in again, and clear words for files that are something else."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.measurements.recorded_files import MODEL, engine, write
from tuner.errors import TunerError
from tuner.measurements.flat_parquet import RecordedEngine, import_flat, read_flat, write_flat
from tuner.measurements.store import open_store

SAMPLES = Path(__file__).parents[2] / "sample_logs"
ENCODER = SAMPLES / "h200_trt86_encoder6.parquet"


def test_engines_read_back_as_they_were_written(tmp_path: Path) -> None:
    engines = (engine(1), engine(8))
    flat = read_flat(write(tmp_path / "m.parquet", *engines))
    assert [e.measurements for e in flat.engines] == [e.measurements for e in engines]
    assert [e.engine.spec for e in flat.engines] == [e.engine.spec for e in engines]
    assert flat.model.axes == ("n",)


def test_the_recorded_encoder_survives_a_round_trip_row_for_row(tmp_path: Path) -> None:
    flat = read_flat(ENCODER)
    write_flat(tmp_path / "again.parquet", flat.model, flat.engines)
    assert len(flat.engines) == 20
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "again.parquet"), pd.read_parquet(ENCODER), check_like=True
    )


def test_each_engine_keeps_the_day_on_which_it_was_measured(tmp_path: Path) -> None:
    days = ("2026-12-01", "2026-12-03", "2026-11-30")
    engines = [
        dataclasses.replace(one, engine=dataclasses.replace(one.engine, measured_on=day))
        for one, day in zip((engine(1), engine(4), engine(8)), days, strict=True)
    ]
    path = write(tmp_path / "m.parquet", *engines)
    assert [e.engine.measured_on for e in read_flat(path).engines] == list(days)
    assert pq.read_schema(path).metadata[b"measured_on"] == b"2026-12-03"


def test_importing_a_file_twice_stores_it_once(tmp_path: Path) -> None:
    path = write(tmp_path / "m.parquet", engine(1))
    with open_store(f"sqlite:///{tmp_path}/t.db") as store:
        import_flat(store, path)
        import_flat(store, path)
        assert [(e.name, e.repeat) for e in store.engines()] == [("opt1", 0)]


def test_another_build_of_the_same_profile_is_a_repeat(tmp_path: Path) -> None:
    path = write(tmp_path / "m.parquet", engine(1), engine(1, name="again", factor=1.02))
    with open_store(f"sqlite:///{tmp_path}/t.db") as store:
        flat = import_flat(store, path)
    assert [(e.engine.name, e.engine.repeat) for e in flat.engines] == [("opt1", 0), ("again", 1)]


def rewritten(source: Path, target: Path, *, drop: str = "", metadata: dict[str, str] | None = None) -> Path:
    table = pq.read_table(source)
    if drop:
        table = table.drop_columns([drop])
    pq.write_table(table if metadata is None else table.replace_schema_metadata(metadata), target)
    return target


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"drop": "gpu"}, "column 'gpu' is missing"),
        ({"drop": "opt_n"}, "column 'opt_n' for axis n is missing"),
        ({"metadata": {}}, "logs are given with --logs"),
        ({"metadata": {"tuner.measurements": "2", "inputs": "{}"}}, "version 2, accepted is 1"),
        ({"metadata": {"tuner.measurements": "1", "inputs": "{"}}, "cannot read the inputs"),
        ({"metadata": {"tuner.measurements": "1", "inputs": '{"x": 5}'}}, "cannot read the inputs"),
    ],
)
def test_a_file_of_another_form_says_what_is_wrong(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    good = write(tmp_path / "good.parquet", engine(1))
    bad = rewritten(good, tmp_path / "bad.parquet", **change)
    with pytest.raises(TunerError, match=said):
        read_flat(bad)


def test_a_missing_file_and_one_that_is_no_parquet_are_named(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match=r"none\.parquet: no such file"):
        read_flat(tmp_path / "none.parquet")
    (tmp_path / "text.parquet").write_text("hello")
    with pytest.raises(TunerError, match=r"text\.parquet: not a readable Parquet file"):
        read_flat(tmp_path / "text.parquet")


def test_a_file_without_rows_is_named(tmp_path: Path) -> None:
    good = pq.read_table(write(tmp_path / "good.parquet", engine(1)))
    pq.write_table(good.slice(0, 0), tmp_path / "empty.parquet")
    with pytest.raises(TunerError, match="has no rows"):
        read_flat(tmp_path / "empty.parquet")


def test_a_profile_out_of_order_in_the_file_is_refused_with_the_file(tmp_path: Path) -> None:
    table = pq.read_table(write(tmp_path / "good.parquet", engine(4)))
    column = table.schema.get_field_index("opt_n")
    bad = table.set_column(column, "opt_n", pa.array([99] * len(table)))
    pq.write_table(bad, tmp_path / "bad.parquet")
    with pytest.raises(TunerError, match=r"bad\.parquet: profile breaks min <= opt <= max"):
        read_flat(tmp_path / "bad.parquet")


def test_engines_of_two_environments_do_not_share_a_file(tmp_path: Path) -> None:
    from tuner.engines.spec import Environment

    other = engine(2, environment=Environment(gpu="Other GPU", tensorrt="8.6.0"))
    with pytest.raises(TunerError, match="different environments"):
        write_flat(tmp_path / "m.parquet", MODEL, [engine(1), other])


def with_costs(recorded: RecordedEngine, **costs: float) -> RecordedEngine:
    return RecordedEngine(dataclasses.replace(recorded.engine, **costs), recorded.measurements)  # type: ignore[arg-type]


def test_what_changes_cost_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    told = with_costs(engine(1), size_change_ms=0.1, profile_change_ms=0.3)
    flat = read_flat(write(tmp_path / "m.parquet", told, engine(8)))
    costs = [(e.engine.size_change_ms, e.engine.profile_change_ms) for e in flat.engines]
    assert costs == [(0.1, 0.3), (None, None)]


def test_files_that_know_no_costs_have_no_columns_for_them(tmp_path: Path) -> None:
    names = pq.read_schema(write(tmp_path / "m.parquet", engine(1))).names
    assert "size_change_ms" not in names
    assert "profile_change_ms" not in names


def test_importing_a_file_again_adds_the_costs_that_it_came_to_know(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path}/t.db") as store:
        import_flat(store, write(tmp_path / "m.parquet", engine(1)))
        told = with_costs(engine(1), size_change_ms=0.1)
        flat = import_flat(store, write(tmp_path / "again.parquet", told))
        (stored,) = store.engines()
    assert stored.size_change_ms == flat.engines[0].engine.size_change_ms == 0.1
    assert stored.profile_change_ms is None
