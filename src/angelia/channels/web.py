"""Webhooks: rooms to which the network comes by HTTP."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from msgspec import Struct


class WebRequest(Struct, frozen=True):
    """What a network's server brings to our webhook. Header names are lower case; `body` is as it came."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


class WebResponse(Struct, frozen=True):
    """What it is told."""

    status: int
    body: bytes = b""
    mime: str = "text/plain"


@runtime_checkable
class HasWebhook(Protocol):
    """A room to which the network comes by HTTP. The gateway listens, and hands in what comes for `/hooks/<door>`."""

    async def web(self, request: WebRequest) -> WebResponse:
        """Answer one request: its signature is checked first, and 2xx is said only for what is stored."""
        ...
