"""How much of a command's output Modal's SDK takes in before anybody reads it: less than it would by itself.

By itself that is 64 MiB, for a stream and for all streams of a connection together (modal 1.6,
`grpc_utils.GRPC_WINDOW_SIZE`). So one command whose output nobody reads would fill the window, and every other command
of the sandbox would wait for it. The SDK has no setting for that; a newer one that does it otherwise is left alone.
"""

from dataclasses import replace
from importlib import import_module
from typing import Any

STREAM = 1 << 20
"""Bytes of one stream; the window of the connection stays as it is, and 64 of them fit into it."""


def narrow_streams() -> None:
    """Let every connection to a sandbox that is opened from now on take in less of each stream. May be repeated."""
    connections: Any = import_module("modal.sandbox._task_command_router_client")
    wide = getattr(connections, "create_channel_config", None)
    if wide is None or wide is _narrow:
        return
    _WIDE.append(wide)
    connections.create_channel_config = _narrow


_WIDE: list[Any] = []


def _narrow(**how: Any) -> Any:
    return replace(_WIDE[0](**how), http2_stream_window_size=STREAM)
