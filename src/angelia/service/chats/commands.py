"""The verbs of every chat, in one table; each acts at once, whatever the turn is doing."""

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.asked import shown_question
from angelia.core.content import Media, Text
from angelia.core.errors import BadInput
from angelia.core.principal import OWNER
from angelia.core.text import clean, fenced, literally, one_line
from angelia.service.chats.answering import approved, arrival_of, denied
from angelia.service.chats.notices import introduction
from angelia.service.chats.sender import CommandOutcome, Sender, may_change, may_stop
from angelia.service.chats.sessions import ChatSessions
from angelia.service.conversation import undo_command
from angelia.service.conversation.session import DAY_MS, Session
from angelia.store.log.transcript import Summary
from angelia.store.tables.outbox import Receipt

Act = Callable[[ChatSessions, Sender, str], Awaitable[CommandOutcome]]

_COMMAND = re.compile(r"/([A-Za-z]+)(?:@\w+)?(?:\s+(.*))?", re.DOTALL)
NOT_THEIRS = "This conversation is everybody's here, so only the owner changes that. In private you have your own."
WAITS = "A question waits for the owner's answer; I read this after it."
_LISTED = 10
_SHORT = 8
"""Last characters of an id that people are shown."""


class ChatVerb(Struct, frozen=True):
    """One verb: what stands behind it, what it does in a few words, and the doing."""

    takes: str
    help: str
    act: Act


class GivenCommand(Struct, frozen=True):
    """A verb as somebody gave it."""

    act: Act
    rest: str


def verb_in(text: str) -> GivenCommand | None:
    """The verb that a message gives, or None for an ordinary one; a path such as `/etc/hosts` is one."""
    found = _COMMAND.fullmatch(text.strip())
    if not found:
        return None
    name, rest = found.group(1).lower(), (found.group(2) or "").strip()
    verb = VERBS.get(name)
    return GivenCommand(verb.act if verb else _unknown, rest)


def _shared(act: Act) -> Act:
    """A verb that says which conversation a chat is in, or how it works: in a group not for every guest."""

    async def allowed(chat_sessions: ChatSessions, sender: Sender, rest: str) -> CommandOutcome:
        return await act(chat_sessions, sender, rest) if may_change(sender) else CommandOutcome(NOT_THEIRS)

    return allowed


async def _unknown(_: ChatSessions, __: Sender, ___: str) -> CommandOutcome:
    return CommandOutcome("There is no such command. /help lists them; nothing was sent to the model.")


def _conversation(sender: Sender) -> Session:
    if sender.session is None:
        raise BadInput("There is no conversation here yet.", then="Write something, and there is one.")
    return sender.session


async def _new(chat_sessions: ChatSessions, sender: Sender, preset: str) -> CommandOutcome:
    if preset:
        _offered(preset, sender.line.settings.sandbox, "sandbox")
    session = chat_sessions.begin(sender.line, sender.chat_key, sender.person, preset)
    before = sender.session
    back = f" The former one: /resume {before.conversation[-_SHORT:]}" if before else ""
    goes_on = " Its running turn goes on, and answers here." if before and before.turn.opened else ""
    where = f" in {session.sandbox}" if preset else ""
    facts = tuple(introduction(sender.line, sender.chat_key, sender.person, chat_sessions.services.config.gateway))
    return CommandOutcome(f"A new conversation{where}.{back}{goes_on}", facts, session)


async def _stop(_: ChatSessions, sender: Sender, __: str) -> CommandOutcome:
    if sender.session is None or not sender.session.turn.opened:
        return CommandOutcome("Nothing is running.")
    if not may_stop(sender, sender.session):
        return CommandOutcome("The running turn is not yours to stop: the owner can, and whoever it answers.")
    return CommandOutcome("Stopping.", (e.CancelAsked(sender.person),))


async def _queue(chat_sessions: ChatSessions, sender: Sender, text: str) -> CommandOutcome:
    if not text:
        raise BadInput("What should be queued?", then="Example: /queue then run the tests")
    session = sender.session
    place = sum(1 for unread in session.turn.unread if unread.queued) + 1 if session and session.turn.opened else 0
    word = f"Queued, number {place}: it is read when this turn has ended." if place else "Nothing is running: read now."
    return CommandOutcome(word, (_said(sender, text, e.Arrival.QUEUE),))


async def _steer(_: ChatSessions, sender: Sender, text: str) -> CommandOutcome:
    if not text:
        raise BadInput("What should I mind?", then="Example: /steer use the smaller picture")
    arrival = arrival_of(sender.person, sender.session)
    word = "I read this at my next step." if arrival is e.Arrival.STEER else WAITS
    return CommandOutcome(word, (_said(sender, text, arrival),))


def _said(sender: Sender, text: str, arrival: e.Arrival) -> e.UserSaid:
    return e.UserSaid(
        (Text(clean(text)),), sender.person, sender.chat_key.address, sender.key, arrival, sender.reply_to
    )


async def _status(chat_sessions: ChatSessions, sender: Sender, __: str) -> CommandOutcome:
    session = sender.session
    if session is None:
        return CommandOutcome("There is no conversation here yet.")
    turn, questions = session.turn, session.questions()
    state = "waiting for your answer" if questions else "working" if turn.opened else "at rest"
    queued = sum(1 for unread in turn.unread if unread.queued)
    lines = [
        f"Conversation {session.conversation[-_SHORT:]}: {state}",
        f"Model: {await chat_sessions.model_of(session, sender.line)}",
        f"Sandbox: {session.sandbox}, folder {session.workspace}",
    ]
    lines += [f"Queued messages: {queued}"] if queued else []
    lines += [f"Asked: {literally(shown_question(asked).title)}" for asked in questions]
    return CommandOutcome("\n".join(lines))


async def _model(chat_sessions: ChatSessions, sender: Sender, name: str) -> CommandOutcome:
    session, presets = _conversation(sender), sender.line.settings.model
    if not name:
        now = await chat_sessions.model_of(session, sender.line)
        offered = ", ".join(presets) or "no others are offered here"
        return CommandOutcome(f"The model is {now}. To choose from: {offered}.")
    if not may_change(sender):
        return CommandOutcome(NOT_THEIRS)
    _offered(name, presets, "model")
    if session.turn.opened:
        raise BadInput("A turn is running.", then="Change the model when it has ended, or /stop it.")
    await chat_sessions.change_model(session, sender.line, name)
    return CommandOutcome(f"The model is {name} from the next message on.")


async def _sandbox(chat_sessions: ChatSessions, sender: Sender, name: str) -> CommandOutcome:
    presets = sender.line.settings.sandbox
    if name:
        return await _new(chat_sessions, sender, name)
    now = f"This conversation works in {sender.session.sandbox}. " if sender.session else ""
    offered = ", ".join(presets) or "no others are offered here"
    return CommandOutcome(f"{now}To choose from: {offered}. /sandbox NAME begins a new conversation there.")


def _offered(name: str, presets: tuple[str, ...], what: str) -> None:
    if name not in presets:
        offered = ", ".join(presets) or "none"
        raise BadInput(f"There is no {what} “{name}” for this channel.", f"To choose from: {offered}.")


async def _compact(_: ChatSessions, sender: Sender, keep: str) -> CommandOutcome:
    _conversation(sender)
    return CommandOutcome(
        "Older messages are folded before my next step.", (e.CompactionRequested(sender.person, clean(keep)),)
    )


async def _sessions(chat_sessions: ChatSessions, sender: Sender, _: str) -> CommandOutcome:
    found = await _reachable(chat_sessions, sender)
    if not found:
        return CommandOutcome("You have no conversation yet.")
    lines = [f"{one.id[-_SHORT:]}  {_day(one.last_at)}  {one.title or 'without words'}" for one in found[:_LISTED]]
    return CommandOutcome("\n".join([*lines, "/resume ID goes on with one here."]))


async def _resume(chat_sessions: ChatSessions, sender: Sender, part: str) -> CommandOutcome:
    if not part:
        raise BadInput("Which conversation?", then="/sessions lists them.")
    fitting = [one for one in await _reachable(chat_sessions, sender) if one.id.endswith(part.lower())]
    if len(fitting) != 1:
        raise BadInput(f"“{part}” fits {len(fitting)} of your conversations.", then="/sessions lists them.")
    session = await chat_sessions.session(fitting[0].id)
    facts = tuple(introduction(sender.line, sender.chat_key, sender.person, chat_sessions.services.config.gateway))
    return CommandOutcome(f"Here again: {fitting[0].title or 'without words'}", facts, session)


async def _reachable(chat_sessions: ChatSessions, sender: Sender) -> list[Summary]:
    """The caller's own conversations, the latest first; in a group only those that were held in it."""
    mine = await chat_sessions.services.transcript.conversations(sender.person, 1000)
    if sender.private:
        return mine
    here = set()
    for reached in await chat_sessions.services.doors.of_door(sender.person, sender.chat_key.address.door):
        if reached.address.chat == sender.chat_key.address.chat:
            here.add(reached.conversation)
    begun_here = f"/{sender.chat_key.address.chat}"
    return [one for one in mine if one.id in here or one.workspace.endswith(begun_here)]


async def _receipts(chat_sessions: ChatSessions, sender: Sender, _: str) -> CommandOutcome:
    session = _conversation(sender)
    receipts = await chat_sessions.services.outbox.receipts(session.owner, session.conversation)
    lines = [receipt_line(receipt) for receipt in receipts[-_LISTED:]]
    return CommandOutcome("\n".join(lines) or "Nothing was delivered yet.")


def receipt_line(receipt: Receipt) -> str:
    """One delivery in one line: what, where it stands, the network's id or the reason."""
    words = " ".join(part.text for part in receipt.parts if isinstance(part, Text))
    files = ", ".join(part.name or part.media.value for part in receipt.parts if isinstance(part, Media))
    what = files or one_line(words, 40)
    more = receipt.platform_id if receipt.status == "sent" else receipt.detail
    return f"{receipt.status}: {what}" + (f" ({more})" if more else "")


async def _undo(chat_sessions: ChatSessions, sender: Sender, word: str) -> CommandOutcome:
    session = _conversation(sender)
    if not sender.person.sees(session.owner):
        return CommandOutcome("Only the owner, or whose conversation it is, takes back changes.")
    said = await undo_command.undo_command(chat_sessions.services.undo, session, word, by=sender.person)
    return CommandOutcome(fenced(said))


async def _usage(chat_sessions: ChatSessions, sender: Sender, _: str) -> CommandOutcome:
    session, transcript = _conversation(sender), chat_sessions.services.transcript
    here = await transcript.spent(session.owner, 0, session.conversation)
    lines = [f"This conversation: {here.tokens:,} tokens, ${here.cost / 1e6:.2f}"]
    if sender.person == OWNER:
        today = await transcript.spent(sender.person, chat_sessions.services.clock() // DAY_MS * DAY_MS)
        lines.append(f"Today (UTC), everywhere: {today.tokens:,} tokens, ${today.cost / 1e6:.2f}")
    return CommandOutcome("\n".join(lines))


async def _help(_: ChatSessions, __: Sender, ___: str) -> CommandOutcome:
    return CommandOutcome(
        "\n".join(f"/{name} {verb.takes}".rstrip() + f": {verb.help}" for name, verb in VERBS.items())
    )


def _day(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M")


VERBS: dict[str, ChatVerb] = {
    "new": ChatVerb("", "begin a new conversation", _shared(_new)),
    "stop": ChatVerb("", "end the running turn", _stop),
    "queue": ChatVerb("TEXT", "a message that is read after this turn", _queue),
    "steer": ChatVerb("TEXT", "a message that is read at the next step", _steer),
    "status": ChatVerb("", "what is going on here", _status),
    "model": ChatVerb("[NAME]", "say or change the model", _model),
    "sandbox": ChatVerb("[NAME]", "say where it works, or begin elsewhere", _shared(_sandbox)),
    "compact": ChatVerb("[WHAT TO KEEP]", "fold older messages to make room", _shared(_compact)),
    "sessions": ChatVerb("", "your conversations", _sessions),
    "resume": ChatVerb("ID", "go on with another conversation here", _shared(_resume)),
    "undo": ChatVerb(undo_command.TAKES, undo_command.HELP, _undo),
    "approve": ChatVerb("[ANSWER]", "say yes to what is asked", approved),
    "deny": ChatVerb("[WHY]", "say no to what is asked", denied),
    "receipts": ChatVerb("", "what was delivered, and what became of it", _receipts),
    "usage": ChatVerb("", "tokens and money", _usage),
    "help": ChatVerb("", "this list", _help),
}
"""Every chat has all of them."""


def menu() -> dict[str, str]:
    """The verbs and what each does, for a network's own menu."""
    return {name: verb.help for name, verb in VERBS.items()}
