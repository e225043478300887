"""The first answer to a question counts: whoever gives a later one is told what was answered, and by whom.

An answer is appended only to the log that its question was found open in. Where others have appended something since,
it is looked at again, so that of two that come at once, through whichever doors and processes, one is stored.
"""

from collections.abc import Callable, Sequence

from angelia.core import entry as e
from angelia.core.asked import shown_question
from angelia.core.errors import BadInput
from angelia.core.ids import CallId
from angelia.core.principal import ANGELIA, OWNER
from angelia.core.unambiguous import readable, unambiguous_line
from angelia.engine.log import Log
from angelia.store.log.append import Overtaken

Answer = e.ApprovalGiven | e.ApprovalRefused
"""What answers a question."""


class NotOpen(BadInput):
    """The question was answered before by `answer`, or, if that is None, is not asked any more; nothing was stored."""

    def __init__(self, what: str, why: str = "", then: str = "", *, answer: Answer | None = None) -> None:
        super().__init__(what, why, then)
        self.answer = answer


async def store_first(
    log: Log, questions: Callable[[], Sequence[e.ApprovalAsked]], answer: Answer, *facts: e.AnyFact
) -> bool:
    """Append `facts`, which hold `answer`, in one commit, while its question is one of the open `questions` of `log`;
    False if something among them is known already, in which case nothing changed.

    Raises:
        NotOpen: it is not, and who answered it says the error; nothing was appended.
        StoreError: it could not be stored.
    """
    while True:
        if not any(_is_to(answer, one) for one in questions()):
            raise not_open(log.entries, answer.call)
        try:
            return bool(await log.append(*facts, seen=len(log.entries)))
        except Overtaken:
            await log.refresh()


def not_open(entries: Sequence[e.Entry], question: CallId) -> NotOpen:
    """Why an answer to the question of this name changes nothing, as the log says it."""
    match _first_answer(entries, question):
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


def _first_answer(entries: Sequence[e.Entry], question: CallId) -> Answer | None:
    """To the question of this name as it was asked last."""
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
