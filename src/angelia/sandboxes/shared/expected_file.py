"""What a file is to be once it is written."""

from msgspec import Struct


class ExpectedFile(Struct, frozen=True):
    """What `Sandbox.put` was asked for: bytes, their hash in hex, permission bits, and Unix seconds (None: now)."""

    size: int
    sha256: str
    mode: int
    modified: float | None
