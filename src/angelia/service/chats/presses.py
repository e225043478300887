"""Answers to our questions in a chat: a button, or its number typed where there are none."""

from angelia.channels.incoming import Envelope
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.crash import crash_point
from angelia.core.errors import AngeliaError, NotFound
from angelia.core.ids import DeliveryId
from angelia.core.person_role import PersonRole
from angelia.core.principal import OWNER, Principal
from angelia.core.text import literally
from angelia.core.unambiguous import claimed
from angelia.service.chats.answers import may_answer
from angelia.service.chats.delivery import NOTICE
from angelia.service.chats.open_channel import OpenChannel
from angelia.service.chats.people import person_of, principal_of
from angelia.service.chats.questions import (
    LetIn,
    MessageStillWanted,
    QuestionAnswer,
    answer_fact,
    fits,
    meaning_of,
    question_id,
    word_for,
)
from angelia.service.chats.sessions import ChatSessions
from angelia.service.command_acts import NOT_YOURS
from angelia.service.conversation.first_answer import NotOpen, not_open
from angelia.service.conversation.session import Session
from angelia.service.people.admission import may_do

GONE = "This question is not open any more."


async def pressed(chat_sessions: ChatSessions, line: OpenChannel, envelope: Envelope, value: str) -> str:
    """Do what a button means, if whoever pressed it may; returns a word for the network's acknowledgement."""
    person = person_of(principal_of(envelope), line.settings)
    meaning = meaning_of(value)
    match meaning:
        case QuestionAnswer() | MessageStillWanted():
            try:
                session = await chat_sessions.session(meaning.conversation)
            except NotFound:
                return GONE
            return await _in_conversation(chat_sessions, line, envelope, (session, person, meaning))
        case LetIn():
            return await _let_in(chat_sessions, envelope, person, meaning)
        case None:
            return ""


async def _in_conversation(
    chat_sessions: ChatSessions,
    line: OpenChannel,
    envelope: Envelope,
    asked: tuple[Session, Principal, QuestionAnswer | MessageStillWanted],
) -> str:
    session, person, meaning = asked
    used = e.CommandGiven(word_for(meaning), person, envelope.address, envelope.key)
    if isinstance(meaning, MessageStillWanted):
        return await _wanted(chat_sessions, (line, envelope), (session, person, meaning), used)
    question = next((one for one in session.questions() if fits(meaning, one)), None)
    if question is None:
        return await _too_late(envelope, session, (person, meaning), not_open(session.log.entries, meaning.call))
    if not may_answer(person, question):
        return await _not_yours(envelope, session, person, question_id(session.conversation, question))
    crash_point("approval.before_commit")
    try:
        await session.record(used, answer_fact(meaning, question, person))
    except NotOpen as late:
        return await _too_late(envelope, session, (person, meaning), late)
    crash_point("approval.committed")
    await chat_sessions.work(session, line)
    return word_for(meaning)


async def _wanted(
    chat_sessions: ChatSessions,
    at: tuple[OpenChannel, Envelope],
    asked: tuple[Session, Principal, MessageStillWanted],
    used: e.CommandGiven,
) -> str:
    line, envelope = at
    session, person, meaning = asked
    entries = session.log.entries
    aside = entries[meaning.seq - 1].fact if 0 < meaning.seq <= len(entries) else None
    if not isinstance(aside, e.SetAside):
        return GONE
    if person not in {aside.sender, OWNER}:
        return await _not_yours(envelope, session, person, DeliveryId(f"{session.conversation}.w{meaning.seq}"))
    facts: list[e.AnyFact] = [used]
    spent = await chat_sessions.services.budgets.spent(session.owner)
    if meaning.yes and spent:
        told = DeliveryId(f"{session.conversation}.k{envelope.key}")
        facts.append(e.DeliveryQueued(told, envelope.address, (Text(literally(spent)),), NOTICE))
    elif meaning.yes:
        await chat_sessions.work(session, line)
        key = f"{aside.key}:wanted"
        form = await chat_sessions.services.commands.voice_answers().form(aside.address, aside.parts)
        facts.append(
            e.UserSaid(
                aside.parts,
                aside.sender,
                aside.address,
                key,
                reply_to=aside.reply_to,
                forwarded=aside.forwarded,
                answer=form,
            )
        )
    await session.record(*facts)
    return word_for(meaning)


async def _let_in(chat_sessions: ChatSessions, envelope: Envelope, person: Principal, meaning: LetIn) -> str:
    if person != OWNER:
        return NOT_YOURS
    found = await chat_sessions.owners_chat(envelope.address.door)
    if found is None:
        return GONE
    session, address = found
    try:
        if meaning.yes:
            paired = await chat_sessions.services.admission.approve_person(meaning.who)
            who = literally(claimed(paired.name or paired.principal.id))
            words = f"{who} may talk to me now. {may_do(PersonRole.GUEST)}"
        else:
            await chat_sessions.services.admission.shut_out(meaning.who)
            words = "They are not let in."
    except AngeliaError as error:
        words = str(error)
    said = e.DeliveryQueued(DeliveryId(f"{session.conversation}.k{envelope.key}"), address, (Text(words),), NOTICE)
    await session.record(e.CommandGiven(word_for(meaning), person, envelope.address, envelope.key), said)
    return words[:60]


async def _not_yours(envelope: Envelope, session: Session, person: Principal, question: DeliveryId) -> str:
    words = f"{NOT_YOURS} Only the owner says yes or no to what needs one."
    await _tell(envelope, session, e.CommandGiven(NOT_YOURS, person, envelope.address, envelope.key), (question, words))
    return NOT_YOURS


async def _too_late(
    envelope: Envelope, session: Session, pressed_by: tuple[Principal, QuestionAnswer], late: NotOpen
) -> str:
    """Whoever gave the answer that counts, and presses the same once more, has lost nothing by it."""
    person, meaning = pressed_by
    first = late.answer
    if first and first.by == person and isinstance(first, e.ApprovalGiven) == meaning.yes and meaning.choice < 0:
        return word_for(meaning)
    question = DeliveryId(f"{session.conversation}.q{meaning.call}.{meaning.digest}.late")
    given = e.CommandGiven(word_for(meaning), person, envelope.address, envelope.key)
    await _tell(envelope, session, given, (question, str(late)))
    return str(late)


async def _tell(envelope: Envelope, session: Session, given: e.CommandGiven, about: tuple[DeliveryId, str]) -> None:
    """Tell somebody once about a question, in the chat where they pressed, whatever the network shows of the press
    itself.
    """
    question, words = about
    told = DeliveryId(f"{question}.{given.sender}")
    known = (entry.fact.id for entry in session.log.entries if isinstance(entry.fact, e.DeliveryQueued))
    if told not in known:
        said = e.DeliveryQueued(told, envelope.address, (Text(literally(words)),), NOTICE)
        await session.record(given, said)
