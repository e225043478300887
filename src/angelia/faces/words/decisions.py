"""What somebody decided or changed, in a few words, as every door tells it."""

from typing import assert_never

from angelia.core import entry as e
from angelia.core.counts import counted
from angelia.core.unambiguous import unambiguous_line
from angelia.store.log.audit_trail import Decided, Decision
from angelia.store.log.examined import UnreadableEntry


def decider(one: Decided) -> str:
    """Who decided it; empty where that cannot be read."""
    return "" if isinstance(one.fact, UnreadableEntry) else unambiguous_line(str(one.fact.by))


def decision_words(fact: Decision | UnreadableEntry) -> str:
    """What was decided, such as `kept note 3`; what others named in it is unambiguous."""
    match fact:
        case UnreadableEntry(why=why):
            return f"cannot be read: {why}"
        case e.ApprovalGiven(scope=scope, answer=answer):
            return "answered" if answer else f"yes, {scope}"
        case e.ApprovalRefused():
            return "no"
        case e.NoteKept(number=number):
            return f"kept note {number}"
        case e.NoteDropped(number=number):
            return f"dropped note {number}"
        case e.ScheduleChanged(state=state):
            return f"schedule {state}"
        case e.FilesTakenBack(count=count):
            return f"took back changes to {counted(count, 'file')}"
        case e.DeliveryLetBe():
            return "let a delivery be"
        case e.CancelAsked():
            return "stopped a turn"
        case e.WordsErased(count=count):
            return f"erased somebody's words from {counted(count, 'entry')}"
        case e.Administered(act=act, about=about, person=person):
            of = f" {unambiguous_line(str(person))}" if person else ""
            return f"{act.replace('_', ' ')}{of}{f': {unambiguous_line(about)}' if about else ''}"
        case _:
            assert_never(fact)
