"""Answers to our questions in a chat: a button, or its number typed where there are none."""

from angelia.channels.incoming import Envelope
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.crash import crash_point
from angelia.core.errors import AngeliaError, NotFound
from angelia.core.ids import DeliveryId
from angelia.service.judging import OWNER
from angelia.service.line import Line
from angelia.service.posting.delivering import NOTICE
from angelia.service.reception.caller import Caller, Outcome, may_answer
from angelia.service.reception.desk import Desk
from angelia.service.reception.people import person_of, principal_of
from angelia.service.reception.questions import (
    Answered,
    LetIn,
    Meaning,
    Wanted,
    answer_fact,
    choices_of,
    fits,
    meaning_of,
)
from angelia.service.sessions import Session

GONE = "This question is not open any more."
NOT_YOURS = "This is not yours to answer."


async def pressed(desk: Desk, line: Line, envelope: Envelope, value: str) -> str:
    """Do what a button means, if whoever pressed it may; returns a word for the network's acknowledgement."""
    person = person_of(principal_of(envelope), line.settings)
    meaning = meaning_of(value)
    match meaning:
        case Answered() | Wanted():
            try:
                session = await desk.session(meaning.conversation)
            except NotFound:
                return GONE
            return await _in_conversation(desk, line, envelope, (session, person, meaning))
        case LetIn():
            return await _let_in(desk, envelope, person, meaning)
        case None:
            return ""


async def _in_conversation(
    desk: Desk, line: Line, envelope: Envelope, asked: tuple[Session, str, Answered | Wanted]
) -> str:
    session, person, meaning = asked
    used = e.CommandGiven(word_for(meaning), person, envelope.address, envelope.key)
    if isinstance(meaning, Wanted):
        return await _wanted(desk, line, (session, person, meaning), used)
    question = next((one for one in session.questions() if fits(meaning, one)), None)
    if question is None:
        return GONE
    if not may_answer(person, session):
        return NOT_YOURS
    crash_point("approval.before_commit")
    await session.record(used, answer_fact(meaning, question, person))
    crash_point("approval.committed")
    await desk.work(session, line)
    return word_for(meaning)


async def _wanted(desk: Desk, line: Line, asked: tuple[Session, str, Wanted], used: e.CommandGiven) -> str:
    session, person, meaning = asked
    entries = session.log.entries
    aside = entries[meaning.seq - 1].fact if 0 < meaning.seq <= len(entries) else None
    if not isinstance(aside, e.SetAside):
        return GONE
    if person not in {aside.sender, OWNER}:
        return NOT_YOURS
    facts: list[e.AnyFact] = [used]
    if meaning.yes:
        await desk.work(session, line)
        key = f"{aside.key}:wanted"
        facts.append(e.UserSaid(aside.parts, aside.sender, aside.address, key, reply_to=aside.reply_to))
    await session.record(*facts)
    return word_for(meaning)


async def _let_in(desk: Desk, envelope: Envelope, person: str, meaning: LetIn) -> str:
    if person != OWNER:
        return NOT_YOURS
    found = await desk.owners_chat(envelope.address.door)
    if found is None:
        return GONE
    session, address = found
    try:
        if meaning.yes:
            paired = await desk.house.pairings.approve_person(meaning.door, meaning.person, by=person)
            words = f"{paired.name or paired.person} may talk to me now."
        else:
            await desk.house.pairings.forget(meaning.door, meaning.person)
            words = "They are not let in."
    except AngeliaError as error:
        words = str(error)
    said = e.DeliveryQueued(DeliveryId(f"{session.conversation}.k{envelope.key}"), address, (Text(words),), NOTICE)
    await session.record(e.CommandGiven(word_for(meaning), person, envelope.address, envelope.key), said)
    return words[:60]


def word_for(meaning: Meaning) -> str:
    """How an answer reads in one or two words."""
    match meaning:
        case Answered(yes=False):
            return "Refused"
        case Answered(choice=choice) if choice >= 0:
            return "Chosen"
        case Answered(lasting=True):
            return "Allowed in this conversation"
        case Answered():
            return "Allowed"
        case Wanted(yes=yes):
            return "I answer it" if yes else "Left unanswered"
        case LetIn(yes=yes):
            return "Let in" if yes else "Not let in"


def typed_answer(caller: Caller, text: str) -> Outcome | None:
    """The number of a choice, typed while a question is open; None for anything else."""
    session, typed = caller.session, text.strip()
    if session is None or not typed.isdecimal() or len(typed) > 2:
        return None
    for asked in session.questions():
        choices = choices_of(session.conversation, asked)
        if 0 < int(typed) <= len(choices):
            meaning = meaning_of(choices[int(typed) - 1].value)
            if isinstance(meaning, Answered):
                return answered(caller, session, asked, meaning)
    return None


def answered(caller: Caller, session: Session, asked: e.ApprovalAsked, meaning: Answered) -> Outcome:
    """What an answer to a question comes to."""
    if not may_answer(caller.person, session):
        return Outcome(NOT_YOURS)
    return Outcome(f"{word_for(meaning)}.", (answer_fact(meaning, asked, caller.person),), session)
