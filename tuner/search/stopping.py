"""When a search stops: nothing left, a budget spent, or a further build not worth it by the model."""

from __future__ import annotations

from tuner.search.outlook import WORTH_BUILDING, Outlook

UNLIKELY = 0.05
"""Chance of a gain worth building for under which a further build is not made."""
PATIENCE = 2
"""Trials in a row whose outlook has to be that poor: one alone may be a model that is too sure."""
ALL_MEASURED = "all candidates measured"
BUILDS_SPENT = "budget of builds spent"


def is_out_of_time(elapsed_s: float, max_hours: float | None) -> bool:
    return max_hours is not None and elapsed_s > max_hours * 3600


def no_gain_likely(outlook: Outlook) -> str:
    """Why the model ends the search, in words."""
    return (
        f"a further build gains more than {100 * WORTH_BUILDING:g} % with a chance of {outlook.chance:.0%}, "
        f"which is under {UNLIKELY:.0%}"
    )
