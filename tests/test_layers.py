"""The import table of the design: data flows one way through the rooms."""

from __future__ import annotations

import ast
from pathlib import Path

import tuner

PACKAGE = Path(tuner.__file__).parent

# Single files at the top that everybody may import.
# The package itself ("") holds the version, and is loaded with any of its modules anyway.
SHARED = {"", "errors", "axes", "formula"}
# Single files at the top that make up the row `model` or `settings` of the table.
ROOM_OF_FILE = {"onnx_file": "model", "model_inputs": "model", "graph_shapes": "model"}

MAY_IMPORT: dict[str, set[str]] = {
    "axes": set(),
    "errors": set(),
    "formula": set(),
    "model": set(),
    "settings": set(),
    "logs": {"model", "settings"},
    "traffic": {"logs", "model", "settings"},
    "profiles": {"traffic", "model"},
    "engines": {"profiles", "model"},
    "measurements": {"engines", "profiles", "traffic", "model"},
    "replay": {"traffic", "profiles", "measurements", "model"},
    "search": {"traffic", "profiles", "engines", "measurements", "replay", "model"},
    "recommendation": {
        *("traffic", "profiles", "engines", "measurements", "replay", "search", "model"),
    },
    "export": {"recommendation", "profiles", "model"},
    "report": {
        *("recommendation", "traffic", "profiles", "engines", "measurements", "replay", "search", "model"),
    },
    "cluster": {"logs", "traffic", "profiles", "engines", "measurements", "model"},
}


def room_of(module: str) -> str:
    """`tuner.replay.score` belongs to `replay`."""
    parts = module.split(".")
    name = parts[1] if len(parts) > 1 else ""
    return ROOM_OF_FILE.get(name, name)


def imports_of(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{file}: relative import"
            found.add(node.module)
    return {name for name in found if name == "tuner" or name.startswith("tuner.")}


def forbidden_imports() -> list[str]:
    problems = []
    for file in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(("tuner", *file.relative_to(PACKAGE).with_suffix("").parts))
        room = room_of(module)
        if room in ("", "__init__", "__main__", "commands"):
            continue
        allowed = MAY_IMPORT[room] | SHARED | {room}
        problems += [f"{module} imports {name}" for name in imports_of(file) if room_of(name) not in allowed]
    return problems


def test_no_room_imports_what_the_table_lacks() -> None:
    assert forbidden_imports() == []


def test_only_the_commands_import_commands() -> None:
    others = [f for f in PACKAGE.rglob("*.py") if "commands" not in f.parts and f.name != "__main__.py"]
    assert [str(f) for f in others if "tuner.commands" in imports_of(f)] == []


def test_tensorrt_and_cuda_are_imported_in_one_file_each() -> None:
    owners: dict[str, set[str]] = {}
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                owners.setdefault(name.split(".")[0], set()).add(file.name)
    assert owners.get("tensorrt", set()) | owners.get("tensorrt_rtx", set()) <= {"tensorrt_api.py"}
    assert owners.get("pycuda", set()) | owners.get("cuda", set()) <= {"tensorrt_runner.py"}


def test_modules_are_named_for_one_idea_and_stay_short() -> None:
    banned = {"util", "utils", "helpers", "common", "misc", "base", "core", "manager", "handler"}
    files = list(PACKAGE.rglob("*.py"))
    assert [f.name for f in files if f.stem in banned] == []
    assert [f"{f.name}: {n}" for f in files if (n := len(f.read_text().splitlines())) > 350] == []
