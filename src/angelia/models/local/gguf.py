"""The header of a file of weights: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, "File Structure"."""

import struct
from pathlib import Path
from typing import BinaryIO

from angelia.core.errors import BadInput, fault_words

_LOOKED_AT = 4_000_000
"""Bytes of a header; it holds the vocabulary, but the facts about the model come before that."""
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


def context_length(path: Path) -> int:
    """How many tokens the weights were made for.

    Raises:
        BadInput: it is missing, or not a GGUF file that says so.
    """
    try:
        with path.open("rb") as file:
            return _context_length(file)
    except (struct.error, ValueError, OSError) as error:
        raise BadInput(
            f"{path} cannot be used as weights: {fault_words(error)}.", then="It should be a whole GGUF file."
        ) from error


def _context_length(file: BinaryIO) -> int:
    magic, version, _, facts = struct.unpack("<4sIQQ", file.read(24))
    if magic != b"GGUF" or version < 2:
        raise ValueError("its first bytes are not those of GGUF version 2 or 3")
    for _ in range(facts):
        key = _text(file)
        value = _value(file, _count(file, "I"))
        if key.endswith(".context_length") and isinstance(value, int):
            return value
        if file.tell() > _LOOKED_AT:
            break
    raise ValueError("its header does not say how long a context it takes")


def _value(file: BinaryIO, kind: int) -> object:
    if kind == _STRING:
        return _text(file)
    if kind == _ARRAY:
        inner, count = struct.unpack("<IQ", file.read(12))
        for _ in range(min(count, _LOOKED_AT)):
            _value(file, inner)
        return None
    if kind not in _NUMBERS:
        raise ValueError(f"its header has a value of an unknown type {kind}")
    return _number(file, _NUMBERS[kind])


def _text(file: BinaryIO) -> str:
    length = _count(file, "Q")
    if length > _LOOKED_AT:
        raise ValueError("its header is damaged")
    return file.read(length).decode("utf-8", "replace")


def _count(file: BinaryIO, form: str) -> int:
    return int.from_bytes(file.read(struct.calcsize("<" + form)), "little")


def _number(file: BinaryIO, form: str) -> object:
    return struct.unpack("<" + form, file.read(struct.calcsize("<" + form)))[0]
