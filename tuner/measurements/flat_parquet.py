"""The flat Parquet form of measurements: a row an (engine, profile, size), readable by any tool.

`min_*`, `opt_*`, `max_*` are the profile and the bare axis names the size; `gpu_compute_ms_*` is the mode
`enqueue`, `cuda_graph_ms_*` the mode `cuda_graph`. What is known of an engine as a whole stands in each of
its rows; no file needs `size_change_ms`, `profile_change_ms` and `measured_on`.
The schema's metadata holds the inputs and what is known of the environment, and the last date of all.
"""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuner.axes import Size
from tuner.engines.spec import EngineSpec, Environment
from tuner.errors import TunerError, nearest_name
from tuner.measurements.measurement import BuiltEngine, Measurement, Mode, Summary
from tuner.measurements.measuring import SwitchCosts
from tuner.measurements.store import Store
from tuner.model import Model
from tuner.model_inputs import inputs_as_json, model_from_metadata
from tuner.profiles.profile import OptimizationProfile, ProfileSet

FORMAT_VERSION = "1"
_PREFIX: Mapping[Mode, str] = {Mode.ENQUEUE: "gpu_compute_ms", Mode.CUDA_GRAPH: "cuda_graph_ms"}
_STATISTICS = ("mean", "std", "min", "p50", "p90", "p99", "max")
_COSTS = ("size_change_ms", "profile_change_ms")
_REQUIRED = ("model", "onnx_sha256_16", "gpu", "tensorrt", "precision", "engine", "profile_index", "samples")


@dataclass(frozen=True, slots=True)
class RecordedEngine:
    """One engine of a flat file with its measurements."""

    engine: BuiltEngine
    measurements: tuple[Measurement, ...]


@dataclass(frozen=True, slots=True)
class FlatFile:
    """The content of a flat file."""

    model: Model
    engines: tuple[RecordedEngine, ...]


def read_flat(path: str | Path) -> FlatFile:
    """Read a flat file; TunerError for anything that is not one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = Path(path)
    if not file.is_file():
        raise TunerError(f"measurements {file}: no such file; give a recorded Parquet file or a store's URL")
    try:
        table = pq.read_table(file)
    except (pa.ArrowInvalid, OSError) as error:
        reason = str(error).splitlines()[0]
        raise TunerError(f"measurements {file}: not a readable Parquet file ({reason})") from error
    metadata = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
    _check_form(file, table.column_names, metadata)
    rows = table.to_pylist()
    if not rows:
        raise TunerError(f"measurements {file}: the file has no rows; record some with 'tuner measure'")
    hashes = {(row["model"], row["onnx_sha256_16"]) for row in rows}
    if len(hashes) > 1:
        raise TunerError(f"measurements {file}: holds several models, {sorted(hashes)}; one is accepted")
    name, content_hash = hashes.pop()
    model = model_from_metadata(name, metadata["inputs"], content_hash)
    _check_axes(file, table.column_names, model)
    try:
        return FlatFile(model, tuple(_engines(rows, model, metadata, file.name)))
    except TunerError as error:
        raise TunerError(f"measurements {file}: {error}") from error


def _check_form(file: Path, columns: Sequence[str], metadata: Mapping[str, str]) -> None:
    version = metadata.get("tuner.measurements")
    if version != FORMAT_VERSION or "inputs" not in metadata:
        seen = f"version {version}" if version else "none"
        raise TunerError(
            f"measurements {file}: no recorded measurements (metadata 'tuner.measurements': {seen}, "
            f"accepted is {FORMAT_VERSION} with 'inputs'); logs are given with --logs"
        )
    for column in _REQUIRED:
        if column not in columns:
            raise TunerError(
                f"measurements {file}: column '{column}' is missing{nearest_name(column, columns)}"
            )


def _check_axes(file: Path, columns: Sequence[str], model: Model) -> None:
    for axis in model.axes:
        for column in (axis, f"min_{axis}", f"opt_{axis}", f"max_{axis}"):
            if column not in columns:
                raise TunerError(f"measurements {file}: column '{column}' for axis {axis} is missing")


def _engines(
    rows: Sequence[Mapping[str, Any]], model: Model, metadata: Mapping[str, str], source: str
) -> Iterator[RecordedEngine]:
    by_engine: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_engine.setdefault(row["engine"], []).append(row)
    for name, own in by_engine.items():
        first = own[0]
        spec = EngineSpec(
            model_hash=first["onnx_sha256_16"],
            profiles=_profiles(own, model),
            precision=first["precision"],
            builder_options=metadata.get("builder", "unknown"),
            environment=Environment(
                gpu=first["gpu"],
                tensorrt=first["tensorrt"],
                flavour=metadata.get("flavour", "tensorrt"),
                driver=metadata.get("driver"),
                cuda=metadata.get("cuda_driver_api"),
                clock_policy=metadata.get("clocks"),
            ),
        )
        engine = BuiltEngine(
            spec=spec,
            name=name,
            build_s=first.get("build_s"),
            plan_bytes=first.get("plan_bytes"),
            device_memory_bytes=first.get("device_memory_bytes"),
            size_change_ms=first.get("size_change_ms"),
            profile_change_ms=first.get("profile_change_ms"),
            measured_on=first.get("measured_on") or metadata.get("measured_on"),
            source=source,
        )
        yield RecordedEngine(engine, tuple(m for row in own for m in _measurements(row, model)))


def _profiles(rows: Sequence[Mapping[str, Any]], model: Model) -> ProfileSet:
    by_index = {row["profile_index"]: row for row in rows}
    if sorted(by_index) != list(range(len(by_index))):
        raise TunerError(f"engine {rows[0]['engine']}: profile indices {sorted(by_index)} are not 0, 1, ...")
    return ProfileSet(
        tuple(
            OptimizationProfile(*(_size(by_index[i], model, f"{bound}_") for bound in ("min", "opt", "max")))
            for i in range(len(by_index))
        )
    )


def _size(row: Mapping[str, Any], model: Model, prefix: str = "") -> Size:
    return Size(model.axes, tuple(row[prefix + axis] for axis in model.axes))


def _measurements(row: Mapping[str, Any], model: Model) -> Iterator[Measurement]:
    for mode, prefix in _PREFIX.items():
        if row.get(f"{prefix}_p50") is None:
            continue
        times = {f"{name}_ms": row[f"{prefix}_{name}"] for name in _STATISTICS}
        yield Measurement(
            profile_index=row["profile_index"],
            size=_size(row, model),
            mode=mode,
            summary=Summary(**times, sample_count=row["samples"]),
            first_run_ms=row.get("first_run_ms"),
        )


def import_flat(store: Store, path: str | Path) -> FlatFile:
    """Put a flat file into the store; what is there already, value for value, is not stored again.

    An engine of a known spec with other values is another build of it and gets the next repeat number.
    The result holds the engines as they stand in the store, with those numbers.
    """
    flat = read_flat(path)
    known: dict[str, list[BuiltEngine]] = {}
    for engine in store.engines(flat.model.content_hash):
        known.setdefault(engine.spec.key, []).append(engine)
    stored = []
    for recorded in flat.engines:
        same_spec = known.setdefault(recorded.engine.spec.key, [])
        engine = recorded.engine
        held = next((e for e in same_spec if _holds(store, e, recorded)), None)
        if held is not None:
            engine = _with_costs(store, held, engine)
        else:
            repeat = 1 + max((e.repeat for e in same_spec), default=-1)
            engine = dataclasses.replace(engine, repeat=repeat)
            # At once, so that a run which is killed here leaves no build without its measurements.
            store.add_engine(flat.model, engine, recorded.measurements)
            same_spec.append(engine)
        stored.append(RecordedEngine(engine, recorded.measurements))
    return FlatFile(flat.model, tuple(stored))


def _with_costs(store: Store, held: BuiltEngine, told: BuiltEngine) -> BuiltEngine:
    """The engine as held, with what changes cost where only the file tells it."""
    new = {name: getattr(told, name) for name in _COSTS if getattr(held, name) is None}
    if any(cost is not None for cost in new.values()):
        costs = SwitchCosts(size_ms=new.get("size_change_ms"), profile_ms=new.get("profile_change_ms"))
        store.add_switch_costs(held.spec.key, held.repeat, costs)
    return dataclasses.replace(held, **new)


def _holds(store: Store, engine: BuiltEngine, recorded: RecordedEngine) -> bool:
    stored = {_fingerprint(m) for m in store.measurements(engine.spec.key, engine.repeat)}
    return {_fingerprint(m) for m in recorded.measurements} <= stored


def _fingerprint(measurement: Measurement) -> tuple[int, str, str, float]:
    return (
        measurement.profile_index,
        str(measurement.size),
        measurement.mode.value,
        measurement.summary.p50_ms,
    )


def write_flat(path: str | Path, model: Model, engines: Sequence[RecordedEngine]) -> None:
    """Write engines of one model and one environment in the flat form, replacing the file at once."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not engines:
        raise TunerError(f"measurements {path}: nothing to write, the store has no engine of that model")
    first = engines[0].engine.spec
    for other in engines:
        spec = other.engine.spec
        if (spec.environment, spec.builder_options) != (first.environment, first.builder_options):
            raise TunerError(
                f"measurements {path}: engines '{engines[0].engine.name}' and '{other.engine.name}' come "
                "from different environments or builder options; a flat file holds one of them"
            )
    rows = [row for recorded in engines for row in _rows(model, recorded)]
    metadata = {
        "tuner.measurements": FORMAT_VERSION,
        "inputs": inputs_as_json(model),
        "builder": first.builder_options,
        "flavour": first.environment.flavour,
        "driver": first.environment.driver,
        "cuda_driver_api": first.environment.cuda,
        "clocks": first.environment.clock_policy,
        "measured_on": max((row["measured_on"] for row in rows if row["measured_on"]), default=None),
    }
    table = pa.Table.from_pylist(rows).replace_schema_metadata({k: v for k, v in metadata.items() if v})
    table = table.drop_columns([name for name in _COSTS if all(row[name] is None for row in rows)])
    if len({row["measured_on"] for row in rows}) == 1:
        table = table.drop_columns(["measured_on"])  # the metadata says it
    folder = Path(path).resolve().parent
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".tuner-", suffix=".parquet", delete=False) as part:
        pq.write_table(table, part, compression="zstd")
    os.replace(part.name, path)


def _rows(model: Model, recorded: RecordedEngine) -> Iterator[dict[str, Any]]:
    engine = recorded.engine
    by_place: dict[tuple[int, Size], dict[Mode, Measurement]] = {}
    for measurement in recorded.measurements:
        place = (measurement.profile_index, measurement.size)
        by_place.setdefault(place, {})[measurement.mode] = measurement
    for (index, size), modes in by_place.items():
        profile = engine.spec.profiles.profiles[index]
        row: dict[str, Any] = {
            "model": model.name,
            "onnx_sha256_16": engine.spec.model_hash[:16],
            "gpu": engine.spec.environment.gpu,
            "tensorrt": engine.spec.environment.tensorrt,
            "precision": engine.spec.precision,
            "engine": engine.name,
            "profile_index": index,
            "profile_count": len(engine.spec.profiles),
        }
        for axis in model.axes:
            row |= {f"min_{axis}": profile.min[axis], f"opt_{axis}": profile.opt[axis]}
            row |= {f"max_{axis}": profile.max[axis], axis: size[axis]}
        for mode, prefix in _PREFIX.items():
            summary = modes[mode].summary if mode in modes else None
            for name in _STATISTICS:
                row[f"{prefix}_{name}"] = getattr(summary, f"{name}_ms") if summary else None
        one = next(iter(modes.values()))
        row |= {"samples": one.summary.sample_count, "first_run_ms": one.first_run_ms}
        row |= {"build_s": engine.build_s, "plan_bytes": engine.plan_bytes}
        row["device_memory_bytes"] = engine.device_memory_bytes
        row |= {name: getattr(engine, name) for name in (*_COSTS, "measured_on")}
        yield row
