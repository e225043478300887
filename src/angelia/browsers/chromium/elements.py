"""What our script answers about an element, and what it means where that is gone or takes nothing."""

from typing import Any

import msgspec

from angelia.browsers.chromium.frames import Frame, Frames, gone
from angelia.browsers.port import ActFailed, ActOutcome


async def said(frames: Frames, call: str, ref: str, frame: Frame | None = None) -> dict[str, Any]:
    """What our script answers to `call`, in the document to which `ref` belongs.

    Raises:
        ActFailed: the element is gone, or takes nothing; or the document cannot be read, or asks something.
    """
    told: dict[str, Any] = await frames.evaluate(frame or frames.of(ref), f"angeliaPage.{call}")
    must_take(ref, told)
    return told


def must_take(ref: str, told: dict[str, Any]) -> None:
    """Whether the element was there and took what it was asked.

    Raises:
        ActFailed: it is gone, or takes nothing.
    """
    if told.get("gone"):
        raise gone(ref)
    if told.get("disabled"):
        raise ActFailed(ActOutcome.DISABLED, f"{ref} is disabled or read-only: it takes nothing now.")


def js(text: str) -> str:
    """As a literal of JavaScript."""
    return msgspec.json.encode(text).decode().replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
