"""Known secrets never reach the store: texts and text blobs are redacted on their way in."""

from collections.abc import AsyncIterator, Callable
from typing import BinaryIO

from angelia.core.content import BlobRef
from angelia.policy.redact import Redactor
from angelia.store.media.blobs import BlobStore


class Redaction:
    """Redacts by the secrets that are known at the moment; keys are read late, so the set can grow."""

    def __init__(self, secrets: Callable[[], frozenset[str]]) -> None:
        self._secrets = secrets
        self._known: frozenset[str] = frozenset()
        self._redactor = Redactor({})

    def text(self, text: str) -> str:
        """`text` without secrets."""
        return self._current().text(text)

    def data(self, data: bytes) -> bytes:
        """`data` without secrets, if it is text; other bytes stay as they are, since a hole would break them."""
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            return data
        return self._current().data(data)

    async def stream(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """`chunks` of a text without secrets."""
        redacted = self._current().stream()
        async for chunk in chunks:
            yield redacted.feed(chunk)
        yield redacted.finish()

    def _current(self) -> Redactor:
        secrets = self._secrets()
        if secrets != self._known:
            self._known = secrets
            self._redactor = Redactor({f"key {n}": secret for n, secret in enumerate(sorted(secrets), 1)})
        return self._redactor


class RedactingBlobs:
    """The blob store as tools see it."""

    def __init__(self, blobs: BlobStore, redaction: Redaction) -> None:
        self._blobs, self._redaction = blobs, redaction

    async def put(self, data: bytes, *, mime: str = "") -> BlobRef:
        """Store bytes, without known secrets."""
        return await self._blobs.put(self._redaction.data(data), mime=mime)

    async def put_stream(self, chunks: AsyncIterator[bytes], *, limit: int, mime: str = "") -> BlobRef:
        """Store text that arrives in pieces, without known secrets, wherever it was cut."""
        return await self._blobs.put_stream(self._redaction.stream(chunks), limit=limit, mime=mime)

    def scratch(self) -> BinaryIO:
        """See `tools.port.ToolBlobs`."""
        return self._blobs.scratch()

    def chunks(self, sha256: str) -> AsyncIterator[bytes]:
        """See `tools.port.ToolBlobs`."""
        return self._blobs.chunks(sha256)

    async def has(self, ref: BlobRef) -> bool:
        """See `tools.port.ToolBlobs`."""
        return await self._blobs.has(ref)

    async def get(self, sha256: str) -> bytes:
        """The bytes; see `tools.port.ToolBlobs`."""
        return await self._blobs.get(sha256)
