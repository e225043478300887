"""The port of tools: a name, a schema, what a call would do, and the doing."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, BinaryIO, Protocol, runtime_checkable

from msgspec import Raw, Struct

from angelia.core.content import BlobRef, CallStatus, Content, Media
from angelia.core.entry import (
    NO_PAYMENT,
    Address,
    Child,
    Diff,
    Entry,
    Payment,
    UsedSkill,
    WorkKind,
)
from angelia.core.ids import CallId, ConversationId
from angelia.policy.verdict import Effect
from angelia.sandboxes.egress.addresses import Addresses
from angelia.sandboxes.port import Sandbox
from angelia.tools.asking import AskMeanwhile, nobody
from angelia.tools.delegation.access import ChildrenAccess
from angelia.tools.notes.access import NotesAccess
from angelia.tools.page_access import ProfilesAccess, SecretsAccess
from angelia.tools.past.access import PastAccess
from angelia.tools.schedule.access import Scheduling
from angelia.tools.submitted_jobs import SubmittedJob


class Traits(Struct, frozen=True):
    """What the engine may assume of a tool.

    `reads_only`: neighbouring calls may run side by side. `housekeeping`: a reply whose calls are all of this
    kind is not "work in progress". `replayable`: after a crash a started call may simply be run again. `costs`: it
    takes money, so none is begun once a cap on money is reached. `spare`: a model with a small window is not offered
    it, so that something is left of the window for the conversation. `handed_over`: a program outside does it,
    and brings the result.
    """

    reads_only: bool = False
    housekeeping: bool = False
    replayable: bool = False
    costs: bool = False
    spare: bool = False
    handed_over: bool = False


class Schema(Struct, frozen=True):
    """What a tool takes that brings a JSON schema of its own; its calls get the object itself, as `JsonArguments`.

    `shown` is the schema as every provider takes it. `fault` says what is wrong with an object, or nothing.
    """

    shown: Raw
    fault: Callable[[Mapping[str, Any]], str]


class JsonArguments(Struct, frozen=True):
    """The arguments of a call to a tool with a `Schema`."""

    values: Mapping[str, Any]


class Delivery(Struct, frozen=True):
    """Something a call sends out; committed together with its result."""

    address: Address
    parts: tuple[Content, ...]


class Work(Struct, frozen=True):
    """What goes on behind a result; `what` names it for people, such as its command line."""

    kind: WorkKind
    what: str


class ToolOutcome(Struct, frozen=True):
    """What a call came to. `full` holds the whole output where `parts` shows only head and tail.

    `goes_on` is what goes on after this result, None for nothing; `ToolContext.later` hands its end in. `opens` are the
    child conversations that it opens, once it is committed. `ended` is the
    call whose work has come to the end that this result tells, empty for none. `notices` are sentences that the person
    reads besides, at whichever door. `paid` is what the call cost, also where it came to nothing; `skill` is what it
    hands out, if it does.
    """

    parts: tuple[Content, ...]
    status: CallStatus = CallStatus.OK
    full: BlobRef | None = None
    diffs: tuple[Diff, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    goes_on: Work | None = None
    opens: tuple[Child, ...] = ()
    ended: CallId = CallId("")
    notices: tuple[str, ...] = ()
    paid: Payment = NO_PAYMENT
    skill: UsedSkill | None = None


class CallStopped(asyncio.CancelledError):
    """A call was cancelled, and `outcome` is what is known of what it began: its words are told behind those that it
    was stopped, with its notices, and `goes_on` is what goes on all the same.
    """

    def __init__(self, outcome: ToolOutcome) -> None:
        self.outcome = outcome
        super().__init__()


class ToolBlobs(Protocol):
    """What tools need of the blob store."""

    async def put(self, data: bytes, *, mime: str = "") -> BlobRef:
        """Store bytes, durably; MIME is sniffed when not given."""
        ...

    async def put_stream(self, chunks: AsyncIterator[bytes], *, limit: int, mime: str = "") -> BlobRef:
        """Store what arrives, durably and in constant memory; over `limit` bytes raise BadInput, and store nothing."""
        ...

    def scratch(self) -> BinaryIO:
        """An empty file without a name, on the disk where blobs lie; it is gone once it is closed."""
        ...

    async def has(self, ref: BlobRef) -> bool:
        """Whether these bytes are there, without reading them."""
        ...

    def chunks(self, sha256: str) -> AsyncIterator[bytes]:
        """The bytes piece by piece, in constant memory.

        Raises:
            NotFound: no such blob, or it has expired.
        """
        ...

    async def get(self, sha256: str) -> bytes:
        """The bytes.

        Raises:
            NotFound: no such blob, or it has expired.
        """
        ...


class Fetched(Struct, frozen=True):
    """A response to `fetch`: the final URL after redirects, status, MIME type and body."""

    url: str
    status: int
    mime: str
    body: bytes


class OriginHeaders(Struct, frozen=True):
    """Headers that one `origin` (scheme, host, port) is sent, and nobody to whom it redirects."""

    origin: str = ""
    headers: Mapping[str, str] = {}


NO_HEADERS = OriginHeaders()


class FetchPage(Protocol):
    """See `WebAccess`."""

    def __call__(self, url: str, own: OriginHeaders = NO_HEADERS) -> Awaitable[Fetched]: ...


class CallAccess(Protocol):
    """Which call this is; its id is unique in the conversation, also after a restart."""

    @property
    def call(self) -> CallId: ...


class SandboxAccess(Protocol):
    """Where commands run and files lie. `led` is where the paths of this call lead, as judged (`files.paths.led`)."""

    @property
    def sandbox(self) -> Sandbox: ...

    @property
    def led(self) -> dict[str, str]: ...


class LogAccess(Protocol):
    """The log so far."""

    @property
    def entries(self) -> Sequence[Entry]: ...


class BlobAccess(Protocol):
    """Bytes by their hash."""

    @property
    def blobs(self) -> ToolBlobs: ...


class MediaAccess(Protocol):
    """The two ways in which media come into being: stored, and measured (kind, pixels, pages).

    `to_media` takes bytes and a name, `take` a stream of a file's content with its name and size; `most_sent` is how
    many bytes of a file may be sent.
    """

    @property
    def to_media(self) -> Callable[[bytes, str], Awaitable[Media]]: ...

    @property
    def take(self) -> Callable[[AsyncIterator[bytes], str, int], Awaitable[Media]]: ...

    @property
    def most_sent(self) -> int: ...


class WebAccess(Protocol):
    """`fetch` brings what is at a URL, and obeys the egress policy."""

    @property
    def fetch(self) -> FetchPage: ...


class ProgressAccess(Protocol):
    """`progress` shows a person some text or a medium while the call runs; it is not stored in the log."""

    @property
    def progress(self) -> Callable[[str | Media], None]: ...


class PeopleAccess(Protocol):
    """Where the turn's answer goes, and what the person answered, for a tool that asked."""

    @property
    def address(self) -> Address: ...

    @property
    def answer(self) -> str: ...


class WorkAccess(Protocol):
    """`later` hands in what the work that its result left going on (`ToolOutcome.goes_on`) came to in the end.

    Whatever calls it how often, an end is told once.
    """

    @property
    def later(self) -> Callable[[Work, ToolOutcome], Awaitable[None]]: ...


class ToolContext(Struct, frozen=True):
    """What a running call may use; nothing else reaches the outside.

    Every field belongs to one of the services above. A tool names those that it needs as the type of its `context`
    (several in a protocol that inherits them, `object` for none), so that whoever tests it hands in just these.
    """

    call: CallId
    sandbox: Sandbox
    blobs: ToolBlobs
    entries: Sequence[Entry]
    address: Address
    progress: Callable[[str | Media], None]
    fetch: FetchPage
    to_media: Callable[[bytes, str], Awaitable[Media]]
    take: Callable[[AsyncIterator[bytes], str, int], Awaitable[Media]]
    most_sent: int
    later: Callable[[Work, ToolOutcome], Awaitable[None]]
    schedules: Scheduling
    submit: Callable[[SubmittedJob], Awaitable[None]]
    answer: str = ""
    submitted: SubmittedJob = SubmittedJob()
    led: dict[str, str] = {}
    ask: AskMeanwhile = nobody


class Tool(Protocol):
    """One tool."""

    name: str
    description: str
    traits: Traits

    @property
    def arguments(self) -> type[Struct] | Schema:
        """A msgspec Struct: its fields are the schema, its docstring explains them.

        A tool whose shape is only known when it runs (a server's) has a `Schema` instead.
        """
        ...

    async def effects(self, arguments: Any, context: ToolContext) -> Sequence[Effect]:
        """What this call would do to the world, judged by the policy before anything happens.

        Looking is allowed here (resolving links), changing is not.
        """
        ...

    async def run(self, arguments: Any, context: ToolContext) -> ToolOutcome:
        """Do it. A failure the model can mend is an outcome with status ERROR, written for the model.

        Raises:
            AngeliaError: becomes an ERROR result with its sentence. Anything else is a fault of ours.
        """
        ...


class ConversationContext(Struct, frozen=True):
    """What a toolset may use for as long as its conversation is open in this process.

    `sandbox` gives the one that the conversation works in now; it raises SandboxGone where none is open. `addresses`
    judges what its programs on the network may connect to (`sandboxes.egress`). `tell` has a sentence told to model and
    person, at the beginning of the next turn; `waiting` shows the person what is waited for. `notes` is None in a
    conversation without notes, `past` where nothing is stored, `children` where nothing is delegated, `secrets` and
    `profiles` in the conversation of anybody but the person who keeps them.
    """

    conversation: ConversationId
    sandbox: Callable[[], Sandbox]
    addresses: Addresses
    tell: Callable[[str], None]
    waiting: Callable[[str], None]
    notes: NotesAccess | None = None
    past: PastAccess | None = None
    children: ChildrenAccess | None = None
    secrets: SecretsAccess | None = None
    profiles: ProfilesAccess | None = None


@runtime_checkable
class EndsWork(Protocol):
    """A toolset that keeps work going behind its calls, and can end it."""

    async def end_work(self, call: CallId) -> bool:
        """End what this call began; how it ended is handed in. False where nothing of it runs here."""
        ...


class Toolset(Protocol):
    """A family of tools that share something for as long as a conversation is open.

    One object serves one conversation. `open`, then any number of turns, each begun by `ready`; then `close`. What any
    of these raises takes the family's tools away, and is told; a conversation goes on without them.
    """

    name: str

    async def open(self, conversation: ConversationContext) -> None:
        """The conversation is open. Return soon: what takes long is begun here, and waited for in `ready`."""
        ...

    async def ready(self) -> None:
        """A turn begins: wait for what it should not begin without. Cancelled when the person stops the turn."""
        ...

    def tools(self) -> Sequence[Tool]:
        """The tools that can be called in the turn that begins; before `open` those that there always are.

        The same objects for as long as they are the same.
        """
        ...

    def instructions(self) -> str:
        """What the system prompt says of them, in any case; empty for nothing. The same bytes while nothing changed."""
        ...

    async def close(self) -> None:
        """The conversation is closed here: end what was begun, and nothing that another conversation uses.

        The sandbox is still open. Also called where `open` failed.
        """
        ...
