"""How long an Ogg recording is, and how its loudness goes: what Discord wants to know of a voice message."""

import base64
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

POINTS = 256
"""Points of a waveform, at most one per 100 ms ("Attachment Object": `waveform`)."""

_RATE = 48_000
"""Positions of Opus count samples at this rate, whatever the recording's own (RFC 7845, 4)."""


class Recording(Struct, frozen=True):
    """`seconds`, 0 where they cannot be read; `waveform` as Discord takes it: bytes from 0 to 255, in base64."""

    seconds: float
    waveform: str


def measured(path: Path, seconds: float = 0.0) -> Recording:
    """Measure a file; `seconds` is what is known of its length. Never fails on what is in it.

    Opus codes loud and lively sound into larger packets, so their sizes follow the loudness well enough for a picture.
    """
    pages = list(_pages(path.read_bytes()))
    sizes = [size for page in pages[2:] for size in page.packets]
    length = seconds or max((page.position for page in pages), default=0) / _RATE
    most = max(1, min(POINTS, int(length * 10) or POINTS))
    return Recording(round(length, 3), base64.b64encode(_levels(sizes, most)).decode())


def _levels(sizes: list[int], most: int) -> bytes:
    """The mean size of each stretch, the largest being 255; a flat line for nothing."""
    count = min(most, len(sizes))
    if not count:
        return bytes([128])
    edges = [len(sizes) * index // count for index in range(count + 1)]
    means = [sum(sizes[start:end]) / (end - start) for start, end in pairwise(edges)]
    return bytes(round(255 * mean / max(*means, 1)) for mean in means)


class _Page(Struct, frozen=True):
    position: int
    packets: list[int]


def _pages(data: bytes) -> Iterator[_Page]:
    """The pages of an Ogg stream (RFC 3533, 6): where each ends, and the sizes of the packets that end in it."""
    at, open_size = 0, 0
    while data[at : at + 4] == b"OggS" and len(data) >= at + 27:
        lacing = data[at + 27 : at + 27 + data[at + 26]]
        packets = []
        for size in lacing:
            open_size += size
            if size < 255:
                packets.append(open_size)
                open_size = 0
        position = int.from_bytes(data[at + 6 : at + 14], "little", signed=True)
        yield _Page(max(position, 0), packets)
        at += 27 + len(lacing) + sum(lacing)
