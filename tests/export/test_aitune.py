"""AITune source: inputs addressed by a parameter of forward or by a path rooted at one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.export.consumer_parsers import aitune_modules, run
from tests.export.written_documents import THREE, document_of, encoder
from tuner.errors import UsageError
from tuner.export.aitune import aitune
from tuner.export.exported import ExportOptions


def added(**names: str) -> dict[Any, Any]:
    source = aitune(document_of(encoder(), THREE), ExportOptions(names=names)).text
    first, *others = run(source, aitune_modules())["profiles"]
    assert len(others) == 2
    return dict(first.added)


def test_an_input_is_addressed_by_its_own_name() -> None:
    shapes = ((1, 16), (4, 32), (4, 64))
    assert added() == {"input_ids": shapes, "attention_mask": shapes}


def test_an_input_is_addressed_by_a_path_or_another_name() -> None:
    assert list(added(input_ids="args.0", attention_mask="mask")) == [("args", 0), "mask"]
    assert list(added(input_ids="batch.tokens.ids")) == [("batch", "tokens", "ids"), "attention_mask"]


@pytest.mark.parametrize("path", ["args.", ".0", "args..0"])
def test_a_path_with_a_hole_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match=r"cannot be read; write it like --map input_ids=args\.0"):
        added(input_ids=path)


def test_an_unknown_input_is_refused() -> None:
    with pytest.raises(UsageError, match="--map names the input 'ids'"):
        added(ids="args.0")
