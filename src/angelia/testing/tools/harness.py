"""A harness to run tools in: real files, real processes, and a blob store in memory."""

import asyncio
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
from angelia.core.timing import ScheduleWords
from angelia.policy.verdict import Effect
from angelia.sandboxes.egress.addresses import Addresses, no_addresses
from angelia.sandboxes.port import Sandbox
from angelia.tools.page_access import ProfilesAccess, SecretsAccess
from angelia.tools.port import (
    NO_HEADERS,
    ConversationContext,
    Fetched,
    JsonArguments,
    OriginHeaders,
    Schema,
    Tool,
    ToolContext,
    ToolOutcome,
    Toolset,
    Work,
)
from angelia.tools.submitted_jobs import SubmittedJob


class MemoryBlobs:
    """A blob store that forgets with the process: see `tools.port.ToolBlobs`."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    async def put(self, data: bytes, *, mime: str = "") -> BlobRef:
        """Store bytes."""
        sha256 = hashlib.sha256(data).hexdigest()
        self.kept[sha256] = data
        return BlobRef(sha256, len(data), mime or "application/octet-stream")

    async def put_stream(self, chunks: AsyncIterator[bytes], *, limit: int, mime: str = "") -> BlobRef:
        """Store what arrives."""
        data = b"".join([chunk async for chunk in chunks])
        assert len(data) <= limit
        return await self.put(data, mime=mime)

    def scratch(self) -> BinaryIO:
        """An empty file."""
        return TemporaryFile()

    async def chunks(self, sha256: str) -> AsyncIterator[bytes]:
        """The bytes, in one piece."""
        yield await self.get(sha256)

    async def has(self, ref: BlobRef) -> bool:
        """Whether they are there."""
        return ref.sha256 in self.kept

    async def get(self, sha256: str) -> bytes:
        """The bytes."""
        if sha256 not in self.kept:
            raise NotFound(f"Blob {sha256[:12]} is not stored.")
        return self.kept[sha256]


class ScheduleList:
    """Schedules that forget with the process, and never begin: see `tools.schedule.access.Scheduling`."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[str, ...]] = {}

    async def add(self, call: CallId, wanted: ScheduleWords) -> str:
        """Note it under the call's id."""
        self.rows[call] = (call, wanted.when, wanted.text, wanted.to, wanted.late, wanted.watch)
        return f"Scheduled {call}: {wanted.when}."

    async def lines(self) -> Sequence[Sequence[str]]:
        """A row for each."""
        return list(self.rows.values())

    async def remove(self, part: str) -> str:
        """Forget one."""
        if part not in self.rows:
            raise NotFound(f"There is no schedule “{part}”.")
        del self.rows[part]
        return f"Ended {part}."


class ToolHarness:
    """Runs tools as the broker does: effects first, then the call.

    `root` is the workspace of `sandbox`. `toolsets` live as long as it; their tools are also known by name.

    `seen` is what a person was shown while calls ran, `ends` what was handed in later, `told` what toolsets had told
    to model and person. `submitted` is the job that a call submitted last, from which the next one goes on. `web` has
    what `fetch` finds, `sent` the headers of each, `answer` is what the person answers, `addresses` says what programs
    on the network may connect to, `secrets` and `profiles` what may be given to pages, sites and commands.
    """

    def __init__(self, root: Path, sandbox: Sandbox, toolsets: Sequence[Toolset] = ()) -> None:
        self.root = root
        self.sandbox: Sandbox = sandbox
        self.toolsets = toolsets
        self.told: list[str] = []
        self.blobs = MemoryBlobs()
        self.entries: list[Entry] = []
        self.seen: list[str | Media] = []
        self.ends: list[ToolOutcome] = []
        self._ended = asyncio.Event()
        self.web: dict[str, Fetched] = {}
        self.sent: list[OriginHeaders] = []
        self.answer = ""
        self.submitted = SubmittedJob()
        self.addresses: Addresses = no_addresses
        self.schedules = ScheduleList()
        self.secrets: SecretsAccess | None = None
        self.profiles: ProfilesAccess | None = None
        self._calls = 0

    def tool(self, named: Tool | str) -> Tool:
        """A tool, or the one of this name among those of the toolsets."""
        if not isinstance(named, str):
            return named
        return {tool.name: tool for toolset in self.toolsets for tool in toolset.tools()}[named]

    def conversation(self) -> ConversationContext:
        """What a toolset is opened with."""
        ours = ConversationId("a")
        shown = self.seen.append
        return ConversationContext(
            *(ours, lambda: self.sandbox, self.addresses, self.told.append, shown),
            secrets=self.secrets,
            profiles=self.profiles,
        )

    async def open(self) -> None:
        """Open the toolsets, and begin a turn."""
        for toolset in self.toolsets:
            await toolset.open(self.conversation())
            await toolset.ready()

    async def close(self) -> None:
        """Close the toolsets, and then the sandbox."""
        for toolset in reversed(self.toolsets):
            await toolset.close()
        await self.sandbox.close()

    def log(self, *facts: AnyFact) -> None:
        """What the log holds from now on."""
        for fact in facts:
            self.entries.append(Entry(len(self.entries) + 1, 0, fact))

    def context(self) -> ToolContext:
        """What the next call is given."""
        self._calls += 1
        return ToolContext(
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
            later=self._later,
            schedules=self.schedules,
            submit=self._submit,
            answer=self.answer,
            submitted=self.submitted,
        )

    async def _take(self, content: AsyncIterator[bytes], name: str, size: int) -> Media:
        data = b"".join([chunk async for chunk in content])
        assert len(data) == size
        try:
            return await self.to_media(data, name)
        except BadInput:
            return Media(await self.blobs.put(data), MediaKind.DOCUMENT, name)

    async def end(self) -> ToolOutcome:
        """The first that was handed in later; waits for it."""
        await self._ended.wait()
        return self.ends[0]

    async def _submit(self, job: SubmittedJob) -> None:
        self.submitted = job

    async def _later(self, work: Work, outcome: ToolOutcome) -> None:
        self.ends.append(outcome)
        self._ended.set()

    async def _fetch(self, url: str, own: OriginHeaders = NO_HEADERS) -> Fetched:
        self.sent.append(own)
        return self.web[url]

    async def to_media(self, data: bytes, name: str) -> Media:
        """A medium by its first bytes; what ends with `corrupt` cannot be opened."""
        kinds: Sequence[tuple[bytes, MediaKind]] = ((b"\x89PNG", MediaKind.IMAGE), (b"OggS", MediaKind.AUDIO))
        if data.endswith(b"corrupt"):
            raise BadInput(f"{name} cannot be opened.")
        kind = next((kind for start, kind in kinds if data.startswith(start)), MediaKind.DOCUMENT)
        return Media(await self.blobs.put(data), kind, name)

    async def effects(self, tool: Tool | str, **arguments: Any) -> Sequence[Effect]:
        """What a call would do to the world."""
        found = self.tool(tool)
        return await found.effects(_parsed(found, arguments), self.context())

    async def run(self, tool: Tool | str, **arguments: Any) -> ToolOutcome:
        """A call, judged by nobody."""
        found, context = self.tool(tool), self.context()
        parsed = _parsed(found, arguments)
        await found.effects(parsed, context)
        return await found.run(parsed, context)

    async def said(self, tool: Tool | str, status: CallStatus = CallStatus.OK, /, **arguments: Any) -> str:
        """What the model reads of a call that ends with this status."""
        outcome = await self.run(tool, **arguments)
        assert outcome.status is status, outcome
        return text_of(outcome)


def _parsed(tool: Tool, arguments: dict[str, Any]) -> Struct:
    return JsonArguments(arguments) if isinstance(tool.arguments, Schema) else tool.arguments(**arguments)


def text_of(outcome: ToolOutcome) -> str:
    """What the model reads."""
    return "\n".join(part.text for part in outcome.parts if isinstance(part, Text))
