"""Output files: replaced at once or not at all, and tried before the work and not after."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tuner.errors import TunerError


def replace_file(path: str | Path, text: str) -> None:
    """Write a file atomically, with the permissions that the user's umask gives a new file.

    Raises TunerError where the folder is missing or cannot be written.
    """
    target = Path(path)
    try:
        descriptor, part = tempfile.mkstemp(dir=target.resolve().parent, prefix=".tuner-", text=True)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(part, 0o666 & ~_umask())
            os.replace(part, target)
        except BaseException:
            os.unlink(part)
            raise
    except OSError as error:
        raise TunerError(
            f"cannot write {target}: {error.strerror}; choose a file in a writable folder with --out"
        ) from error


def replace_files(folder: str | Path, files: Mapping[str, str]) -> None:
    """Write each file, by its path in the folder, with the folders that it needs.

    Raises TunerError where one cannot be written; each file is replaced whole or not at all.
    """
    for name, text in files.items():
        target = Path(folder) / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TunerError(
                f"cannot create the folder {target.parent}: {error.strerror}; choose a writable folder"
            ) from error
        replace_file(target, text)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def check_writable(path: str | Path) -> None:
    """Raise TunerError now if the file could not be written later, after hours of measuring."""
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise TunerError(f"cannot write {path}: the folder {folder} does not exist; create it first")
    if Path(path).is_dir():
        raise TunerError(f"cannot write {path}: it is a folder; name a file with --out")
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".tuner-"):
            pass
    except OSError as error:
        raise TunerError(
            f"cannot write {path}: {error.strerror}; choose a file in a writable folder with --out"
        ) from error


def check_folder(path: str | Path) -> None:
    """Raise TunerError now if files could not be written into the folder, or it could not be created."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise TunerError(f"cannot write into {folder}: it is a file; name a folder")
    check_writable(folder / ".tuner-tried" if folder.exists() else folder)
