"""What each command of a conversation does, against the port that a door lends it."""

from collections.abc import Sequence
from pathlib import Path

from angelia.context.budget import ASSUMED_WINDOW, fixed_size
from angelia.context.system_notes import pins
from angelia.context.usage_meter import UsageMeter, cost_words
from angelia.context.view import project
from angelia.context.window_usage import contents, rows
from angelia.core import entry as e
from angelia.core.asked import shown_question
from angelia.core.counts import counted
from angelia.core.days import day_of
from angelia.core.errors import BadInput
from angelia.core.ids import short
from angelia.core.moment import when
from angelia.core.person_role import PersonRole
from angelia.core.text import clean, literally
from angelia.core.unambiguous import claimed
from angelia.policy.situation import MODES, Mode
from angelia.service.command_port import (
    CommandPort,
    CommandReply,
    CommandResult,
    CommandRight,
    CommandTable,
    CommonResult,
    ConversationsPort,
    MessageToSend,
    OpeningPort,
    OpenQuestion,
    OtherConversation,
    ShownByDoor,
    TerminalPort,
)
from angelia.service.conversation.listing import conversation_rows
from angelia.service.conversation.session import Session
from angelia.service.conversation.setups import setup_in_force
from angelia.service.conversation.undo_command import undo_command
from angelia.service.people.admission import an
from angelia.service.receipts import receipt_rows
from angelia.store.log.transcript import Spending

NOT_YOURS = "This is not yours to answer."
NOTHING_ASKED = "Nothing is asked."
UNSEEN = "The question has not been shown whole yet. A yes counts once it has; /deny is possible at any time."
WAITS = "A question waits for the owner's answer; I read this after it."
NEXT_STEP = "I read this at my next step."

_LISTED = 15
"""Rows of a list, at most."""


def _conversation(port: CommandPort) -> Session:
    if port.session is None:
        raise BadInput("There is no conversation here yet.", then="Write something, and there is one.")
    return port.session


async def new(port: ConversationsPort, folder: str) -> OtherConversation:
    return await _begun(port, folder, "")


async def sandbox(port: ConversationsPort, name: str) -> CommandResult:
    session = port.session
    if name and session and name in (session.preset, session.sandbox):
        raise BadInput(f"This conversation works in {_where(session)} already.", then="/new begins another.")
    if name:
        return await _begun(port, "", name)
    here = [("here", _where(session))] if session else []
    offered = port.offered_sandboxes()
    none = "" if offered else " No others are offered here."
    return CommandTable((*here, *offered), f"/sandbox NAME begins a new conversation there.{none}")


async def _begun(port: ConversationsPort, folder: str, sandbox: str) -> OtherConversation:
    before = port.session
    session = await port.begin(folder, sandbox)
    former = before is not None and bool(before.log.entries)
    back = f" The former one: /resume {short(before.conversation)}" if before and former else ""
    goes_on = " Its running turn goes on, and answers here." if before and before.turn.opened else ""
    text = f"A new conversation in {_where(session)}, {session.workspace}.{back}{goes_on}"
    return OtherConversation(session, text)


def _where(session: Session) -> str:
    """A conversation's sandbox, with the name by which it was chosen."""
    return f"{session.sandbox} (preset {session.preset})" if session.preset else session.sandbox


async def model(port: CommandPort, spec: str) -> CommandReply:
    if not spec:
        now = await port.model()
        return CommandReply(f"The model is {now}. {port.offered_models()}" if now else "No model is chosen yet.")
    await port.change_model(spec)
    return CommandReply(f"The model is {spec} from the next message on.")


async def models(port: CommandPort, words: str) -> CommandTable:
    from angelia.service.models.listing import models_to_be_had

    found, troubles = await models_to_be_had(port.services.model_catalog, words)
    return CommandTable(tuple(found), "\n".join(troubles))


async def mode(port: CommandPort, name: str) -> CommandReply:
    session, services = _conversation(port), port.services
    known = {mode.value: mode for mode in Mode}
    if not name:
        now = services.mode(session)
        return CommandReply(f"The mode is {now.value}: {MODES[now]}.")
    if name not in known:
        raise BadInput(f"There is no mode {name}.", then="/mode " + "|".join(known))
    services.set_mode(session, known[name])
    return CommandReply(f"The mode is {name}: {MODES[known[name]]}.")


async def status(port: CommandPort, _: str) -> CommandTable:
    session = _conversation(port)
    turn, questions = session.turn, session.questions()
    state = "waits for an answer" if questions else "works" if turn.opened else "at rest"
    setup = await setup_in_force(port.services.blobs, session.log.entries)
    used = UsageMeter(session.log.entries).words(setup.profile.window if setup else 0)
    queued = sum(1 for unread in turn.unread if unread.queued)
    listed = [
        ("conversation", f"{session.conversation}, {state}"),
        ("folder", session.workspace),
        ("sandbox", _where(session)),
        ("model", await port.model() or "not chosen yet"),
        ("mode", port.services.mode(session).value),
        ("used", " · ".join(used) or "nothing yet"),
    ]
    listed += [("queued", counted(queued, "message"))] if queued else []
    listed += [("asked", shown_question(asked).title) for asked in questions]
    listed += [("home", str(port.services.home))] if port.may(CommandRight.OWNER) else []
    return CommandTable(tuple(listed))


async def usage(port: CommandPort, _: str) -> CommandTable:
    session, transcript, now = _conversation(port), port.services.transcript, port.services.clock()
    spent = [_spent("this conversation", await transcript.spent(session.owner, 0, session.conversation))]
    if port.may(CommandRight.OWNER):
        spent.append(_spent("today (UTC), everywhere", await transcript.spent(port.person, day_of(now))))
    return CommandTable(tuple(spent))


def _spent(what: str, spent: Spending) -> tuple[str, ...]:
    unknown = f"{counted(spent.unpriced, 'reply')} without a known price" if spent.unpriced else ""
    return what, f"{spent.tokens:,} tokens", cost_words(spent.cost, spent.unpriced), unknown


async def admit(port: CommandPort, words: str) -> CommandReply:
    code, _, as_what = words.partition(" ")
    known = {one.value: one for one in PersonRole}
    if not code or (as_what and as_what not in known):
        raise BadInput("Whom shall I let in?", then="/admit CODE, or /admit CODE member")
    one = await port.services.admission.approve(code, known.get(as_what, PersonRole.GUEST), by=port.person)
    return CommandReply(f"{literally(claimed(one.name or one.principal.id))} may talk to me now, as {an(one.role)}.")


async def context(port: CommandPort, _: str) -> CommandTable:
    entries = _conversation(port).log.entries
    setup = await setup_in_force(port.services.blobs, entries)
    if setup is None:
        raise BadInput("Nothing has been asked yet, so the window is empty.")
    view = project(entries, setup.profile)
    filled = contents(view, fixed_size(setup.system, setup.tools))
    pinned = "\n".join(f"pinned: {text}" for text in pins(entries))
    return CommandTable(tuple(rows(filled, setup.profile.window or ASSUMED_WINDOW)), pinned)


async def compact(port: CommandPort, keep: str) -> CommandReply:
    session = _conversation(port)
    if not any(isinstance(entry.fact, e.ModelSaid) for entry in session.log.entries):
        raise BadInput("There is nothing to fold yet.")
    fact = e.CompactionRequested(port.person, clean(keep))
    return CommandReply("Older messages are folded before the next request; nothing is lost.", (fact,))


async def pin(port: CommandPort, text: str) -> CommandReply:
    _conversation(port)
    if not text:
        raise BadInput("There is nothing to pin.", then="Write the words after /pin.")
    return CommandReply("Pinned: kept word for word, whatever is folded.", (e.Pinned(clean(text), port.person),))


async def unpin(port: CommandPort, text: str) -> CommandReply:
    held = pins(_conversation(port).log.entries)
    found = [pinned for pinned in held if text and text in pinned]
    if len(found) != 1:
        listed = "; ".join(held) or "none"
        raise BadInput(f"“{text}” names {len(found)} pinned texts.", why=f"Pinned: {listed}.")
    return CommandReply("Not pinned any more.", (e.Unpinned(found[0], port.person),))


async def file(port: TerminalPort, path: str) -> ShownByDoor:
    await port.attach(_path(path))
    return ShownByDoor()


async def image(port: TerminalPort, path: str) -> ShownByDoor:
    _, original, rest = path.rpartition("--original ")
    await port.attach(_path(rest.strip()), picture=True, original=bool(original))
    return ShownByDoor()


def _path(text: str) -> Path:
    if not text:
        raise BadInput("Which file?", then="Example: /file ~/report.pdf; Tab completes.")
    return Path(text.strip("'\"")).expanduser()


async def queue(port: CommandPort, text: str) -> MessageToSend:
    if not text:
        raise BadInput("What should be queued?", then="Example: /queue then run the tests")
    session = port.session
    place = sum(1 for unread in session.turn.unread if unread.queued) + 1 if session and session.turn.opened else 0
    told = f"Queued, number {place}: it is read when this turn has ended." if place else "Nothing is running: read now."
    return MessageToSend(text, e.Arrival.QUEUE, told)


async def steer(port: CommandPort, text: str) -> MessageToSend:
    if not text:
        raise BadInput("What should I mind?", then="Example: /steer use the smaller picture")
    arrival = port.arrival
    return MessageToSend(text, arrival, NEXT_STEP if arrival is e.Arrival.STEER else WAITS)


async def stop(port: CommandPort, _: str) -> CommandReply:
    if port.session is None or not (port.session.turn.opened or port.session.children):
        return CommandReply("Nothing is running.")
    return CommandReply("Stopping.", (e.CancelAsked(port.person),))


async def undo(port: CommandPort, word: str) -> CommandTable:
    said = await undo_command(port.services.undo, _conversation(port), word, by=port.person)
    return CommandTable(tuple((line,) for line in said.splitlines()))


async def sessions(port: ConversationsPort, _: str) -> CommandResult:
    found = await port.conversations()
    if not found:
        return CommandReply("There is no conversation yet.")
    return CommandTable(tuple(conversation_rows(found[:_LISTED], port.zone)), "/resume ID goes on with one here.")


async def resume(port: ConversationsPort, part: str) -> OtherConversation:
    if not part:
        raise BadInput("Which conversation?", then="/sessions lists them; /resume ID opens one.")
    before, session = port.session, await port.open(part)
    if before is not None and session.conversation == before.conversation:
        raise BadInput("This conversation is open already.")
    title = next((one.title for one in await port.conversations() if one.id == session.conversation), "")
    return OtherConversation(session, f"Here again: {title or 'without words'}")


async def fork(port: OpeningPort, number: str) -> OtherConversation:
    from angelia.service.conversation.forks import fork_conversation

    before, services = _conversation(port), port.services
    if known := await _forked_before(port):
        return OtherConversation(known, "That fork is there already.")
    if before.turn.opened:
        raise BadInput("A turn is running here; nothing was begun.", then="Wait for its end, or stop it.")
    if number and not (number.isdecimal() and int(number)):
        raise BadInput(
            f"“{number}” is no entry's number.", then="`angelia show --json` has them; /fork alone takes all."
        )
    at = int(number or 0)
    made = await fork_conversation(services.transcript, before.conversation, at, services.clock, asked=port.asked)
    session = await port.open(made)
    count, former = len(session.log.entries), short(before.conversation)
    return OtherConversation(session, f"A fork with {counted(count, 'entry')}. The former one: /resume {former}")


async def _forked_before(port: OpeningPort) -> Session | None:
    """What this very command began when it was given before."""
    asked = port.asked
    known = await port.services.transcript.of_key(port.person, asked.door, asked.key) if asked.key else None
    return await port.open(known) if known else None


async def edit(port: OpeningPort, words: str) -> OtherConversation | CommandTable:
    from angelia.service.conversation.earlier_messages import MOST_LISTED, chosen_message, earlier_messages
    from angelia.service.conversation.forks import fork_conversation

    before, services = _conversation(port), port.services
    messages = earlier_messages(before.log.entries, port.person)
    if not words:
        listed = tuple((str(number), one.words) for number, one in enumerate(messages[:MOST_LISTED], 1))
        return CommandTable(listed, "/edit 1 OTHER WORDS says the newest otherwise, in a fork; this one stays.")
    if before.turn.opened and not await _forked_before(port):
        raise BadInput("A turn is running here; nothing was begun.", then="Wait for its end, or stop it.")
    message, said = chosen_message(messages, words)
    at = message.seq - 1
    made = await fork_conversation(services.transcript, before.conversation, at, services.clock, asked=port.asked)
    text = f"A fork from before “{message.words}”. The former one: /resume {short(before.conversation)}"
    return OtherConversation(await port.open(made), text, message.saying(said))


async def show(port: TerminalPort, _: str) -> ShownByDoor:
    port.show_all()
    return ShownByDoor()


async def view(port: TerminalPort, number: str) -> ShownByDoor:
    await port.view(_number(number))
    return ShownByDoor()


async def talk(port: TerminalPort, _: str) -> ShownByDoor:
    await port.talk()
    return ShownByDoor()


async def window(port: TerminalPort, _: str) -> ShownByDoor:
    port.open_window()
    return ShownByDoor()


async def copy(port: TerminalPort, number: str) -> CommandReply:
    return CommandReply(port.copy(_number(number)))


def _number(word: str) -> int:
    if word and not (word.isdecimal() and int(word)):
        raise BadInput(f"“{word}” is no number.", then="1 is the newest, 2 the one before it.")
    return int(word or "1")


async def tree(port: CommandPort, _: str) -> CommandTable:
    from angelia.service.delegation.tree import HEAD, shown_rows, tree_of

    session = _conversation(port)
    rows = await tree_of(port.services.transcript, session.conversation, "this conversation")
    return CommandTable((HEAD, *shown_rows(rows, when)))


async def receipts(port: CommandPort, _: str) -> CommonResult:
    session = _conversation(port)
    found = receipt_rows(await port.services.outbox.receipts(session.owner, session.conversation))
    return CommandTable((*found[:1], *found[1:][-_LISTED:])) if found else CommandReply("Nothing was delivered yet.")


async def remind(port: ConversationsPort, words: str) -> CommandReply:
    from angelia.service.schedule.commands import remind

    return CommandReply(await remind(port, words))


async def schedule(port: ConversationsPort, words: str) -> CommonResult:
    from angelia.service.schedule.commands import schedule

    return await schedule(port, words)


async def voice(port: ConversationsPort, word: str) -> CommandReply:
    from angelia.service.chats.voice_answers import MEANINGS

    answers = port.services.voice_answers()
    mode = await answers.choose(port.address, word.lower()) if word else await answers.mode(port.address)
    return CommandReply(MEANINGS[mode])


async def export(port: TerminalPort, name: str) -> CommandReply:
    return CommandReply(f"Written to {port.export(name)}.")


async def leave(port: TerminalPort, _: str) -> ShownByDoor:
    port.leave()
    return ShownByDoor()


async def approve(port: CommandPort, words: str) -> CommandReply:
    meant = _question_meant(port, words)
    if isinstance(meant, CommandReply):
        return meant
    question, rest = meant
    asked, person = question.asked, port.person
    permission = asked.asks is e.QuestionKind.PERMISSION
    if permission and rest:
        return CommandReply("A yes has no words of its own. /approve says yes, and /deny takes what to do instead.")
    if not permission and not rest:
        return CommandReply("What is your answer? Example: /approve the second one")
    label = next((one for one in asked.choices if one.lower() == rest.lower()), "")
    if (permission or label) and not await port.is_shown(question):
        return CommandReply(UNSEEN)
    given = e.ApprovalGiven(asked.call, asked.digest, person, answer=label or clean(rest))
    word = "Allowed." if permission else "Chosen." if label else "Answered."
    return CommandReply(word, (given,), question.session)


async def deny(port: CommandPort, words: str) -> CommandReply:
    meant = _question_meant(port, words)
    if isinstance(meant, CommandReply):
        return meant
    question, why = meant
    refused = e.ApprovalRefused(question.asked.call, port.person, clean(why))
    return CommandReply("Refused.", (refused,), question.session)


def _question_meant(port: CommandPort, words: str) -> tuple[OpenQuestion, str] | CommandReply:
    """The question that is meant, and the rest of the words, if its answer is theirs to give."""
    found = port.questions()
    if not found:
        waits = port.session is not None and port.session.questions()
        return CommandReply(NOT_YOURS if waits and not port.may(CommandRight.OWNER) else NOTHING_ASKED)
    meant = named_question(found, words)
    if isinstance(meant, CommandReply) or port.may_answer(meant[0]):
        return meant
    return CommandReply(NOT_YOURS)


def named_question(found: Sequence[OpenQuestion], words: str) -> tuple[OpenQuestion, str] | CommandReply:
    """The question that words begin with, and the rest of them; where several are open it has to be named."""
    code, _, rest = words.partition(" ")
    if chosen := next((one for one in found if one.code == code.lower()), None):
        return chosen, rest.strip()
    if len(found) == 1:
        return found[0], words
    lines = [f"{one.code}  {shown_question(one.asked).title}" for one in found]
    return CommandReply(
        "\n".join([f"{counted(len(found), 'open question')} here. Answer one: /approve CODE or /deny CODE", *lines])
    )


async def prompts(port: CommandPort, words: str) -> CommonResult:
    servers = port.services.servers(_conversation(port))
    if not words:
        rows = [(clean(one.usage), clean(one.about)) for one in await servers.prompts()]
        return CommandTable(tuple(rows), "" if rows else "No MCP server here offers prompts.")
    name, _, rest = words.partition(" ")
    said = clean(await servers.prompt(name.removeprefix("/"), rest.strip()))
    return MessageToSend(said, port.arrival, said, forwarded=True)


async def skills(port: CommandPort, _: str) -> CommonResult:
    from angelia.service.skills.skill_acts import listed

    return listed(await port.services.skills(_conversation(port)))
