"""From log files to traffic: opens them, counts their rows, cuts off the holdout and gives the account."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tuner.errors import TunerError, nearest_name
from tuner.logs import reasons
from tuner.logs.clean import Rules
from tuner.logs.columns import bound_axis
from tuner.logs.log_file import LogFile, TimeWindow
from tuner.logs.steady import changed_since, marks_of
from tuner.logs.times import parse_time, to_datetime
from tuner.model import Model
from tuner.settings import LogSettings
from tuner.traffic.counted import Counted, Place
from tuner.traffic.cumulative import count_once
from tuner.traffic.holdout import cut
from tuner.traffic.ingest import CountFiles, Ingest, Progress, count_files
from tuner.traffic.notes import told, told_of_graph
from tuner.traffic.open_logs import OpenFiles, OpenLogs, open_here, open_logs
from tuner.traffic.runnable import Runnable, graph_refuses
from tuner.traffic.traffic import Rejection, Traffic
from tuner.traffic.traffic_file import TrafficAccount

_BATCH_NAMES = ("batch", "batch_size", "n")


@dataclass(frozen=True, slots=True)
class MapStep:
    """Who opens the files and who counts their rows: this process, or a cluster."""

    open_files: OpenFiles
    count_files: CountFiles


HERE = MapStep(open_here, count_files)


def read_traffic(
    settings: LogSettings,
    model: Model | None,
    progress: Progress | None = None,
    map_step: MapStep = HERE,
) -> Traffic:
    """All valid requests of the logs; memory does not grow with the files.

    Rows that are no valid request are counted in `Traffic.rejections`; whether there are too many is for
    `refuse_too_many_rejections` to say. Raises TunerError where nothing usable is left, where a column cannot
    be found, and where the only file is damaged.
    """
    window = window_of(settings)
    logs = open_logs(settings, model, window, map_step.open_files)
    before = marks_of(file.source for file in logs.files)
    ingest = _ingest(logs, model, window)
    traffic = _traffic(logs, _counted(logs, ingest, progress, map_step))
    refused = (
        graph_refuses(model, traffic.histogram) if bound_axis(logs.question, logs.columns) is None else {}
    )
    if refused:
        # The rows of these sizes are found by counting again, which only logs that need it pay for.
        again = replace(ingest, runnable=Runnable(model, logs.axes, refused))
        traffic = _traffic(logs, _counted(logs, again, progress, map_step))
        traffic = replace(traffic, notes=(*traffic.notes, told_of_graph(refused, logs.axes)))
    traffic = replace(traffic, notes=(*traffic.notes, *changed_since(before)))
    return _with_accounts(traffic, logs.accounts)


def _ingest(logs: OpenLogs, model: Model | None, window: TimeWindow) -> Ingest:
    kind = logs.question.log_kind
    return Ingest(
        files=tuple(zip(logs.files, logs.columns, strict=True)),
        rules=rules_of(logs, model),
        runnable=Runnable(model, logs.axes),
        window=window,
        splits_untimed=kind in ("requests", "batches"),
        has_snapshots=kind == "counters" and not any(columns.time for columns in logs.columns),
    )


def _counted(logs: OpenLogs, ingest: Ingest, progress: Progress | None, map_step: MapStep) -> Counted:
    counted = map_step.count_files(ingest, progress)
    for error in logs.damaged:
        counted.reject_file(error)
    return counted


def _with_accounts(traffic: Traffic, accounts: Sequence[TrafficAccount]) -> Traffic:
    """The traffic of traffic files, with the rows and rejections of the logs that they were made from."""
    if not accounts:
        return traffic
    rejections = dict(traffic.rejections)
    for account in accounts:
        for reason, rejection in account.rejections.items():
            known = rejections.get(reason, Rejection(0, rejection.first_place))
            rejections[reason] = Rejection(known.count + rejection.count, known.first_place)
    spans = [account.span_us for account in accounts if account.span_us]
    more_rows = sum(a.row_count for a in accounts)
    rejected = sum(r.count for a in accounts for r in a.rejections.values())
    return replace(
        traffic,
        row_count=more_rows + traffic.rejected_count if more_rows else traffic.row_count,
        used_row_count=more_rows - rejected if more_rows else traffic.used_row_count,
        rejections=rejections,
        start=to_datetime(min(span[0] for span in spans)) if spans else traffic.start,
        end=to_datetime(max(span[1] for span in spans)) if spans else traffic.end,
    )


def refuse_too_many_rejections(traffic: Traffic, settings: LogSettings) -> None:
    """TunerError where more rows were rejected than the settings allow; to be called once they were shown."""
    rejected, rows = traffic.rejected_count, traffic.row_count
    if not rejected:
        return
    account = ", ".join(f"{reason} {rejection.count}" for reason, rejection in traffic.rejections.items())
    if settings.strict:
        raise TunerError(f"{rejected} of {rows} rows are rejected ({account}), and --strict accepts none")
    if rejected > settings.max_rejected * rows:
        raise TunerError(
            f"{rejected} of {rows} rows are rejected ({account}), {rejected / rows:.1%} where "
            f"at most {100 * settings.max_rejected:.6g}% is accepted; mend the logs or raise --max-rejected"
        )


def rules_of(logs: OpenLogs, model: Model | None) -> Rules:
    """`model` is the user's; without one, shapes that differ in rank are rows that disagree."""
    question, settings = logs.question, logs.settings
    for name, values in (("--align", settings.align), ("--cap", settings.cap)):
        for axis in values:
            if axis not in question.axes:
                raise TunerError(
                    f"{name} names the axis '{axis}'{nearest_name(axis, question.axes)}; "
                    f"the axes are {', '.join(question.axes)}"
                )
    least = {axis: 0 for axis in question.axes if _may_be_zero(axis, model)}
    wrong_rank = reasons.INPUTS_DISAGREE if model is None else reasons.MODEL_CANNOT_RUN
    bound = bound_axis(question, logs.columns)
    return Rules(question.axes, least, settings.align, bound, wrong_rank)


def _may_be_zero(axis: str, model: Model | None) -> bool:
    """An ONNX model runs empty tensors; of a model known from measurements alone nobody can say so.

    A batch of zero is no request.
    """
    return model is not None and bool(model.outputs) and axis != model.batch_axis


def window_of(settings: LogSettings) -> tuple[int | None, int | None]:
    since = parse_time(settings.since, "--since") if settings.since else None
    until = parse_time(settings.until, "--until") if settings.until else None
    if since is not None and until is not None and since >= until:
        raise TunerError(f"--since {settings.since} is not before --until {settings.until}")
    return since, until


def _traffic(logs: OpenLogs, counted: Counted) -> Traffic:
    cells = counted.tally.cells()
    if not len(cells.counts):
        raise TunerError(_nothing_usable(logs, counted))
    kind = logs.question.log_kind
    cells, more_notes = count_once(cells, logs, counted)
    requests_axis = _requests_axis(logs)
    parts = cut(cells, logs.axes, requests_axis)
    return Traffic(
        histogram=parts.histogram,
        tune=parts.tune,
        holdout=parts.holdout,
        holdout_by=parts.holdout_by,
        buckets=parts.buckets,
        start=None if counted.start_us is None else to_datetime(counted.start_us),
        end=None if counted.end_us is None else to_datetime(counted.end_us),
        log_kind=kind,
        requests_axis=requests_axis,
        row_count=counted.row_count,
        used_row_count=counted.used_row_count,
        skipped=counted.skipped,
        rejections=_rejections(counted, {file.source.name: file for file in logs.files}),
        notes=(*told(logs, counted), *more_notes),
    )


def _nothing_usable(logs: OpenLogs, counted: Counted) -> str:
    if counted.problems and counted.row_count == len(counted.problems):
        return counted.problems[0]
    if not counted.row_count:
        return f"no usable rows: {_files(logs)} no row"
    account = [f"{reason} {count}" for reason, count in counted.rejected.items()]
    account += [f"{count} {why}" for why, count in counted.skipped.items()]
    first = min(counted.first_places.values(), default=None)
    files = {file.source.name: file for file in logs.files}
    place = f", the first at {_place(first, files)}" if first else ""
    return f"no usable rows: {counted.row_count} rows read, {', '.join(account)}{place}"


def _files(logs: OpenLogs) -> str:
    first, count = logs.files[0].source.name, len(logs.files)
    return f"{first} has" if count == 1 else f"{first} and {count - 1} more files have"


def _rejections(counted: Counted, files: Mapping[str, LogFile]) -> dict[str, Rejection]:
    return {
        reason: Rejection(counted.rejected[reason], _place(counted.first_places[reason], files))
        for reason in reasons.REASONS
        if reason in counted.rejected
    }


def _place(place: Place, files: Mapping[str, LogFile]) -> str:
    name, row, detail = place
    where = name if row < 0 or name not in files else files[name].place(row)
    return f"{where} ({detail})" if detail else where


def _requests_axis(logs: OpenLogs) -> str | None:
    if logs.accounts:
        return logs.accounts[0].requests_axis
    if logs.question.log_kind != "batches":
        return None
    known = logs.model.batch_axis if logs.model is not None else None
    axis = known or next((axis for axis in logs.axes if axis in _BATCH_NAMES), None)
    if axis is None:
        raise TunerError(
            f"kind batches needs an axis that is the batch, and none of {', '.join(logs.axes)} is known "
            "as one; pass --log-kind requests, or map --axis batch=COLUMN"
        )
    return axis
