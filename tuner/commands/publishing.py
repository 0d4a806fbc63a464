"""Puts a run's document in place: the model is still the one that was read, the night is in the history."""

from __future__ import annotations

import datetime
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tuner.errors import TunerError

if TYPE_CHECKING:
    from tuner.measurements.history import HistoryEntry, Spent
    from tuner.measurements.store import Store
    from tuner.model import Model
    from tuner.recommendation.recommendation import Recommendation


@dataclass(frozen=True, slots=True)
class Started:
    """A run's store as it was at the start, and when that was (monotonic seconds)."""

    store: Store
    before: Spent
    started_s: float

    @classmethod
    def now(cls, store: Store) -> Started:
        from tuner.measurements.history import mark

        return cls(store, mark(store), time.monotonic())


def publish(given: dict[str, Any], found: Recommendation, started: Started | None) -> None:
    """Write the document at once or not at all; with a store, the night goes into its history too.

    Raises TunerError where the model's file is not the one any more that was read at the start.
    """
    from tuner.measurements.history import add_entry, drop_entry
    from tuner.recommendation.document import as_document, document_text, write_document

    document = as_document(found)
    check_model_is_the_same(given["model"], found.model)
    if started is None:
        write_document(given["out"], document)
        return
    entry = _entry(found, started, document_text(document))
    number = add_entry(started.store, entry, found.traffic.histogram)
    try:
        write_document(given["out"], document)
    except BaseException:
        drop_entry(started.store, number)
        raise


def check_model_is_the_same(path: str | None, model: Model | None) -> None:
    from tuner.onnx_file import read_onnx

    if path is None or model is None:
        return
    now = read_onnx(path).content_hash
    if now != model.content_hash:
        raise TunerError(
            f"model {path}: was replaced during the run (its content was {str(model.content_hash)[:16]} "
            f"and is {str(now)[:16]}); no document was written, run again for the new one"
        )


def _entry(found: Recommendation, started: Started, text: str) -> HistoryEntry:
    from tuner.measurements.history import HistoryEntry, spent_since

    builds, gpu_s = spent_since(started.store, started.before)
    night = found.night
    gain = night.gain if night is not None else None
    best = (gain.holdout or gain.tune) if gain is not None else None
    shift = night.check.shift if night is not None and night.check is not None else None
    return HistoryEntry(
        decided_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        model_name=found.model.name if found.model else None,
        decision=found.decision,
        reason=found.reason,
        gain=best.value if best else None,
        shift=shift.value if shift else None,
        build_count=builds,
        gpu_s=gpu_s,
        wall_s=time.monotonic() - started.started_s,
        document=text,
    )
