"""Files that appear under their name only once they are whole, and the digests that vouch for them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any


def write_whole(path: Path, content: Any) -> tuple[str, int]:
    """Write anything with a buffer; gives its SHA-256 (hex) and its bytes."""
    view = memoryview(content)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_bytes(view)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return hashlib.sha256(view).hexdigest(), view.nbytes
