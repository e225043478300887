"""What an editor's session lends to a command, and how what it comes to reads there."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from angelia.core import entry as e
from angelia.core.principal import OWNER
from angelia.core.text import fenced
from angelia.faces.acp import outgoing as o
from angelia.faces.words.widths import table
from angelia.service.command_port import (
    CommandPlace,
    CommandRight,
    CommandServices,
    CommandTable,
    OpenQuestion,
)
from angelia.service.commands import shown_at

if TYPE_CHECKING:
    from angelia.faces.acp.session_settings import SessionSettings
    from angelia.service.app import App
    from angelia.service.conversation.session import Session


class CommandedConversation(Protocol):
    """What commands need of the conversation in which they are given."""

    app: "App"
    session: "Session"
    choosing: "SessionSettings"

    def say_aloud(self, notes: Iterable[str]) -> None:
        """Tell the person."""
        ...

    async def drive(self) -> None:
        """Let the model drive it from now on."""
        ...


class EditorCommandPort:
    """A session of an editor, for its commands."""

    place = CommandPlace.EDITOR
    person = OWNER
    arrival = e.Arrival.STEER
    keys = ()

    def __init__(self, conversation: CommandedConversation) -> None:
        self._conversation = conversation

    @property
    def services(self) -> CommandServices:
        """See the port."""
        return self._conversation.app.command_services

    @property
    def session(self) -> "Session":
        """See the port."""
        return self._conversation.session

    def may(self, _: CommandRight) -> bool:
        """See the port: whoever has the editor open is the owner."""
        return True

    async def model(self) -> str:
        """See the port."""
        return self._conversation.choosing.spec

    def offered_models(self) -> str:
        """See the port."""
        return "/models lists others."

    async def change_model(self, spec: str) -> None:
        """See the port; a running turn goes on as it began, which the person is told."""
        conversation = self._conversation
        conversation.say_aloud(await conversation.choosing.choose("model", spec, conversation.drive))

    def questions(self) -> list[OpenQuestion]:
        """See the port."""
        return [OpenQuestion(self.session, asked) for asked in self.session.questions()]

    def may_answer(self, _: OpenQuestion) -> bool:
        """See the port."""
        return True

    async def is_shown(self, _: OpenQuestion) -> bool:
        """See the port: an editor is asked about each as it comes up."""
        return True


def offered_commands() -> tuple[o.AcpCommand, ...]:
    """The commands as the client offers them."""
    return tuple(
        o.AcpCommand(command.name, command.help, o.CommandInput(command.takes) if command.takes else None)
        for command in shown_at(CommandPlace.EDITOR)
    )


def in_markdown(listed: CommandTable) -> str:
    """Rows below each other, letter by letter, and what is said below them."""
    parts = [fenced("\n".join(table(listed.rows)))] if listed.rows else []
    return "\n\n".join([*parts, *([listed.then] if listed.then else [])])
