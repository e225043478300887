"""A bench to run tools on: real files, real processes, and a blob store in memory."""

import hashlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from msgspec import Struct

from angelia.core.content import BlobRef, CallStatus, Media, MediaKind, Text
from angelia.core.entry import Address, AnyFact, Entry
from angelia.core.errors import BadInput, NotFound
from angelia.core.ids import CallId, ConversationId
from angelia.policy.verdict import Effect
from angelia.sandboxes.port import Sandbox
from angelia.tools.port import Fetched, JsonArguments, Schema, Tool, ToolContext, ToolOutcome, Work


class Memory:
    """A blob store that forgets with the process."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    async def put(self, data: bytes, *, mime: str = "") -> BlobRef:
        sha256 = hashlib.sha256(data).hexdigest()
        self.kept[sha256] = data
        return BlobRef(sha256, len(data), mime or "application/octet-stream")

    async def put_stream(self, chunks: AsyncIterator[bytes], *, limit: int, mime: str = "") -> BlobRef:
        data = b"".join([chunk async for chunk in chunks])
        assert len(data) <= limit
        return await self.put(data, mime=mime)

    def scratch(self) -> BinaryIO:
        return TemporaryFile()

    async def chunks(self, sha256: str) -> AsyncIterator[bytes]:
        yield await self.get(sha256)

    async def has(self, ref: BlobRef) -> bool:
        return ref.sha256 in self.kept

    async def get(self, sha256: str) -> bytes:
        if sha256 not in self.kept:
            raise NotFound(f"Blob {sha256[:12]} is not stored.")
        return self.kept[sha256]


class Bench:
    """Runs tools as the broker does: effects first, then the call; remembers what a person would have seen."""

    def __init__(self, root: Path, sandbox: Sandbox) -> None:
        self.root = root
        self.sandbox: Sandbox = sandbox
        self.blobs = Memory()
        self.entries: list[Entry] = []
        self.seen: list[str] = []
        self.state: dict[str, Any] = {}
        self.ends: list[ToolOutcome] = []
        self.web: dict[str, Fetched] = {}
        self.answer = ""
        self._calls = 0

    def log(self, *facts: AnyFact) -> None:
        for fact in facts:
            self.entries.append(Entry(len(self.entries) + 1, 0, fact))

    def context(self) -> ToolContext:
        self._calls += 1
        return ToolContext(
            conversation=ConversationId("a"),
            call=CallId(f"c{self._calls}_0"),
            sandbox=self.sandbox,
            blobs=self.blobs,
            entries=self.entries,
            address=Address("terminal"),
            progress=self.seen.append,
            fetch=self._fetch,
            to_media=self.to_media,
            take=self._take,
            most_sent=1_000_000,
            state=self.state,
            later=self._later,
            answer=self.answer,
        )

    async def _take(self, content: AsyncIterator[bytes], name: str, size: int) -> Media:
        data = b"".join([chunk async for chunk in content])
        assert len(data) == size
        try:
            return await self.to_media(data, name)
        except BadInput:
            return Media(await self.blobs.put(data), MediaKind.DOCUMENT, name)

    async def _later(self, work: Work, outcome: ToolOutcome) -> None:
        self.ends.append(outcome)

    async def _fetch(self, url: str) -> Fetched:
        return self.web[url]

    async def to_media(self, data: bytes, name: str) -> Media:
        kinds: Sequence[tuple[bytes, MediaKind]] = ((b"\x89PNG", MediaKind.IMAGE), (b"OggS", MediaKind.AUDIO))
        if data.endswith(b"corrupt"):
            raise BadInput(f"{name} cannot be opened.")
        kind = next((kind for start, kind in kinds if data.startswith(start)), MediaKind.DOCUMENT)
        return Media(await self.blobs.put(data), kind, name)

    async def effects(self, tool: Tool, **arguments: Any) -> Sequence[Effect]:
        return await tool.effects(_parsed(tool, arguments), self.context())

    async def run(self, tool: Tool, **arguments: Any) -> ToolOutcome:
        context, parsed = self.context(), _parsed(tool, arguments)
        await tool.effects(parsed, context)
        return await tool.run(parsed, context)

    async def said(self, tool: Tool, status: CallStatus = CallStatus.OK, /, **arguments: Any) -> str:
        outcome = await self.run(tool, **arguments)
        assert outcome.status is status, outcome
        return text_of(outcome)


def _parsed(tool: Tool, arguments: dict[str, Any]) -> Struct:
    return JsonArguments(arguments) if isinstance(tool.arguments, Schema) else tool.arguments(**arguments)


def text_of(outcome: ToolOutcome) -> str:
    """What the model reads."""
    return "\n".join(part.text for part in outcome.parts if isinstance(part, Text))
