"""The command `tuner`: one file a verb, one place where errors become an exit code.

Heavy libraries (pandas, pyarrow, optuna, tensorrt) are imported inside the commands that need them, so
that `tuner --help` is instant.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

import tuner
from tuner.commands.build import build
from tuner.commands.check import check
from tuner.commands.config import PASS_ON, config
from tuner.commands.diff import diff
from tuner.commands.doctor import doctor
from tuner.commands.export import export
from tuner.commands.fleet import fleet
from tuner.commands.history import history
from tuner.commands.init import init
from tuner.commands.inspect import inspect
from tuner.commands.measure import measure
from tuner.commands.recommend import recommend
from tuner.commands.replay import replay
from tuner.commands.report import report
from tuner.commands.schema import schema
from tuner.commands.settings_file import settings_of
from tuner.commands.stopping import Stopped, listen, stop_listening
from tuner.errors import TunerError

app = typer.Typer(
    name="tuner",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Tunes TensorRT optimization profiles to production traffic.",
    epilog="Example: tuner recommend --logs prod.parquet --measurements h200.parquet",
)
COMMANDS: dict[str, Callable[..., None]] = {
    "init": init,
    "config": config,
    "inspect": inspect,
    "recommend": recommend,
    "fleet": fleet,
    "check": check,
    "replay": replay,
    "history": history,
    "diff": diff,
    "report": report,
    "measure": measure,
    "build": build,
    "export": export,
    "schema": schema,
    "doctor": doctor,
}
"""Every verb and its function, in the order of the help."""
for name, command in COMMANDS.items():
    app.command(name, context_settings=PASS_ON if command is config else None)(command)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"tuner {tuner.__version__}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version),
]


@app.callback()
def _root(context: typer.Context, version: Version = False) -> None:
    context.default_map = settings_of(COMMANDS)


def main() -> None:
    """Run the command line; a TunerError becomes one line on stderr and its exit code."""
    listen()
    try:
        app()
    except TunerError as error:
        print(f"tuner: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except Stopped as stopped:
        print(f"tuner: {stopped}", file=sys.stderr)
        sys.exit(stopped.code)
    finally:
        stop_listening()
