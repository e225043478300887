"""What this process keeps to itself: its memory, and the keys in the environment that it was started with.

A command that runs without confinement runs as the person, and may look at whatever processes of theirs show.
`/proc/PID/environ` shows the environment of the start, whatever is deleted since; so the process is made one of which
nobody without special rights sees memory, environment or open files (prctl(2) PR_SET_DUMPABLE, proc(5)). It leaves no
core dump either, and no debugger can be attached. Programs that we start have that no more, so keys are not handed on.
"""

import logging
import os
import re
import resource
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

import msgspec

from angelia.models.catalog.vendor import Rows
from angelia.models.catalog.vendor_table import PICTURE_VENDORS, SPEECH_VENDORS
from angelia.service.blob_places import key_names
from angelia.service.log_places import PASSWORD, VIEWER_PASSWORD
from angelia.service.settings.config import Config

_PR_SET_DUMPABLE = 4
"""prctl(2), <linux/prctl.h>."""
_MOST_DESCRIPTORS = 16_384
"""Enough for every conversation that stays open; what is started by commands inherits the limit."""
_HANDLE = r"\$\{(\w+)\}"

logger = logging.getLogger("angelia.own_process")


def hide_memory() -> None:
    """Let no other process of the same person look into this one. Where that cannot be had, the log says so."""
    if sys.platform != "linux":
        return
    import ctypes

    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
        logger.warning("This process can be looked into by commands: %s.", os.strerror(ctypes.get_errno()))


def raise_descriptor_limit() -> None:
    """Let this process open as many files as it may, up to `_MOST_DESCRIPTORS`: the usual limit is for programs that
    serve one person.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def withdraw(environ: MutableMapping[str, str], names: frozenset[str]) -> None:
    """Take these variables, and their numbered further ones (`NAME_2`), out of what programs inherit."""
    for name in tuple(environ):
        base, _, number = name.rpartition("_")
        if name in names or (number.isdecimal() and base in names):
            del environ[name]


def key_variables(vendors: Rows, settings: Config) -> frozenset[str]:
    """The variables that keys are read from: those of every vendor, of where files lie, that the settings name."""
    rows = (*vendors.values(), *SPEECH_VENDORS.values(), *PICTURE_VENDORS.values())
    known = {name for vendor in rows for name in vendor.key_env}
    return (
        frozenset(known | set(_named(msgspec.to_builtins(settings))))
        | key_names(settings.blobs)
        | {PASSWORD, VIEWER_PASSWORD}
    )


def _named(settings: Any) -> Iterator[str]:
    """Every variable that the settings take a secret from: `env = "NAME"`, `key_variable = "NAME"`, `${NAME}`."""
    match settings:
        case str():
            yield from re.findall(_HANDLE, settings)
        case list() | tuple():
            for part in settings:
                yield from _named(part)
        case Mapping():
            for name, part in settings.items():
                if name in ("env", "key_variable") and isinstance(part, str) and part:
                    yield part
                yield from _named(part)
        case _:
            return  # a number, or nothing
