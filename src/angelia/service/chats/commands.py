"""What a chat lends to a command, and how what it comes to reads there."""

from typing import Literal, assert_never
from zoneinfo import ZoneInfo

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.errors import BadInput
from angelia.core.ids import NO_KEY
from angelia.core.text import clean, fenced, literally
from angelia.core.visible import visible_line
from angelia.policy.roles import Right, may
from angelia.service.chats.answers import arrival_of, is_shown, may_answer, open_here
from angelia.service.chats.notices import introduction
from angelia.service.chats.sender import Sender, may_change, may_stop
from angelia.service.chats.sessions import ChatSessions
from angelia.service.command_port import (
    CommandPlace,
    CommandReply,
    CommandResult,
    CommandRight,
    CommandServices,
    CommandTable,
    MessageToSend,
    OpenQuestion,
    OtherConversation,
)
from angelia.service.conversation.session import Session
from angelia.service.people.budgets import offered
from angelia.store.log.transcript import Summary


class ChatCommandPort:
    """A chat, for one command that somebody gave there."""

    place = CommandPlace.CHAT
    asked = NO_KEY
    keys = ()

    def __init__(self, chat_sessions: ChatSessions, sender: Sender) -> None:
        self._chat_sessions = chat_sessions
        self._sender = sender
        self.person = sender.person
        self.session = sender.session
        self.address = sender.chat_key.address
        self.arrival = arrival_of(sender, sender.session)

    @property
    def services(self) -> CommandServices:
        """See the port."""
        return self._chat_sessions.services.commands

    @property
    def zone(self) -> ZoneInfo:
        """See the port: the zone in which times are meant here, by the settings."""
        return ZoneInfo(self.services.schedules().now_in().zone)

    def may(self, right: CommandRight) -> bool:
        """See the port."""
        match right:
            case CommandRight.EVERYBODY:
                return True
            case CommandRight.IN_CHARGE:
                return may_change(self._sender)
            case CommandRight.TURN:
                return may_stop(self._sender)
            case CommandRight.OWN:
                return self.session is None or self.person.sees(self.session.owner)
            case CommandRight.OWNER:
                return may(self._sender.role, Right.OWN)
            case CommandRight.LETS_IN:
                return may(self._sender.role, Right.LET_IN)
            case _:
                assert_never(right)

    async def model(self) -> str:
        """See the port."""
        return await self._chat_sessions.model_of(self._opened, self._sender.line)

    def offered_models(self) -> str:
        """See the port."""
        return _to_choose_from(self._presets("model"))

    async def change_model(self, spec: str) -> None:
        """See the port."""
        session = self._opened
        _must_be_offered(spec, self._presets("model"), "model")
        if session.turn.opened:
            raise BadInput("A turn is running.", then="Change the model when it has ended, or /stop it.")
        await self._chat_sessions.change_model(session, self._sender.line, spec)

    def offered_sandboxes(self) -> list[tuple[str, str]]:
        """See the port."""
        presets = self._chat_sessions.services.config.sandbox.presets
        named = self._presets("sandbox")
        return [(name, presets[name].spec if name in presets else name) for name in named]

    def _presets(self, what: Literal["model", "sandbox"]) -> tuple[str, ...]:
        settings, config = self._sender.line.settings, self._chat_sessions.services.config
        return offered(config, self.person, settings.model if what == "model" else settings.sandbox, what)

    async def begin(self, folder: str, sandbox: str) -> Session:
        """See the port; a chat works in a folder of its own."""
        if folder:
            raise BadInput("A chat works in a folder of its own.", then="/new takes no folder here.")
        if sandbox:
            _must_be_offered(sandbox, self._presets("sandbox"), "sandbox")
        return self._chat_sessions.begin(self._sender.line, self._sender.chat_key, self.person, sandbox)

    async def conversations(self) -> list[Summary]:
        """Their own, the latest first; in a group only those that were held in it."""
        services, chat_key = self._chat_sessions.services, self._sender.chat_key
        mine = await services.transcript.conversations(self.person, 1000)
        if self._sender.private:
            return mine
        here = set()
        for reached in await services.doors.of_door(self.person, chat_key.address.door):
            if reached.address.chat == chat_key.address.chat:
                here.add(reached.conversation)
        begun_here = f"/{chat_key.address.chat}"
        return [one for one in mine if one.id in here or one.workspace.endswith(begun_here)]

    async def open(self, part: str) -> Session:
        """See the port."""
        fitting = [one for one in await self.conversations() if one.id.endswith(part.lower())]
        if len(fitting) != 1:
            raise BadInput(f"“{part}” fits {len(fitting)} of your conversations.", then="/sessions lists them.")
        return await self._chat_sessions.session(fitting[0].id)

    def questions(self) -> list[OpenQuestion]:
        """See the port."""
        return open_here(self._chat_sessions, self._sender)

    def may_answer(self, question: OpenQuestion) -> bool:
        """See the port."""
        return may_answer(self.person, question.asked)

    async def is_shown(self, question: OpenQuestion) -> bool:
        """See the port."""
        return await is_shown(question.session, question.asked)

    def reply(self, result: CommandResult) -> CommandReply:
        """What a command came to, as it is said in the chat and stored with the command."""
        match result:
            case CommandReply():
                return result
            case CommandTable():
                return CommandReply(_in_lines(result))
            case OtherConversation(session=session, text=text):
                line, settings = self._sender.line, self._chat_sessions.services.config.gateway
                facts = introduction(line, self._sender.chat_key, self.person, settings)
                return CommandReply(text, tuple(facts), session)
            case MessageToSend(words=words, arrival=arrival, text=text, forwarded=forwarded):
                sender, parts = self._sender, (Text(clean(words)),)
                said = e.UserSaid(
                    parts, self.person, sender.chat_key.address, sender.key, arrival, sender.reply_to, forwarded
                )
                return CommandReply(text, (said,))
            case _:
                assert_never(result)

    @property
    def _opened(self) -> Session:
        if self.session is None:
            raise BadInput("There is no conversation here yet.", then="Write something, and there is one.")
        return self.session


def _must_be_offered(name: str, offered: tuple[str, ...], what: str) -> None:
    if name not in offered:
        raise BadInput(f"There is no {what} “{name}” for this channel.", _to_choose_from(offered))


def _to_choose_from(offered: tuple[str, ...]) -> str:
    return f"To choose from: {', '.join(offered)}." if offered else "No others are offered here."


def _in_lines(table: CommandTable) -> str:
    """Rows as lines, since no network sets a table: two cells as a name and its value, more side by side.

    One cell each are lines that stay as they are.
    """
    lines = []
    for row in table.rows:
        cells = [visible_line(cell) for cell in row if cell]
        lines.append((": " if len(row) == 2 else "  ").join(cells))
    rows = "\n".join(lines)
    shown = fenced(rows) if table.rows and len(table.rows[0]) == 1 else literally(rows)
    return "\n".join([shown, literally(table.then)] if table.then else [shown])
