"""The README's table of options, made from the commands themselves: `python -m tests.readme_options`."""

from __future__ import annotations

import re
from pathlib import Path

from typer.main import get_command

from tuner.commands import app

README = Path(__file__).parents[1] / "README.md"
START, END = "<!-- options: start -->", "<!-- options: end -->"


def options_table() -> str:
    """One row an option: its flags, what it means with its default, and the commands that take it."""
    rows: dict[tuple[str, str], list[str]] = {}
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        for parameter in command.params:
            flags = [flag for flag in parameter.opts if flag.startswith("-") and flag not in ("--help", "-h")]
            if not flags:
                continue
            shown = ", ".join(f"`{flag}`" for flag in flags)
            default = parameter.default
            known = "" if default in (None, False, "") or callable(default) else f" Default `{default}`."
            rows.setdefault((shown, f"{parameter.help}{known}"), []).append(name)
    lines = ["| option | meaning | commands |", "| --- | --- | --- |"]
    for (shown, meaning), commands in sorted(rows.items()):
        text = meaning.replace("|", "\\|")
        lines.append(f"| {shown} | {text} | {', '.join(commands)} |")
    return "\n".join(lines)


def in_readme() -> str:
    """The table as it stands in the README."""
    found = re.search(f"{START}\n(.*?)\n{END}", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    return found.group(1).strip() if found else ""


def main() -> None:
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(START)
    _, after = rest.split(END)
    README.write_text(f"{before}{START}\n\n{options_table()}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
