"""One look at a page: what its documents show, each put where its frame stands."""

from collections.abc import Iterator
from typing import Any

import msgspec

from angelia.browsers.chromium.elements import js, said
from angelia.browsers.chromium.frames import Frame, Frames
from angelia.browsers.port import ActFailed, ActOutcome

_MOST_FRAMES = 30
"""Frames of other origins that one look goes into."""


async def looked(frames: Frames, *, whole: bool, under: str) -> dict[str, Any]:
    """What our script says of the page's view (all of it with `whole`), or of the element `under`.

    Raises:
        ActFailed: the page cannot be read, or asks something; or `under` is gone.
    """
    return await _document(frames, frames.of(under), _Extent(whole, under), iter(range(_MOST_FRAMES)))


class _Extent(msgspec.Struct, frozen=True):
    """How much of a document is told: `view` is the part of it that its frame shows, as our script reads it."""

    whole: bool
    under: str = ""
    view: str = "null"

    def call(self) -> str:
        return f"look({str(self.whole).lower()}, {js(self.under)}, {self.view})"


async def _document(frames: Frames, frame: Frame, extent: _Extent, left: Iterator[int]) -> dict[str, Any]:
    """What one document shows, with the frames in it as far as `left`."""
    await frames.mark_listeners(frame)
    told = await said(frames, extent.call(), extent.under, frame)
    for _ in range(3):  # shadows in shadows
        if not told.get("suspects") or not await frames.open_shadows(frame):
            break
        told = await said(frames, extent.call(), extent.under, frame)
    frame.last = max(frame.last, int(told.get("last", 0)))
    lines: list[dict[str, Any]] = []
    for line in told.get("lines", ()):
        lines.append(line)
        if "apart" in line:
            lines += await _within(frames, frame, line, extent.whole, left)
    return {**told, "lines": lines}


async def _within(
    frames: Frames, frame: Frame, line: dict[str, Any], whole: bool, left: Iterator[int]
) -> list[dict[str, Any]]:
    """What stands in a frame of another origin, of which `line` is the line."""
    inner = None if next(left, None) is None else await frames.held_by(frame, str(line["ref"]))
    if inner is None:
        line["state"].append("not shown")
        return []
    line["state"].append(f"of {frames.origin(inner) or 'nobody'}")
    view = msgspec.json.encode(line["apart"]).decode()
    try:
        told = await _document(frames, inner, _Extent(whole, view=view), left)
    except ActFailed as failed:
        if failed.outcome is ActOutcome.DIALOG_OPEN:
            raise
        line["state"].append(f"not shown: {failed.outcome}")
        return []
    more = [f"{sign} {told[way]:,} more" for sign, way in (("↑", "above"), ("↓", "below")) if told.get(way)]
    return [*told["lines"], {"text": f"(end of the frame{''.join(f', {one}' for one in more)})"}]
