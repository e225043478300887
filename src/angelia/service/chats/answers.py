"""Answers to open questions: which question is meant, whether it was shown, and whether the answer is theirs to give.

| who answers | a permission | the model's own question |
|---|---|---|
| the owner | yes | yes |
| somebody else whose message opened the turn | no | yes |
| anybody else | no | no |

Nobody says yes to what they have not seen: a button is sent once all before it has arrived, and a typed answer counts
from then on.
"""

import asyncio

from angelia.core import entry as e
from angelia.core.ids import DeliveryId
from angelia.core.principal import Principal
from angelia.policy.roles import Right, may
from angelia.service.chats.questions import (
    QuestionAnswer,
    answer_fact,
    choices_of,
    meaning_of,
    question_id,
    word_for,
)
from angelia.service.chats.sender import Sender
from angelia.service.chats.sessions import ChatSessions
from angelia.service.command_acts import NOT_YOURS, UNSEEN, named_question
from angelia.service.command_port import CommandReply, OpenQuestion
from angelia.service.conversation.session import Session

SETTLES_S = 5.0
"""How long the receipt of a question is waited for that its reader has answered already."""


def may_answer(person: Principal, asked: e.ApprovalAsked) -> bool:
    """Whether a question is theirs to answer, and theirs to make moot by saying something else."""
    return person in asked.approvers


def arrival_of(sender: Sender, session: Session | None) -> e.Arrival:
    """How a message comes in: while a question waits that is not its sender's to answer, it waits behind that; and
    whoever may not have the owner asked has no say in the turn of somebody else, so it waits until that has ended.
    """
    if session is None:
        return e.Arrival.STEER
    theirs = all(may_answer(sender.person, asked) for asked in session.questions())
    first = session.turn.opener if session.turn.opened else None
    joins = first is None or first.principal == sender.person or may(sender.role, Right.ASK)
    return e.Arrival.STEER if theirs and joins else e.Arrival.QUEUE


def open_here(chat_sessions: ChatSessions, sender: Sender) -> list[OpenQuestion]:
    """The open questions that were put to the caller's chat, of whichever conversation, and those of its own."""
    here, mine = sender.chat_key.address, sender.session
    found = []
    for session in chat_sessions.open_sessions():
        for asked in session.questions():
            put = _delivery(session, question_id(session.conversation, asked))
            same = put is not None and (put.address.door, put.address.chat) == (here.door, here.chat)
            if same or (put is None and mine is not None and session.conversation == mine.conversation):
                found.append(OpenQuestion(session, asked))
    return found


async def typed_answer(chat_sessions: ChatSessions, sender: Sender, text: str) -> CommandReply | None:
    """The number of a choice, typed while a question is open; None for anything else."""
    typed = text.strip()
    if not (typed.isascii() and typed.isdecimal()) or len(typed) > 2:
        return None
    found = [one for one in open_here(chat_sessions, sender) if 0 < int(typed) <= len(_choices(one))]
    if not found:
        return None
    meant = named_question(found, "")
    if isinstance(meant, CommandReply):
        return meant
    meaning = meaning_of(_choices(meant[0])[int(typed) - 1].value)
    return await answered(sender, meant[0], meaning) if isinstance(meaning, QuestionAnswer) else None


async def answered(sender: Sender, one: OpenQuestion, meaning: QuestionAnswer) -> CommandReply:
    """What a typed answer to a question comes to."""
    if not may_answer(sender.person, one.asked):
        return CommandReply(NOT_YOURS)
    if meaning.yes and not await is_shown(one.session, one.asked):
        return CommandReply(UNSEEN)
    return CommandReply(f"{word_for(meaning)}.", (answer_fact(meaning, one.asked, sender.person),), one.session)


async def is_shown(session: Session, asked: e.ApprovalAsked) -> bool:
    """Whether all of a question has arrived in its chat; a receipt that is being written is waited for."""
    delivery = question_id(session.conversation, asked)
    try:
        async with asyncio.timeout(SETTLES_S):
            await session.log.refresh()
            await session.wait(lambda: _settled(session, delivery) is not None)
    except TimeoutError:
        return False
    return _settled(session, delivery) is e.DeliveryStatus.SENT


def _choices(one: OpenQuestion) -> tuple[e.QuestionChoice, ...]:
    return choices_of(one.session.conversation, one.asked)


def _delivery(session: Session, delivery: DeliveryId) -> e.DeliveryQueued | None:
    facts = (entry.fact for entry in session.log.entries)
    return next((fact for fact in facts if isinstance(fact, e.DeliveryQueued) and fact.id == delivery), None)


def _settled(session: Session, delivery: DeliveryId) -> e.DeliveryStatus | None:
    facts = (entry.fact for entry in reversed(session.log.entries))
    return next((fact.status for fact in facts if isinstance(fact, e.DeliverySettled) and fact.id == delivery), None)
