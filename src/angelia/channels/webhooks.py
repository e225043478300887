"""Webhooks: channels whose network comes to us by HTTP."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from msgspec import Struct

MOST_BODY = 3_000_000
"""Bytes of one webhook: what WhatsApp's payloads "can be up to" ("Webhooks"). Others say nothing and send less:
networks bring references to files, not files."""


class WebHead(Struct, frozen=True):
    """How a request begins. Header names are lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]


class WebRequest(WebHead, frozen=True):
    """What a network's server brings to our webhook; `body` is as it came."""

    body: bytes


class WebResponse(Struct, frozen=True):
    """What it is told."""

    status: int
    body: bytes = b""
    mime: str = "text/plain"


@runtime_checkable
class HasWebhook(Protocol):
    """A channel whose network comes to us by HTTP. The gateway listens, and hands in what comes for `/hooks/<door>`."""

    async def admits(self, head: WebHead) -> int | WebResponse:
        """Judge a request before its body is read: how many bytes that may have, or how the request is refused.

        What a header alone proves is proved here; where the body is signed, the signature has to be there.
        """
        ...

    async def web(self, request: WebRequest) -> WebResponse:
        """Answer one request: its signature is checked first, and 2xx is said only for what is stored."""
        ...
