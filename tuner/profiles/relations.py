"""Relations between axes: what a model's broadcasts force, as far as the traffic shows it.

A mask over `past + new` tokens has an axis of its own in some exports, yet no request breaks the sum. An
opt that is put together axis by axis has to keep such relations, or TensorRT refuses it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tuner.axes import LARGEST_DIMENSION, Size
from tuner.traffic.histogram import SizeHistogram


@dataclass(frozen=True, slots=True)
class Relation:
    """`target` is `factor` times the sum of `parts` at every size of the traffic."""

    target: str
    parts: tuple[str, ...]
    factor: int

    def __str__(self) -> str:
        total = " + ".join(self.parts)
        return f"{self.target} = {total if self.factor == 1 else f'{self.factor} * ({total})'}"


def relations_of(histogram: SizeHistogram) -> tuple[Relation, ...]:
    """The relations that hold at every size; axes that never vary and fewer than three sizes prove none."""
    if len(histogram) < 3:
        return ()
    varying = [axis for axis in histogram.axes if len(set(histogram.values(axis).tolist())) > 1]
    found: list[Relation] = []
    for target in reversed(varying):
        related = {axis for relation in found for axis in (relation.target, *relation.parts)}
        free = [axis for axis in varying if axis != target and axis not in {r.target for r in found}]
        relation = next(_holding(histogram, target, free), None)
        if relation is not None and target not in related:
            found.append(relation)
    return tuple(found)


def _holding(histogram: SizeHistogram, target: str, others: Sequence[str]) -> Iterator[Relation]:
    wanted = histogram.values(target)
    for count in range(1, len(others) + 1):
        for parts in itertools.combinations(others, count):
            total = np.sum([histogram.values(part) for part in parts], axis=0)
            factor = int(wanted[0] // max(1, int(total[0])))
            if factor >= 1 and (wanted == factor * total).all():
                yield Relation(target, parts, factor)


def kept(size: Size, relations: Sequence[Relation]) -> Size:
    """The size with the target of every relation made to fit its parts."""
    for relation in relations:
        total = relation.factor * sum(size[part] for part in relation.parts)
        size = size.replaced(relation.target, min(total, LARGEST_DIMENSION))
    return size


def corners(histogram: SizeHistogram) -> tuple[Size, Size]:
    """Least and largest value of each axis; a target reaches as far as its parts together do."""
    relations = relations_of(histogram)
    return kept(histogram.smallest, relations), kept(histogram.largest, relations)
