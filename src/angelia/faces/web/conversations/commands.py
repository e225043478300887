"""A command that is typed on the page: what it acts on there, and what it comes to."""

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.errors import BadInput
from angelia.core.ids import CommandKey, ConversationId
from angelia.core.principal import OWNER
from angelia.core.text import clean
from angelia.faces.web.conversations.entry_view import reply_nodes
from angelia.service.command_port import (
    CommandPlace,
    CommandReply,
    CommandRight,
    CommandServices,
    CommandTable,
    MessageToSend,
    OpenQuestion,
    OtherConversation,
)
from angelia.service.commands import page_command as command_in
from angelia.service.conversation.session import Session

if TYPE_CHECKING:
    from angelia.faces.web.conversations.web_conversations import WebConversations
    from angelia.service.app import App


class CommandOutcome(Struct, frozen=True):
    """What the page shows of a command, or the message that it is."""

    shown: dict[str, Any]
    message: MessageToSend | None = None


class PageCommandPort:
    """A conversation on the page, for its commands."""

    place = CommandPlace.PAGE
    person = OWNER
    arrival = e.Arrival.STEER
    keys = ()

    def __init__(self, app: "App", conversations: "WebConversations", session: Session, asked: CommandKey) -> None:
        self._app, self._conversations = app, conversations
        self.session = session
        self.asked = asked

    @property
    def services(self) -> CommandServices:
        """See the port."""
        return self._app.command_services

    def may(self, _: CommandRight) -> bool:
        """See the port: whoever is logged in is the owner."""
        return True

    async def model(self) -> str:
        """See the port."""
        return await self._conversations.model(self.session.conversation)

    def offered_models(self) -> str:
        """See the port."""
        return "/models lists others."

    async def change_model(self, spec: str) -> None:
        """See the port."""
        await self._conversations.change_model(self.session.conversation, spec)

    def questions(self) -> list[OpenQuestion]:
        """See the port."""
        return [OpenQuestion(self.session, asked) for asked in self.session.questions()]

    def may_answer(self, _: OpenQuestion) -> bool:
        """See the port."""
        return True

    async def open(self, part: str) -> Session:
        """See the port."""
        return await self._conversations.session(ConversationId(part))

    async def is_shown(self, _: OpenQuestion) -> bool:
        """See the port: the page shows the whole of each, and no button before its end was in view."""
        return True


async def page_command(
    app: "App", conversations: "WebConversations", conversation: ConversationId, text: str, key: str
) -> CommandOutcome | None:
    """Run the command that a text gives; None where it gives none. What it begins and writes down it does once for its
    `key`, however often it comes.

    Raises:
        ConfigError, SandboxError: the conversation cannot be opened for it.
    """
    try:
        command = command_in(text.strip())
        if command is None:
            return None
        session = await conversations.session(conversation)
        asked = conversations.command_key(conversation, key)
        result = await command(PageCommandPort(app, conversations, session, asked))
        if isinstance(result, CommandReply) and result.facts:
            given = e.CommandGiven(clean(text), OWNER, e.Address(asked.door, conversation), asked.key)
            await session.record(given, *result.facts)
    except BadInput as wrong:
        return CommandOutcome({"reply": reply_nodes(str(wrong)), "table": None})
    match result:
        case CommandReply(text=said):
            return CommandOutcome({"reply": reply_nodes(said), "table": None})
        case CommandTable(rows=rows, then=then):
            return CommandOutcome({"reply": reply_nodes(then), "table": [list(row) for row in rows]})
        case OtherConversation(session=other, says=says):
            if says:
                await conversations.say(other.conversation, says, "edited")
            return CommandOutcome({"conversation": other.conversation})
        case MessageToSend():
            return CommandOutcome({}, result)
