"""Logs are written and read as dialogue, and random ones keep the rules of real ones."""

import random

from hypothesis import given
from hypothesis import strategies as st

from angelia.core import entry as e
from angelia.core.content import CallStatus, ToolCall
from angelia.core.failure import FailureKind
from angelia.testing.logs.playbook import (
    asked,
    closed,
    failed,
    log,
    photo,
    queued,
    read,
    reply,
    result,
    said,
    setup,
    started,
)
from angelia.testing.logs.random_logs import log_from
from angelia.testing.logs.strategies import KINDS, facts, logs
from angelia.testing.model.steps import call, think


def test_what_the_driver_writes_in_between_is_filled_in() -> None:
    written = log(said("hi"), reply("Looking.", call("read", {"path": "a"})), result("words"), reply("Done."), closed())
    assert read(written).splitlines() == [
        "   1 ConversationOpened door='terminal' workspace='/project'",
        '   2 UserSaid "hi"',
        "   3 ModelAsked model='scripted:m' attempt=1 heard=(2,)",
        '   4 ModelSaid "Looking." c3_0:read({"path": "a"}) model=\'scripted:m\' stop=\'tool_calls\'',
        "   5 ToolStarted call='c3_0'",
        "   6 ToolFinished \"words\" call='c3_0' status='ok'",
        "   7 ModelAsked model='scripted:m' attempt=1",
        "   8 ModelSaid \"Done.\" model='scripted:m' stop='end'",
        "   9 TurnClosed ending=Answered(note='')",
    ]


def test_kills_retries_steering_and_queued_messages_can_be_told() -> None:
    written = log(
        setup(),
        said("look", photo()),
        asked,
        asked,
        failed(FailureKind.BUSY),
        reply(think("hm"), call("a"), call("b")),
        started(),
        queued("later"),
        said("stop that"),
        result("?", status=CallStatus.UNKNOWN),
        result("no", status=CallStatus.REFUSED),
        reply("Stopped."),
        closed(),
        asked,
    )
    requests = [entry.fact for entry in written if isinstance(entry.fact, e.ModelAsked)]
    assert [(one.attempt, one.heard) for one in requests] == [(1, (3,)), (2, ()), (3, ()), (1, (11,)), (1, (10,))]
    assert [entry.fact.call for entry in written if isinstance(entry.fact, e.ToolStarted)] == ["c7_0"]


@given(logs())
def test_random_logs_keep_the_rules(log: list[e.Entry]) -> None:
    assert [entry.seq for entry in log] == list(range(1, len(log) + 1))
    called: set[str] = set()
    finished: list[str] = []
    heard: list[int] = []
    spoken: set[int] = set()
    for entry in log:
        match entry.fact:
            case e.UserSaid():
                spoken.add(entry.seq)
            case e.ModelAsked(heard=carried):
                assert called == set(finished)
                assert set(carried) <= spoken
                heard.extend(carried)
            case e.ModelSaid(parts=parts):
                called |= {part.id for part in parts if isinstance(part, ToolCall)}
            case e.FilesNamed(files=files):
                called |= {file.call.id for file in files}
            case e.ToolStarted(call=name):
                assert name in called
            case e.ToolFinished(call=name):
                assert name in called
                finished.append(name)
            case _:
                pass
    assert len(set(finished)) == len(finished)
    assert len(set(heard)) == len(heard)
    assert isinstance(log[-1].fact, e.DeliveryQueued | e.DeliveryPutOff | e.DeliverySettled | e.DeliveryReached)


_ELSEWHERE = {
    *(e.NoteProposed, e.NoteKept, e.NoteDropped, e.NotesShown),
    *(e.Scheduled, e.ScheduleChanged, e.Occurred, e.OccurrencesMissed, e.WatchChecked),
    *(e.Imported, e.Delegated, e.LearningAsked, e.LearningEnded, e.HookRan),
}
"""Facts that no turn stands on: of notes, of schedules, which have logs of their own, of imports, of learning, of the
person's programs, and how else a turn begins.
"""


def test_random_logs_reach_every_kind_of_fact_that_turns_stand_on() -> None:
    dice = random.Random(7)
    seen = {type(entry.fact) for _ in range(300) for entry in log_from(dice.randbytes(200))}
    assert set(KINDS) - seen == _ELSEWHERE


@given(st.binary(max_size=100))
def test_the_same_tape_tells_the_same_log(tape: bytes) -> None:
    assert log_from(tape) == log_from(tape)


@given(facts())
def test_facts_of_logs_are_facts(fact: e.AnyFact) -> None:
    assert type(fact) in KINDS
