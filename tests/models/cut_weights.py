"""Weights of which all layers but the first few were cut off: they read and answer as any do, in nobody's words.

https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, "File Structure".
"""

import struct
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from angelia.models.local.gguf import _text, _value


class _Tensor(Struct, frozen=True):
    """What the header says of one, and where its bytes begin in the part that follows."""

    name: str
    said: bytes
    at: int


def cut(whole: Path, to: Path, layers: int) -> None:
    """Write weights to `to` that have the first `layers` of `whole`."""
    with whole.open("rb") as file:
        magic, version, count, facts = struct.unpack("<4sIQQ", file.read(24))
        assert magic == b"GGUF"
        header = _facts(file, facts, layers)
        tensors = sorted((_tensor(file) for _ in range(count)), key=lambda one: one.at)
        data = file.tell() + -file.tell() % 32
        ends = [*(one.at for one in tensors[1:]), whole.stat().st_size - data]
        kept = [(one, end - one.at) for one, end in zip(tensors, ends, strict=True) if _layer(one.name) < layers]
        at, said = 0, b""
        for one, size in kept:
            said += one.said + struct.pack("<Q", at)
            at += size
        with to.open("wb") as made:
            made.write(struct.pack("<4sIQQ", magic, version, len(kept), facts) + header + said)
            made.write(bytes(-made.tell() % 32))
            for one, size in kept:
                file.seek(data + one.at)
                made.write(file.read(size))


def _facts(file: BinaryIO, count: int, layers: int) -> bytes:
    """The facts about a model as they stand there, but for the number of layers."""
    begun, there = file.tell(), 0
    for _ in range(count):
        key, kind = _text(file), struct.unpack("<I", file.read(4))[0]
        if key.endswith(".block_count"):
            there = file.tell() - begun
        _value(file, kind)
    length = file.tell() - begun
    file.seek(begun)
    facts = file.read(length)
    return facts[:there] + struct.pack("<I", layers) + facts[there + 4 :]


def _tensor(file: BinaryIO) -> _Tensor:
    begun = file.tell()
    name, (dimensions,) = _text(file), struct.unpack("<I", file.read(4))
    length = file.tell() - begun + 8 * dimensions + 4
    file.seek(begun)
    return _Tensor(name, file.read(length), struct.unpack("<Q", file.read(8))[0])


def _layer(name: str) -> int:
    """Of which layer a tensor is; what is of none is needed by all."""
    first, _, rest = name.partition(".")
    return int(rest.partition(".")[0]) if first == "blk" else -1
