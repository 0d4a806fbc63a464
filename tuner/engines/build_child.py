"""The process of one build: `python -m tuner.engines.build_child`, a job in and a plan's facts out."""

from __future__ import annotations

from tuner.engines.builder import BuildJob
from tuner.engines.child import Answer, Send, serve
from tuner.engines.tensorrt_api import load_tensorrt
from tuner.engines.tensorrt_builder import build_here


def answer(request: Answer, send: Send) -> None:
    """Build the job in the request, or only say which version would build it."""
    if "describe" in request:
        send({"version": load_tensorrt(request["describe"]).version})
        return
    send({"built": build_here(BuildJob.from_json(request["job"])).to_json()})


if __name__ == "__main__":
    serve(answer)
