"""Blocks of time of the judged traffic: what a bootstrap draws, and how the latest part looks."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from tuner.replay.score import Judge
from tuner.traffic.histogram import SizeHistogram
from tuner.traffic.traffic import Traffic

FloatArray = NDArray[np.float64]
MOST_BLOCKS = 48
RECENT_SHARE = 3
"""The latest third of the tuned part is what a set that follows the traffic is tuned for."""


def blocks_of(
    traffic: Traffic, judge: Judge, judged: tuple[NDArray[np.int64], NDArray[np.bool_]], *, is_holdout: bool
) -> FloatArray | None:
    """Executions of each of the judge's sizes in each block of time, shape (blocks, distinct), in order.

    `judged` says for each row of the traffic's histogram at which size it is judged, shape (rows, axes), and
    whether it is at all. None where the traffic has no times.
    """
    buckets = traffic.buckets
    if buckets is None or traffic.holdout_by == "hash":
        return None
    starts, places = np.unique(buckets.starts_us, return_inverse=True)
    chosen = _chosen(
        traffic, np.bincount(places, weights=buckets.counts).astype(np.float64), is_holdout=is_holdout
    )
    if len(chosen) == 0:
        return None
    block_of = np.full(len(starts), -1)
    block_count = min(MOST_BLOCKS, len(chosen))
    for number, part in enumerate(np.array_split(chosen, block_count)):
        block_of[part] = number
    known = {tuple(row): place for place, row in enumerate(judge.histogram.sizes.tolist())}
    columns = np.array([known.get(tuple(row), -1) for row in judged[0].tolist()], dtype=np.int64)
    columns = np.where(judged[1], columns, -1)[buckets.size_rows]
    rows = block_of[places]
    used = (rows >= 0) & (columns >= 0)
    blocks = np.zeros((block_count, len(judge.histogram)))
    np.add.at(blocks, (rows[used], columns[used]), buckets.counts[used].astype(np.float64))
    return blocks


def _chosen(traffic: Traffic, totals: FloatArray, *, is_holdout: bool) -> NDArray[np.int64]:
    """The buckets of one part, in order of time; a bucket falls on one side as a whole."""
    last = len(totals)
    if traffic.holdout is not None:
        held = np.cumsum(totals[::-1]) <= traffic.holdout.counts.sum() * (1 + 1e-9)
        last -= int(held.sum())
    return np.arange(last, len(totals)) if is_holdout else np.arange(last)


def recent(judge: Judge, blocks: FloatArray | None) -> Judge | None:
    """The judge of the latest blocks alone, None where there are too few to tell.

    It keeps every size, those that did not occur lately with a weight next to nothing: they have to be
    served still.
    """
    if blocks is None or len(blocks) < 2 * RECENT_SHARE:
        return None
    lately = blocks[-(len(blocks) // RECENT_SHARE) :].sum(axis=0)
    if not lately.any():
        return None
    before = judge.histogram.counts.astype(np.float64)
    scaled = np.maximum(1, np.round(lately / lately.sum() * 1e9)).astype(np.int64)
    histogram = SizeHistogram(judge.histogram.axes, judge.histogram.sizes, scaled)
    return dataclasses.replace(judge, histogram=histogram, requests=judge.requests / before * scaled)
