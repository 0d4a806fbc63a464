"""The options that commands share; each has one environment variable and one key in `tuner.toml`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.errors import UsageError
from tuner.settings import LogSettings

if TYPE_CHECKING:
    from tuner.recommendation.scored import RecommendSettings


def option(flag: str, text: str, **settings: Any) -> Any:
    """An option `--some-option` with the variable `TUNER_SOME_OPTION`."""
    variable = "TUNER_" + flag.lstrip("-").upper().replace("-", "_")
    flags = (flag, *settings.pop("short", ()))
    return typer.Option(*flags, envvar=variable, help=text, show_envvar=False, **settings)


_log = partial(option, rich_help_panel="Logs")
_judging = partial(option, rich_help_panel="Judging")
_search = partial(option, rich_help_panel="Search")
_output = partial(option, rich_help_panel="Output")


Logs = Annotated[
    list[str] | None, _log("--logs", "File, folder, quoted glob or URL of logs. Repeatable.", metavar="FILE")
]
AxisMapping = Annotated[
    list[str] | None,
    _log(
        "--axis",
        "Column or JSON path of an axis: batch=batch_size; number: batch=1; scaled: seq=bytes/4. Repeatable.",
        metavar="AXIS=COLUMN",
    ),
]
ShapeMapping = Annotated[
    list[str] | None,
    _log("--shape", "Column that holds an input's whole shape. Repeatable.", metavar="INPUT=COLUMN"),
]
Count = Annotated[str | None, _log("--count", "Column of the weight of a row.", metavar="COLUMN")]
Time = Annotated[str | None, _log("--time", "Column of the time of a row.", metavar="COLUMN")]
TimeUnit = Annotated[
    str | None, _log("--time-unit", "Unit of a numeric time, instead of by its range.", metavar="s|ms|us|ns")
]
LogKind = Annotated[
    str | None,
    _log(
        "--log-kind",
        "How rows read: requests, batches, histogram, cumulative or counters.",
        metavar="KIND",
    ),
]
Since = Annotated[str | None, _log("--since", "Leave out rows before this time.", metavar="TIME")]
Until = Annotated[str | None, _log("--until", "Leave out rows from this time on.", metavar="TIME")]
Align = Annotated[
    list[str] | None, _log("--align", "Round an axis up to a multiple. Repeatable.", metavar="AXIS=N")
]
MaxRejected = Annotated[
    str, _log("--max-rejected", "Share of rows that may be rejected, like 1% or 0.01.", metavar="SHARE")
]
Strict = Annotated[bool, _log("--strict", "Any rejected row is an error.")]

Cap = Annotated[
    list[str] | None,
    _judging("--cap", "Upper limit of an axis. Repeatable.", metavar="AXIS=N"),
]
ModelFile = Annotated[str | None, _judging("--model", "The model as ONNX file.", metavar="FILE")]
Measurements = Annotated[
    str | None,
    _judging("--measurements", "Recorded measurements: a Parquet file or a store's URL.", metavar="FILE|URL"),
]
StoreUrl = Annotated[
    str,
    _judging("--store", "SQLAlchemy URL of the store.", metavar="URL"),
]
Rule = Annotated[str | None, _judging("--rule", "A profile by rule, unmeasured.", metavar="NAME")]
Objective = Annotated[str, _judging("--objective", "gpu_time, service_p50, service_p90 or service_p99.")]
Weight = Annotated[str, _judging("--weight", "What counts: requests or work.")]
ModeName = Annotated[str, _judging("--mode", "Which latency: enqueue or cuda_graph.")]
Uncovered = Annotated[str, _judging("--uncovered", "Sizes beyond the measurements: exclude or clip.")]

Profiles = Annotated[int | None, _search("--profiles", "Exactly so many profiles.", min=1)]
MaxProfiles = Annotated[int, _search("--max-profiles", "At most so many; fewer win ties.", min=1)]
Builds = Annotated[int, _search("--builds", "Most profiles to build or look up.", min=1)]
MaxHours = Annotated[float | None, _search("--max-hours", "Start no build after so many hours.", min=0.0)]
Seed = Annotated[int, _search("--seed", "Seed of the search.", min=0)]

Sweep = Annotated[
    list[str] | None,
    _judging(
        "--sweep",
        "Sizes to time: batch=1..128 doubles, batch=1..8:1 steps. Repeatable.",
        metavar="AXIS=SIZES",
    ),
]
Opt = Annotated[
    str | None,
    _judging("--opt", "Opt of the engine, like batch=8,seq=128; default the largest size.", metavar="SIZE"),
]
Contexts = Annotated[
    str | None,
    _judging(
        "--contexts", "Time the opt in so many execution contexts at once, like 1,2,4.", metavar="COUNTS"
    ),
]
CsvOut = Annotated[str | None, _output("--csv", "Where the curve goes as CSV.", metavar="FILE")]
EngineOut = Annotated[str, _output("--out", "Where the engine goes.", metavar="FILE")]
Out = Annotated[str, _output("--out", "Where the document goes.", metavar="FILE")]
Report = Annotated[
    str | None, _output("--report", "Where a page about it goes: .html or .md.", metavar="FILE")
]
Json = Annotated[bool, _output("--json", "Print JSON instead of tables.")]
Quiet = Annotated[bool, _output("--quiet", "Print nothing but errors.", short=("-q",))]
Verbose = Annotated[bool, _output("--verbose", "Say more about what is done.", short=("-v",))]

DEFAULT_MAX_REJECTED = "1%"
DEFAULT_STORE = "sqlite:///tuner.db"


def pairs(flag: str, values: Sequence[str] | None) -> dict[str, str]:
    """`name=value` texts as a mapping; a name that is given twice keeps the last value."""
    mapping = {}
    for text in values or ():
        name, equals, value = text.partition("=")
        if not (equals and name.strip() and value.strip()):
            raise UsageError(f"{flag} '{text}' cannot be read; write it like {flag} name=value")
        mapping[name.strip()] = value.strip()
    return mapping


def whole_numbers(flag: str, values: Sequence[str] | None) -> dict[str, int]:
    """`axis=N` texts as a mapping to whole numbers."""
    mapping = {}
    for axis, text in pairs(flag, values).items():
        if not (text.isascii() and text.isdigit()):
            raise UsageError(f"{flag} {axis}={text}: a whole number is accepted, like {flag} {axis}=512")
        mapping[axis] = int(text)
    return mapping


def share(flag: str, text: str) -> float:
    """`1%` or `0.01` as a share from 0 to 1."""
    number, percent, rest = text.strip().partition("%")
    try:
        value = float(number) / (100 if percent else 1)
    except ValueError:
        value = -1.0
    if rest or not 0 <= value <= 1:
        raise UsageError(f"{flag} '{text}' cannot be read; write a share like 1% or 0.01")
    return value


def log_settings(given: dict[str, Any]) -> LogSettings:
    """The log options of a command as a record; `given` holds them under their parameters' names."""
    return LogSettings(
        logs=tuple(given["logs"] or ()),
        axes=pairs("--axis", given["axis"]),
        shapes=pairs("--shape", given["shape"]),
        count=given["count"],
        time=given["time"],
        time_unit=given["time_unit"],
        log_kind=given["log_kind"],
        since=given["since"],
        until=given["until"],
        align=whole_numbers("--align", given["align"]),
        cap=whole_numbers("--cap", given["cap"]),
        max_rejected=share("--max-rejected", given["max_rejected"]),
        strict=given["strict"],
    )


def recommend_settings(given: dict[str, Any]) -> RecommendSettings:
    """The options that decide what is recommended, as a record."""
    from tuner.measurements.measurement import Mode
    from tuner.recommendation.scored import RecommendSettings
    from tuner.replay.slo import parse_slo
    from tuner.search.samplers import DEFAULT_SAMPLER
    from tuner.search.search import SearchSettings

    modes = [mode.value for mode in Mode]
    if given["mode"] not in modes:
        raise UsageError(f"--mode is '{given['mode']}'; accepted are {' and '.join(modes)}")
    count = given["profiles"]
    return RecommendSettings(
        search=SearchSettings(
            mode=Mode(given["mode"]),
            max_profiles=count or given["max_profiles"],
            builds=given["builds"],
            max_hours=given.get("max_hours"),
            seed=given["seed"],
            sampler=given.get("sampler") or DEFAULT_SAMPLER,
            waits=bool(given.get("wait")),
        ),
        profiles=count,
        objective=given["objective"],
        weight=given["weight"],
        uncovered=given["uncovered"],
        slos=tuple(parse_slo(text) for text in given.get("slo") or ()),
        pareto=bool(given.get("pareto")),
        confirm_builds=given.get("confirm") or 1,
        cap=whole_numbers("--cap", given["cap"]),
    )
