"""The verbs of every chat, in one table; each acts at once, whatever the turn is doing."""

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.asked import shown_question
from angelia.core.content import Media, Text
from angelia.core.errors import BadInput
from angelia.core.text import clean, literally, one_line
from angelia.service.judging import OWNER
from angelia.service.reception.answering import approved, arrival_of, denied
from angelia.service.reception.answers import introduction
from angelia.service.reception.caller import Caller, Outcome, may_change, may_stop
from angelia.service.reception.desk import Desk
from angelia.service.sessions import DAY_MS, Session
from angelia.store.outbox import Receipt
from angelia.store.transcript import Summary

Act = Callable[[Desk, Caller, str], Awaitable[Outcome]]

_COMMAND = re.compile(r"/([A-Za-z]+)(?:@\w+)?(?:\s+(.*))?", re.DOTALL)
NOT_THEIRS = "This conversation is everybody's here, so only the owner changes that. In private you have your own."
WAITS = "A question waits for the owner's answer; I read this after it."
_LISTED = 10
_SHORT = 8
"""Last characters of an id that people are shown."""


class Verb(Struct, frozen=True):
    """One verb: what stands behind it, what it does in a few words, and the doing."""

    takes: str
    help: str
    act: Act


class Given(Struct, frozen=True):
    """A verb as somebody gave it."""

    act: Act
    rest: str


def verb_in(text: str) -> Given | None:
    """The verb that a message gives, or None for an ordinary one; a path such as `/etc/hosts` is one."""
    found = _COMMAND.fullmatch(text.strip())
    if not found:
        return None
    name, rest = found.group(1).lower(), (found.group(2) or "").strip()
    verb = VERBS.get(name)
    return Given(verb.act if verb else _unknown, rest)


def _shared(act: Act) -> Act:
    """A verb that says which conversation a chat is in, or how it works: in a group not for every guest."""

    async def allowed(desk: Desk, caller: Caller, rest: str) -> Outcome:
        return await act(desk, caller, rest) if may_change(caller) else Outcome(NOT_THEIRS)

    return allowed


async def _unknown(_: Desk, __: Caller, ___: str) -> Outcome:
    return Outcome("There is no such command. /help lists them; nothing was sent to the model.")


def _conversation(caller: Caller) -> Session:
    if caller.session is None:
        raise BadInput("There is no conversation here yet.", then="Write something, and there is one.")
    return caller.session


async def _new(desk: Desk, caller: Caller, preset: str) -> Outcome:
    if preset:
        _offered(preset, caller.line.settings.sandbox, "sandbox")
    session = desk.begin(caller.line, caller.spot, caller.person, preset)
    before = caller.session
    back = f" The former one: /resume {before.conversation[-_SHORT:]}" if before else ""
    goes_on = " Its running turn goes on, and answers here." if before and before.turn.opened else ""
    where = f" in {session.sandbox}" if preset else ""
    facts = tuple(introduction(caller.line, caller.spot, caller.person, desk.house.loaded.config.gateway))
    return Outcome(f"A new conversation{where}.{back}{goes_on}", facts, session)


async def _stop(_: Desk, caller: Caller, __: str) -> Outcome:
    if caller.session is None or not caller.session.turn.opened:
        return Outcome("Nothing is running.")
    if not may_stop(caller, caller.session):
        return Outcome("The running turn is not yours to stop: the owner can, and whoever it answers.")
    return Outcome("Stopping.", (e.CancelAsked(caller.person),))


async def _queue(desk: Desk, caller: Caller, text: str) -> Outcome:
    if not text:
        raise BadInput("What should be queued?", then="Example: /queue then run the tests")
    session = caller.session
    place = sum(1 for unread in session.turn.unread if unread.queued) + 1 if session and session.turn.opened else 0
    word = f"Queued, number {place}: it is read when this turn has ended." if place else "Nothing is running: read now."
    return Outcome(word, (_said(caller, text, e.Arrival.QUEUE),))


async def _steer(_: Desk, caller: Caller, text: str) -> Outcome:
    if not text:
        raise BadInput("What should I mind?", then="Example: /steer use the smaller picture")
    arrival = arrival_of(caller.person, caller.session)
    word = "I read this at my next step." if arrival is e.Arrival.STEER else WAITS
    return Outcome(word, (_said(caller, text, arrival),))


def _said(caller: Caller, text: str, arrival: e.Arrival) -> e.UserSaid:
    return e.UserSaid((Text(clean(text)),), caller.person, caller.spot.address, caller.key, arrival, caller.reply_to)


async def _status(desk: Desk, caller: Caller, __: str) -> Outcome:
    session = caller.session
    if session is None:
        return Outcome("There is no conversation here yet.")
    turn, questions = session.turn, session.questions()
    state = "waiting for your answer" if questions else "working" if turn.opened else "at rest"
    queued = sum(1 for unread in turn.unread if unread.queued)
    lines = [
        f"Conversation {session.conversation[-_SHORT:]}: {state}",
        f"Model: {await desk.model_of(session, caller.line)}",
        f"Sandbox: {session.sandbox}, folder {session.workspace}",
    ]
    lines += [f"Queued messages: {queued}"] if queued else []
    lines += [f"Asked: {literally(shown_question(asked).title)}" for asked in questions]
    return Outcome("\n".join(lines))


async def _model(desk: Desk, caller: Caller, name: str) -> Outcome:
    session, presets = _conversation(caller), caller.line.settings.model
    if not name:
        now = await desk.model_of(session, caller.line)
        offered = ", ".join(presets) or "no others are offered here"
        return Outcome(f"The model is {now}. To choose from: {offered}.")
    if not may_change(caller):
        return Outcome(NOT_THEIRS)
    _offered(name, presets, "model")
    if session.turn.opened:
        raise BadInput("A turn is running.", then="Change the model when it has ended, or /stop it.")
    await desk.change_model(session, caller.line, name)
    return Outcome(f"The model is {name} from the next message on.")


async def _sandbox(desk: Desk, caller: Caller, name: str) -> Outcome:
    presets = caller.line.settings.sandbox
    if name:
        return await _new(desk, caller, name)
    now = f"This conversation works in {caller.session.sandbox}. " if caller.session else ""
    offered = ", ".join(presets) or "no others are offered here"
    return Outcome(f"{now}To choose from: {offered}. /sandbox NAME begins a new conversation there.")


def _offered(name: str, presets: tuple[str, ...], what: str) -> None:
    if name not in presets:
        offered = ", ".join(presets) or "none"
        raise BadInput(f"There is no {what} “{name}” for this channel.", f"To choose from: {offered}.")


async def _compact(_: Desk, caller: Caller, keep: str) -> Outcome:
    _conversation(caller)
    return Outcome("Older messages are folded before my next step.", (e.RoomAsked(caller.person, clean(keep)),))


async def _sessions(desk: Desk, caller: Caller, _: str) -> Outcome:
    found = await _reachable(desk, caller)
    if not found:
        return Outcome("You have no conversation yet.")
    lines = [f"{one.id[-_SHORT:]}  {_day(one.last_at)}  {one.title or 'without words'}" for one in found[:_LISTED]]
    return Outcome("\n".join([*lines, "/resume ID goes on with one here."]))


async def _resume(desk: Desk, caller: Caller, part: str) -> Outcome:
    if not part:
        raise BadInput("Which conversation?", then="/sessions lists them.")
    fitting = [one for one in await _reachable(desk, caller) if one.id.endswith(part.lower())]
    if len(fitting) != 1:
        raise BadInput(f"“{part}” fits {len(fitting)} of your conversations.", then="/sessions lists them.")
    session = await desk.session(fitting[0].id)
    facts = tuple(introduction(caller.line, caller.spot, caller.person, desk.house.loaded.config.gateway))
    return Outcome(f"Here again: {fitting[0].title or 'without words'}", facts, session)


async def _reachable(desk: Desk, caller: Caller) -> list[Summary]:
    """The caller's own conversations, the latest first; in a group only those that were held in it."""
    every = await desk.house.transcript.conversations(1000)
    mine = [one for one in every if one.owner == caller.person or caller.person == OWNER]
    if caller.private:
        return mine
    here = set()
    for reached in await desk.house.doors.of_door(caller.spot.address.door):
        if reached.address.chat == caller.spot.address.chat:
            here.add(reached.conversation)
    begun_here = f"/{caller.spot.address.chat}"
    return [one for one in mine if one.id in here or one.workspace.endswith(begun_here)]


async def _receipts(desk: Desk, caller: Caller, _: str) -> Outcome:
    session = _conversation(caller)
    receipts = await desk.house.outbox.receipts(session.conversation)
    lines = [receipt_line(receipt) for receipt in receipts[-_LISTED:]]
    return Outcome("\n".join(lines) or "Nothing was delivered yet.")


def receipt_line(receipt: Receipt) -> str:
    """One delivery in one line: what, where it stands, the network's id or the reason."""
    words = " ".join(part.text for part in receipt.parts if isinstance(part, Text))
    files = ", ".join(part.name or part.media.value for part in receipt.parts if isinstance(part, Media))
    what = files or one_line(words, 40)
    more = receipt.platform_id if receipt.status == "sent" else receipt.detail
    return f"{receipt.status}: {what}" + (f" ({more})" if more else "")


async def _usage(desk: Desk, caller: Caller, _: str) -> Outcome:
    session, transcript = _conversation(caller), desk.house.transcript
    here = await transcript.spent(0, session.conversation)
    lines = [f"This conversation: {here.tokens:,} tokens, ${here.cost / 1e6:.2f}"]
    if caller.person == OWNER:
        today = await transcript.spent(desk.house.clock() // DAY_MS * DAY_MS)
        lines.append(f"Today (UTC), everywhere: {today.tokens:,} tokens, ${today.cost / 1e6:.2f}")
    return Outcome("\n".join(lines))


async def _help(_: Desk, __: Caller, ___: str) -> Outcome:
    return Outcome("\n".join(f"/{name} {verb.takes}".rstrip() + f": {verb.help}" for name, verb in VERBS.items()))


def _day(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M")


VERBS: dict[str, Verb] = {
    "new": Verb("", "begin a new conversation", _shared(_new)),
    "stop": Verb("", "end the running turn", _stop),
    "queue": Verb("TEXT", "a message that is read after this turn", _queue),
    "steer": Verb("TEXT", "a message that is read at the next step", _steer),
    "status": Verb("", "what is going on here", _status),
    "model": Verb("[NAME]", "say or change the model", _model),
    "sandbox": Verb("[NAME]", "say where it works, or begin elsewhere", _shared(_sandbox)),
    "compact": Verb("[WHAT TO KEEP]", "fold older messages to make room", _shared(_compact)),
    "sessions": Verb("", "your conversations", _sessions),
    "resume": Verb("ID", "go on with another conversation here", _shared(_resume)),
    "approve": Verb("[ANSWER]", "say yes to what is asked", approved),
    "deny": Verb("[WHY]", "say no to what is asked", denied),
    "receipts": Verb("", "what was delivered, and what became of it", _receipts),
    "usage": Verb("", "tokens and money", _usage),
    "help": Verb("", "this list", _help),
}
"""Every chat has all of them."""


def menu() -> dict[str, str]:
    """The verbs and what each does, for a network's own menu."""
    return {name: verb.help for name, verb in VERBS.items()}
