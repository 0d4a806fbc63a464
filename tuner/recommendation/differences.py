"""What changed from one document to another, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Json = Mapping[str, Any]
_FACTS = ("gpu", "driver", "cuda", "tensorrt", "flavour", "precision", "model_hash", "mode")


def differences(old: Json, new: Json) -> list[str]:
    """Sentences from the most to the least important; empty where nothing that matters differs."""
    return [
        *_decision(old, new),
        *_profiles(old["profiles"], new["profiles"]),
        *_routing(old["routing"], new["routing"]),
        *_expected(old["expected"], new["expected"]),
        *_traffic(old["traffic"], new["traffic"]),
        *_evidence(old["evidence"], new["evidence"]),
        *_caveats(old["caveats"], new["caveats"]),
    ]


def _decision(old: Json, new: Json) -> Iterator[str]:
    if (old["decision"], old["reason"]) != (new["decision"], new["reason"]):
        yield f"decision: {old['decision']} ({old['reason']}) became {new['decision']} ({new['reason']})"


def _profiles(old: list[Json], new: list[Json]) -> Iterator[str]:
    before, after = {_short(p["opt"]): p for p in old}, {_short(p["opt"]): p for p in new}
    for opt in before:
        if opt not in after:
            yield f"profile with opt {opt} is gone"
    for opt, profile in after.items():
        if opt not in before:
            yield f"profile with opt {opt} is new, for {_range(profile)}"
        elif _range(before[opt]) != _range(profile):
            yield f"profile with opt {opt} covers {_range(profile)} instead of {_range(before[opt])}"
    kept = [opt for opt in after if opt in before]
    if kept != [opt for opt in before if opt in after]:
        yield f"profiles stand in another order: {', '.join(after)}"


def _range(profile: Json) -> str:
    return f"{_short(profile['min'])} to {_short(profile['max'])}"


def _short(size: Json) -> str:
    return "x".join(str(value) for value in size.values())


def _routing(old: Json, new: Json) -> Iterator[str]:
    if old["policy"] != new["policy"]:
        yield f"routing: {old['policy']} became {new['policy']}"
    before = {_short(entry["size"]): entry["profile"] for entry in old["table"]}
    after = {_short(entry["size"]): entry["profile"] for entry in new["table"]}
    moved = [size for size in after if size in before and before[size] != after[size]]
    if moved:
        yield f"routing: {len(moved)} sizes go to another profile, like {moved[0]}"


def _expected(old: Json | None, new: Json | None) -> Iterator[str]:
    if old is None or new is None:
        if old is not new:
            yield "expected: " + ("now measured" if old is None else "not measured any more")
        return
    if (old["objective"], old["weight"]) != (new["objective"], new["weight"]):
        yield (
            f"objective: {old['objective']} by {old['weight']} became {new['objective']} by {new['weight']}, "
            "so the values do not compare"
        )
        return
    for name in ("tune", "holdout"):
        before, after = old[name], new[name]
        if before and after and before["value"] != after["value"]:
            yield f"{new['objective']} ({name}): {_from_to(before['value'], after['value'], ' ms')}"


def _from_to(before: float, after: float, unit: str = "") -> str:
    change = f" ({after / before - 1:+.1%})" if before else ""
    return f"{before:g} became {after:g}{unit}{change}"


def _traffic(old: Json, new: Json) -> Iterator[str]:
    if old["requests"] != new["requests"]:
        yield f"traffic: {_from_to(old['requests'], new['requests'])} requests"
    for axis, percentiles in new["percentiles"].items():
        before = old["percentiles"].get(axis)
        if before is None:
            yield f"traffic: there is an axis {axis} now"
            continue
        moved = [f"{p} {before[p]} to {value}" for p, value in percentiles.items() if before[p] != value]
        if moved:
            yield f"traffic: {axis} {', '.join(moved)}"
    was, now = old["uncovered"] or {}, new["uncovered"] or {}
    before, after = (side.get("requests_share", 0.0) for side in (was, now))
    if before != after:
        yield f"uncovered: {before:.2%} became {after:.2%} of the requests"


def _evidence(old: Json | str, new: Json | str) -> Iterator[str]:
    if isinstance(old, str) or isinstance(new, str):
        if old != new:
            yield "evidence: by rule" if isinstance(new, str) else "evidence: measured, not by rule any more"
        return
    for fact in _FACTS:
        if old.get(fact) != new.get(fact):
            yield f"evidence: {fact} {old.get(fact)} became {new.get(fact)}"
    if old["builds"] != new["builds"]:
        yield f"evidence: {_from_to(old['builds'], new['builds'])} builds"


def _caveats(old: list[Json], new: list[Json]) -> Iterator[str]:
    before, after = {c["kind"] for c in old}, {c["kind"] for c in new}
    if after - before:
        yield f"new caveats: {', '.join(sorted(after - before))}"
    if before - after:
        yield f"caveats that are gone: {', '.join(sorted(before - after))}"
