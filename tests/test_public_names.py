"""What `import tuner` offers to scripts and servers."""

from __future__ import annotations

import tuner


def test_every_public_name_exists_and_is_documented() -> None:
    assert sorted(tuner.__all__) == tuner.__all__
    public = [getattr(tuner, name) for name in tuner.__all__ if name != "__version__"]
    assert [thing for thing in public if not thing.__doc__] == []


def test_nothing_else_of_ours_is_in_reach_by_accident() -> None:
    modules = {"errors", "export", "recommendation", "axes", "formula", "model", "model_inputs", "profiles"}
    ours = {n for n, thing in vars(tuner).items() if getattr(thing, "__module__", "").startswith("tuner.")}
    assert ours - set(tuner.__all__) - modules == set()
