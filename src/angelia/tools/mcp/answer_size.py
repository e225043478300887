"""How much a server may say at once: one bound, whichever transport it speaks over."""

import httpx2

from angelia.sandboxes.by_commands.sidecar import MOST_LINE

MOST_ANSWER = MOST_LINE
"""Bytes of one answer or message, decoded."""


async def read_whole(response: httpx2.Response) -> bytes | None:
    """The body of a response, which is closed then; None if it is larger than an answer may be, of which no more is
    read.

    What httpx2 raises says that it broke off, or is not encoded as it says.
    """
    parts, size = list[bytes](), 0
    try:
        async for part in response.aiter_bytes():
            size += len(part)
            if size > MOST_ANSWER:
                return None
            parts.append(part)
    finally:
        await response.aclose()
    return b"".join(parts)
