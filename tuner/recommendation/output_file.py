"""Output files: replaced at once or not at all, and tried before the work and not after."""

from __future__ import annotations

import os
import tempfile
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
