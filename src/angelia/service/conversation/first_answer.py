"""The first answer to a question counts: whoever gives a later one is told what was answered, and by whom.

An answer is appended only to the log that its question was found open in. Where others have appended something since,
it is looked at again, so that of two that come at once, through whichever doors and processes, one is stored.

The question of a child conversation stands in two logs or more: its own, and under its name in those above. An answer
that is given above is stored in all of them in one commit, and only while the question is open in its own.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from angelia.core import entry as e
from angelia.core.asked import shown_question
from angelia.core.errors import BadInput
from angelia.core.ids import CallId, ConversationId
from angelia.core.principal import ANGELIA, OWNER
from angelia.core.unambiguous import readable, unambiguous_line
from angelia.engine.background import BackgroundWork
from angelia.engine.log import Log
from angelia.service.conversation.open_questions import open_in
from angelia.store.log.append import Addition, Overtaken

Answer = e.ApprovalGiven | e.ApprovalRefused
"""What answers a question."""

ReadLog = Callable[[ConversationId], Awaitable[Sequence[e.Entry]]]
"""Reads the log of a conversation."""


class NotOpen(BadInput):
    """The question was answered before by `answer`, or, if that is None, is not asked any more; nothing was stored."""

    def __init__(self, what: str, why: str = "", then: str = "", *, answer: Answer | None = None) -> None:
        super().__init__(what, why, then)
        self.answer = answer


class _Below(NamedTuple):
    """A child's question in a log below the one in which it is answered, with the name that it has there."""

    conversation: ConversationId
    entries: Sequence[e.Entry]
    call: CallId


async def store_first(log: Log, read: ReadLog, answer: Answer, *facts: e.AnyFact) -> bool:
    """Append `facts`, which hold `answer`, in one commit, while its question is open in `log`, and in those below if a
    child asks it, which are told in the same commit; False if something among them is known already, in which case
    nothing changed.

    Raises:
        NotOpen: it is not, and who answered it says the error; nothing was appended.
        StoreError: it could not be stored.
    """
    while True:
        _require_open(log.entries, answer)
        below = await _below(log.entries, answer.call, read)
        handed = [(one, handed_on(answer, one.call)) for one in below]
        for one, same in reversed(handed):
            _require_open(one.entries, same)
        try:
            others = [Addition(one.conversation, [same], len(one.entries)) for one, same in handed]
            return bool(await log.append_with(others, *facts))
        except Overtaken:
            await log.refresh()


def handed_on(answer: Answer, call: CallId) -> Answer:
    """The same answer in the log of a child, or of what it works for, under the name that the question has there. What
    is granted for longer is granted once, where it was given.
    """
    if isinstance(answer, e.ApprovalGiven):
        return replace(answer, call=call, scope=e.Scope.ONCE, until=0)
    return replace(answer, call=call)


async def _below(entries: Sequence[e.Entry], call: CallId, read: ReadLog) -> list[_Below]:
    """The logs through which a child's question has come, down to the one in which it was asked first."""
    name, _, inner = call.partition(".")
    child = next((one.child for one in BackgroundWork().now(entries) if one.call == name), None)
    if child is None:
        return []
    of_child = await read(child.id)
    return [_Below(child.id, of_child, CallId(inner)), *await _below(of_child, CallId(inner), read)]


def _require_open(entries: Sequence[e.Entry], answer: Answer) -> None:
    if not any(_is_to(answer, one) for one in open_in(entries)):
        raise not_open(entries, answer.call)


def not_open(entries: Sequence[e.Entry], question: CallId) -> NotOpen:
    """Why an answer to the question of this name changes nothing, as the log says it."""
    match first_answer(entries, question):
        case e.ApprovalRefused(by=by, why=why) if by == ANGELIA:
            return NotOpen(f"This question is not asked any more: {why.rstrip('.') or 'nobody could answer it'}.")
        case e.ApprovalRefused() as first:
            return _too_late("no", first)
        case e.ApprovalGiven(answer=answer, scope=scope) as first:
            return _too_late(_said(entries, question, answer) if answer else f"yes, {scope}", first)
        case None:
            return NotOpen(
                "This question is not open any more.",
                "The conversation went on without an answer.",
                "It shows what became of the call.",
            )


def _is_to(answer: Answer, asked: e.ApprovalAsked) -> bool:
    bound = answer.digest if isinstance(answer, e.ApprovalGiven) else asked.digest
    return (answer.call, bound) == (asked.call, asked.digest)


def first_answer(entries: Sequence[e.Entry], question: CallId) -> Answer | None:
    """The answer that counts to the question of this name, as it was asked last; None while there is none."""
    found: Answer | None = None
    for entry in reversed(entries):
        match entry.fact:
            case e.ApprovalAsked() as asked if asked.call == question:
                break
            case e.ApprovalGiven(call=call) | e.ApprovalRefused(call=call) as answer if call == question:
                found = answer
            case _:
                continue
    return found


def _said(entries: Sequence[e.Entry], question: CallId, answer: str) -> str:
    """An offered choice by its label; words of somebody's own stay where they were said."""
    put = (entry.fact for entry in entries if isinstance(entry.fact, e.ApprovalAsked) and entry.fact.call == question)
    label = readable(answer)
    return f"“{label}”" if any(label in shown_question(asked).choices for asked in put) else "in words of their own"


def _too_late(decided: str, first: Answer) -> NotOpen:
    who = "the owner" if first.by == OWNER else unambiguous_line(str(first.by))
    what = f"This question was answered before: {decided}, by {who}."
    return NotOpen(what, then="Your answer changed nothing.", answer=first)
