"""Finds the files behind `--logs`: files, folders, globs and URLs, less what is still being written."""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import fs

from tuner.errors import TunerError

_DATA_SUFFIXES = frozenset(
    (".parquet", ".pq", ".parq", ".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".log", ".txt")
)
_COMPRESSED_SUFFIXES = frozenset((".gz", ".zst", ".zstd", ".bz2"))
_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class Source:
    """One file: where it is, how it is shown, its size, and the columns in its folder names (`batch=4`)."""

    filesystem: Any
    path: str
    name: str
    byte_count: int
    partitions: Mapping[str, str | None]

    @property
    def base_name(self) -> str:
        return posixpath.basename(self.path)


@dataclass(frozen=True, slots=True)
class Found:
    """Files in order of their names, and sentences on what was left out."""

    sources: tuple[Source, ...]
    notes: tuple[str, ...]


def find_sources(logs: Iterable[str]) -> Found:
    """Every file that the values name, each once.

    Raises TunerError for a value that names nothing, and for an address that no filesystem here serves.
    """
    notes: list[str] = []
    found: dict[str, Source] = {}
    repeated = 0
    for text in logs:
        for source in _sources_of(text, notes):
            repeated += source.name in found
            found.setdefault(source.name, source)
    if repeated:
        notes.append(f"{repeated} files were named more than once and are read once")
    return Found(tuple(found[name] for name in sorted(found)), tuple(notes))


def _sources_of(text: str, notes: list[str]) -> Iterator[Source]:
    filesystem, path, prefix = _resolve(text)
    try:
        info = filesystem.get_file_info(path)
        if info.type == fs.FileType.File:
            yield _source(filesystem, info, prefix)
        elif info.type == fs.FileType.Directory:
            yield from _in_folder(filesystem, path, prefix, notes)
        elif any(sign in path for sign in "*?["):
            yield from _matching(filesystem, path, prefix, notes)
        elif "," in text:
            for part in filter(None, (part.strip() for part in text.split(","))):
                yield from _sources_of(part, notes)
        else:
            raise TunerError(f"logs {text}: no such file, folder or address{_neighbours(text)}")
    except (OSError, pa.ArrowException) as error:
        raise TunerError(f"logs {text}: cannot be listed ({_one_line(error)})") from error


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]


def _neighbours(text: str) -> str:
    folder = Path(text).parent
    if "://" in text or not folder.is_dir():
        return ""
    from tuner.errors import nearest_name

    return nearest_name(Path(text).name, [entry.name for entry in folder.iterdir()])


def _resolve(text: str) -> tuple[Any, str, str]:
    """Filesystem, path in it, and what to put before the path to show it."""
    if "://" not in text:
        local = str(Path(text).expanduser())
        return fs.LocalFileSystem(), local, ""
    scheme = text.partition("://")[0]
    address, _, query = text.partition("?") if _is_query(text) else (text, "", "")
    try:
        filesystem, path = fs.FileSystem.from_uri(_quoted(address) + (f"?{query}" if query else ""))
    except pa.ArrowException as error:
        filesystem, path = _from_fsspec(text, error)
    except OSError as error:
        raise TunerError(f"logs {text}: cannot be opened ({_one_line(error)})") from error
    return filesystem, path, "" if scheme == "file" else f"{scheme}://"


def _is_query(text: str) -> bool:
    """Whether the `?` starts options of the address (`?region=...`) and is no wildcard."""
    return "=" in text.partition("?")[2]


def _quoted(address: str) -> str:
    return address.replace(" ", "%20").replace("[", "%5B").replace("]", "%5D")


def _from_fsspec(text: str, error: Exception) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        raise TunerError(
            f"logs {text}: {_one_line(error)}; addresses of this kind need an extra: "
            "pip install 'trt-profile-tuner[s3]'"
        ) from error
    try:
        filesystem, path = fsspec.core.url_to_fs(text)
    except (ImportError, ValueError, OSError) as reason:
        raise TunerError(f"logs {text}: no filesystem for this address ({_one_line(reason)})") from reason
    return fs.PyFileSystem(fs.FSSpecHandler(filesystem)), str(path)


def _source(filesystem: Any, info: Any, prefix: str) -> Source:
    return Source(filesystem, info.path, prefix + info.path, int(info.size or 0), _partitions(info.path))


def _partitions(path: str) -> dict[str, str | None]:
    columns: dict[str, str | None] = {}
    for part in posixpath.dirname(path.replace("\\", "/")).split("/"):
        name, equals, value = part.partition("=")
        if equals and name:
            columns[unquote(name)] = None if value == _NULL_PARTITION else unquote(value)
    return columns


def _in_folder(filesystem: Any, folder: str, prefix: str, notes: list[str]) -> Iterator[Source]:
    infos = filesystem.get_file_info(fs.FileSelector(folder, recursive=True))
    files = [info for info in infos if info.type == fs.FileType.File]
    yield from _finished(filesystem, folder, prefix, files, notes)


def _matching(filesystem: Any, pattern: str, prefix: str, notes: list[str]) -> Iterator[Source]:
    parts = pattern.split("/")
    wild = next(i for i, part in enumerate(parts) if any(sign in part for sign in "*?["))
    folder = "/".join(parts[:wild]) or ("/" if pattern.startswith("/") else ".")
    infos = filesystem.get_file_info(fs.FileSelector(folder, allow_not_found=True, recursive=True))
    start = "" if folder == "." else folder.rstrip("/") + "/"
    chosen: list[Any] = []
    folders: list[Any] = []
    for info in infos:
        if _matches((start + _below(info.path, folder)).split("/"), parts):
            (chosen if info.type == fs.FileType.File else folders).append(info)
    if not chosen and not folders:
        raise TunerError(f"logs {prefix}{pattern}: no file matches")
    yield from _finished(filesystem, folder, prefix, chosen, notes)
    for info in folders:
        if _is_hidden(_below(info.path, folder)):
            continue
        yield from _in_folder(filesystem, info.path, prefix, notes)


def _matches(path: list[str], pattern: list[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_matches(path[i:], pattern[1:]) for i in range(len(path) + 1))
    return bool(path) and fnmatch.fnmatchcase(path[0], pattern[0]) and _matches(path[1:], pattern[1:])


def _below(path: str, folder: str) -> str:
    path = path[2:] if path.startswith("./") else path
    root = folder.rstrip("/") + "/"
    return path[len(root) :] if path.startswith(root) else path.lstrip("/") if folder == "/" else path


def _finished(
    filesystem: Any, folder: str, prefix: str, infos: list[Any], notes: list[str]
) -> Iterator[Source]:
    """The files of a folder that are complete and hold data; the others become a note."""
    left_out: dict[str, int] = {}
    for info in infos:
        why = _why_left_out(_below(info.path, folder), info.size)
        if why is None:
            yield _source(filesystem, info, prefix)
        else:
            left_out[why] = left_out.get(why, 0) + 1
    for why, count in sorted(left_out.items()):
        notes.append(f"{prefix}{folder}: left out {count} {why}")


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in path.split("/"))


def _why_left_out(path: str, byte_count: int) -> str | None:
    parts = path.split("/")
    if _is_hidden(path):
        return "hidden or unfinished files"
    if not byte_count:
        return "empty files"
    suffixes = Path(parts[-1]).suffixes
    last = suffixes[-1].lower() if suffixes else ""
    if last in _COMPRESSED_SUFFIXES or last in _DATA_SUFFIXES or not last or last[1:].isdigit():
        return None
    return f"files that are no logs by their name (*{last})"
