"""Connects to a Ray cluster, and turns what Ray raises into one line."""

from __future__ import annotations

import importlib
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tuner.errors import TunerError

LOCAL = "local"
_ANSWER_S = 10.0
_DEFAULT_PORT = 6379


def load_ray() -> Any:
    """Ray's module; TunerError with the extra to install where it is missing."""
    # Ray reports how it is used to its makers unless it is told not to; a tuner of ours never does.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise TunerError(
            f"--ray needs Ray, which cannot be imported ({error}); pip install 'trt-profile-tuner[ray]'"
        ) from error


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Ray, connected to the cluster at `host:port`, to the one that `auto` finds, or to one started here.

    Raises TunerError where there is no Ray, and where no cluster answers.
    """
    ray = load_ray()
    _refuse_silent(address)
    try:
        ray.init(**_arguments(address))
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise TunerError(_unreachable(address, str(error) or type(error).__name__)) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _arguments(address: str) -> dict[str, Any]:
    told = {"address": address, "log_to_driver": False, "logging_level": "ERROR"}
    if address == LOCAL:
        # Nobody else is to reach a cluster of one machine, and it ends with the command.
        told |= {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    return told


def _refuse_silent(address: str) -> None:
    """Ask the port itself first: Ray would wait for a minute or more before it gave up."""
    if address in (LOCAL, "auto"):
        return
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():
        raise TunerError(
            f"--ray '{address}' cannot be read; write the address of the head node like 10.0.0.5:"
            f"{_DEFAULT_PORT}, auto on a node of the cluster, or {LOCAL}"
        )
    try:
        socket.create_connection((host, int(port)), timeout=_ANSWER_S).close()
    except (OSError, OverflowError) as error:
        raise TunerError(_unreachable(address, str(error))) from error


def _unreachable(address: str, why: str) -> str:
    reason = " ".join(why.split())[:300]
    return (
        f"--ray {address}: no Ray cluster can be joined there ({reason}); check it with `ray status`, or "
        f"pass --ray {LOCAL} for one on this machine"
    )


@contextmanager
def ray_errors(ray: Any) -> Iterator[None]:
    """What goes wrong on the cluster's side as one line; an error of ours keeps its own words."""
    try:
        yield
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, TunerError):
            raise TunerError(str(cause)) from error
        if isinstance(cause, ImportError):
            raise TunerError(f"a node of the cluster lacks a package: {cause}; install it there") from error
        raise  # a bug in a task, with the task's own traceback
    except ray.exceptions.RayError as error:
        what = " ".join(str(error).split())[:300]
        raise TunerError(f"the Ray cluster gave up: {what}; check it with `ray status`") from error
