"""What a command of a conversation acts on, and what it can come to."""

from collections.abc import Awaitable, Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import Content
from angelia.core.ids import Clock, CommandKey
from angelia.core.principal import Principal
from angelia.policy.situation import Mode
from angelia.service.conversation.session import Session
from angelia.service.conversation.undo_services import UndoServices
from angelia.service.models.catalog import ModelCatalog
from angelia.store.log.transcript import Summary, Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.tables.notes import Notes
from angelia.store.tables.outbox import Outbox

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from angelia.service.chats.voice_answers import VoiceAnswers
    from angelia.service.people.admission import Admission
    from angelia.service.schedule.service import ScheduleService
    from angelia.service.skills.seen import JudgedSkill
    from angelia.tools.mcp.toolset import McpTools

_CODE = 4
"""Digits of a question's digest by which people name it."""


class CommandPlace(StrEnum):
    """Where a command is typed."""

    TERMINAL = "terminal"
    EDITOR = "editor"
    CHAT = "chat"
    PAGE = "page"


class CommandRight(StrEnum):
    """Who may give a command. At a terminal, in an editor and on the page that is always the owner."""

    EVERYBODY = "everybody"
    """Whoever may speak."""
    IN_CHARGE = "in a group, an admin"
    """Alone with us everybody; in a group that shares a conversation an admin or the owner."""
    TURN = "an admin, and whoever the turn answers"
    OWN = "the owner, and whose conversation it is"
    LETS_IN = "an admin"
    """An admin or the owner."""
    OWNER = "the owner"


class CommandServices(Struct, frozen=True):
    """What commands need of an open home. `mode` says how freely a conversation works, and `set_mode` changes it."""

    transcript: Transcript
    outbox: Outbox
    blobs: BlobStore
    model_catalog: ModelCatalog
    clock: Clock
    home: Path
    mode: Callable[[Session], Mode]
    set_mode: Callable[[Session, Mode], None]
    undo: UndoServices
    notes: Notes
    admission: "Admission"
    schedules: "Callable[[], ScheduleService]"
    voice_answers: "Callable[[], VoiceAnswers]"
    skills: "Callable[[Session], Awaitable[list[JudgedSkill]]]"
    servers: "Callable[[Session], McpTools]"


class OpenQuestion(Struct, frozen=True):
    """An open question and the conversation that it belongs to."""

    session: Session
    asked: e.ApprovalAsked

    @property
    def code(self) -> str:
        """What people type to name it."""
        return self.asked.digest[:_CODE]


class CommandReply(Struct, frozen=True):
    """Words, and the facts that they report: a door stores both or neither.

    `session` is the conversation that the facts belong to, None for the one that the command was given in.
    """

    text: str
    facts: tuple[e.AnyFact, ...] = ()
    session: Session | None = None


class CommandTable(Struct, frozen=True):
    """Rows of as many cells each, and what is said below them."""

    rows: tuple[tuple[str, ...], ...]
    then: str = ""


class OtherConversation(Struct, frozen=True):
    """The door goes on with this conversation, and says so once it has. `says` is then said there by the person."""

    session: Session
    text: str
    says: tuple[Content, ...] = ()


class MessageToSend(Struct, frozen=True):
    """Something said by means of a command; `text` is what a door that does not show it otherwise says to it.
    `forwarded` is as in `Opening`.
    """

    words: str
    arrival: e.Arrival
    text: str
    forwarded: bool = False


class ShownByDoor(Struct, frozen=True):
    """The terminal did it by itself, and it can be seen there."""


CommonResult = CommandReply | CommandTable | MessageToSend
CommandResult = CommonResult | OtherConversation
TerminalResult = CommandResult | ShownByDoor


class CommandPort(Protocol):
    """What every door lends to a command: who gives it, and the conversation that it is about."""

    @property
    def place(self) -> CommandPlace:
        """Which kind of door it is."""
        ...

    @property
    def services(self) -> CommandServices:
        """Of the open home."""
        ...

    @property
    def person(self) -> Principal:
        """Who gives the command."""
        ...

    @property
    def session(self) -> Session | None:
        """The conversation; None before the first one of a chat."""
        ...

    @property
    def arrival(self) -> e.Arrival:
        """How a message of theirs comes in now, if it is not queued."""
        ...

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """Keys of this door and what they do, for `/help`."""
        ...

    def may(self, right: CommandRight) -> bool:
        """Whether they have a right."""
        ...

    async def model(self) -> str:
        """The model of the conversation; empty where none is chosen yet."""
        ...

    def offered_models(self) -> str:
        """Which models can be chosen, in a few words."""
        ...

    async def change_model(self, spec: str) -> None:
        """Use another model from the next message on.

        Raises:
            BadInput: it is not offered here, or a turn is running.
            ConfigError, KeyMissing, MissingPart: it cannot be used as configured; nothing was changed.
        """
        ...

    def questions(self) -> list[OpenQuestion]:
        """The questions that were put here and are open."""
        ...

    def may_answer(self, question: OpenQuestion) -> bool:
        """Whether its answer is theirs to give."""
        ...

    async def is_shown(self, question: OpenQuestion) -> bool:
        """Whether all of a question was shown; nobody says yes to what they have not seen."""
        ...


class OpeningPort(CommandPort, Protocol):
    """A door that can open another conversation beside the one in which a command is given."""

    @property
    def asked(self) -> CommandKey:
        """What names this command, so that it begins no second conversation when it comes again."""
        ...

    async def open(self, part: str) -> Session:
        """The one whose id ends so, open.

        Raises:
            NotFound, BadInput: there is not exactly one.
        """
        ...


class ConversationsPort(OpeningPort, Protocol):
    """A door in which one can go to another conversation."""

    @property
    def address(self) -> e.Address:
        """Where what is said here is answered."""
        ...

    @property
    def zone(self) -> "ZoneInfo | None":
        """In which zone moments are told; None for this machine's."""
        ...

    def offered_sandboxes(self) -> list[tuple[str, str]]:
        """Where the next conversation could work: names, and what each stands for."""
        ...

    async def begin(self, folder: str, sandbox: str) -> Session:
        """A new conversation, in the store from its first entry on; in the usual folder and sandbox if none is named.

        Raises:
            BadInput, ConfigError, AccessRefused: it cannot work there.
        """
        ...

    async def conversations(self) -> list[Summary]:
        """Those that can be gone to, used last first."""
        ...


class TerminalPort(ConversationsPort, Protocol):
    """The terminal, with what it alone can do."""

    async def attach(self, path: Path, *, picture: bool = False, original: bool = False) -> None:
        """Attach a file to the next message; an `original` picture keeps its size.

        Raises:
            BadInput: it cannot be attached; says why.
        """
        ...

    async def view(self, number: int) -> None:
        """Show the whole output of a call that was shown cut; 1 is the newest.

        Raises:
            BadInput: there are not so many.
        """
        ...

    async def talk(self) -> None:
        """Listen and speak from here on.

        Raises:
            AngeliaError: something that is needed for it is missing; says what.
        """
        ...

    def open_window(self) -> None:
        """Open the window of the page that is handed over once more.

        Raises:
            BadInput: no open question hands one over, or its window is there.
        """
        ...

    def copy(self, number: int) -> str:
        """Put a block of code of the replies into the clipboard, exactly; 1 is the newest. Says what was copied.

        Raises:
            BadInput: there are not so many, or this terminal has no clipboard.
        """
        ...

    def show_all(self) -> None:
        """Show the conversation from its beginning."""
        ...

    def export(self, name: str) -> Path:
        """Write the conversation as Markdown, and return where it is.

        Raises:
            BadInput: there is such a file, or it cannot be written.
        """
        ...

    def leave(self) -> None:
        """End the program."""
        ...
