"""Opens what a run is judged by: a recorded Parquet file, or the engines in a store."""

from __future__ import annotations

from tuner.errors import TunerError
from tuner.measurements.flat_parquet import RecordedEngine, import_flat, read_flat
from tuner.measurements.recorded import RecordedSource
from tuner.measurements.store import Store, open_store, same_hash
from tuner.model import Model


def open_recorded(store: Store, measurements: str | None, model: Model | None) -> RecordedSource:
    """Recorded curves from `measurements` (a Parquet file or a store's URL), or from the store itself.

    A file is imported into the store first. Raises TunerError for a file or store of another model than
    the one given, and where there is nothing to judge by.
    """
    if measurements is None:
        return _of_store(store, model, store.shown_url)
    if "://" in measurements:
        with open_store(measurements) as other:
            return _of_store(other, model, other.shown_url)
    flat = import_flat(store, measurements)
    _check_model(model, flat.model, measurements)
    return RecordedSource(model or flat.model, flat.engines)


def read_recorded(measurements: str, model: Model | None) -> RecordedSource:
    """Recorded curves from a Parquet file alone, with nothing written anywhere."""
    flat = read_flat(measurements)
    _check_model(model, flat.model, measurements)
    return RecordedSource(model or flat.model, flat.engines)


def _of_store(store: Store, model: Model | None, shown: str) -> RecordedSource:
    known = store.models()
    if model is None:
        if len(known) != 1:
            names = ", ".join(m.name for m in known) or "none"
            raise TunerError(
                f"store {shown} holds measurements of {len(known)} models ({names}); "
                "one is needed: name it with --model FILE.onnx, or give --measurements FILE"
            )
        model = known[0]
    recorded = (
        RecordedEngine(engine, tuple(store.measurements(engine.spec.key, engine.repeat)))
        for engine in store.engines(model.content_hash)
    )
    # A run that ended between a build and its first measurement left an engine without any.
    engines = [one for one in recorded if one.measurements]
    if not engines:
        held = ", ".join(m.name for m in known) or "nothing"
        raise TunerError(
            f"store {shown} has no measurements of model {model.name} (it holds {held}); "
            "record some with 'tuner measure', or give --measurements FILE"
        )
    return RecordedSource(model, engines)


def _check_model(given: Model | None, recorded: Model, source: str) -> None:
    if given is None:
        return
    if not same_hash(given.content_hash or "", recorded.content_hash or ""):
        raise TunerError(
            f"measurements {source} are of another model: {recorded.name} with hash "
            f"{recorded.content_hash}, but {given.name} has {(given.content_hash or '')[:16]}; give the "
            "model they were taken of, or measure this one"
        )
