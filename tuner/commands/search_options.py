"""The options of `recommend` that say how to search, under which limits, and how much to explain."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from tuner.commands.options import option

_search = partial(option, rich_help_panel="Search")

Sampler = Annotated[
    str, _search("--sampler", "Who proposes profiles: curves, tpe or random.", metavar="NAME")
]
Slo = Annotated[
    list[str] | None,
    _search(
        "--slo",
        "A limit to keep: service_p99<=5ms, device_memory<=2GiB, build_time<=10min. Repeatable.",
        metavar="METRIC<=VALUE",
    ),
]
Pareto = Annotated[bool, _search("--pareto", "Also the front over objective, device memory and build time.")]
Explain = Annotated[
    bool, _search("--explain", "Say why: what each profile is worth, the next best set, why not others.")
]
Confirm = Annotated[
    int, _search("--confirm", "How often the chosen set is built and measured to confirm it.", min=1)
]

Wait = Annotated[bool, _search("--wait", "Wait for another run on the same study instead of ending.")]

DEFAULT_SAMPLER = "curves"
