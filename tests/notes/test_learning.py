"""Learning: off until asked for, from the person's own words alone, told, booked, and never in anybody's way."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from angelia.context.learning import INSTRUCTIONS, MOST_NOTES, WordsToLearn, learnt_notes, words_to_learn
from angelia.core import entry as e
from angelia.core.content import CallStatus, Text, ToolCall
from angelia.core.ids import CallId
from angelia.core.principal import OWNER, Principal
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say, server_error
from tests.notes.test_notes import notices, turn
from tests.promise.inside import Conversation, conversation
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio

LEARNS = ("context.learner=openai-chat:small", "context.learn_after=0.0")
RIGHT = "No, I live in Bonn and never eat fish."
REPLY = [
    {"text": "The person lives in Bonn.", "kind": "fact", "quote": "I live in Bonn"},
    {"text": "The person never eats fish.", "kind": "rule", "quote": "never eat fish"},
    {"text": "The person owns a yacht.", "kind": "fact", "quote": "my yacht is white"},
]


def looks(request: ReceivedRequest) -> bool:
    """Whether a request is one of learning."""
    return INSTRUCTIONS[:40] in str(request.body["messages"][0]["content"])


def learning(reply: object = REPLY, answer: Callable[[ReceivedRequest], Step] = lambda _: say("You live in Berlin.")):  # type: ignore[no-untyped-def]
    """A model that answers, and learns what it is told to."""

    def model(request: ReceivedRequest) -> Step:
        return say(json.dumps(reply)) if looks(request) else answer(request)

    return model


async def learnt(talk: Conversation) -> e.LearningEnded:
    """What came of the look."""
    await talk.session.wait(lambda: bool(talk.facts(e.LearningEnded)))
    return talk.facts(e.LearningEnded)[0]


async def test_a_correction_is_learnt_told_and_booked(tmp_path: Path) -> None:
    async with ModelServer(learning()) as server:
        place = Place(tmp_path, server, sets=LEARNS)
        async with conversation(place) as talk:
            await turn(talk, "Where do I live?")
            await turn(talk, RIGHT)
            ended = await learnt(talk)
            assert (ended.numbers, ended.why, ended.by) == ((1, 2), "", "openai-chat:small")
            assert notices(talk)[-1].splitlines() == [
                "remembered: The person lives in Bonn.  /forget 1",
                "remembered: The person never eats fish.  /forget 2",
            ]
            assert [note.state for note in await talk.app.notes.list(OWNER)] == ["kept", "kept"]
            query = "SELECT count(*) FROM spending WHERE model = 'openai-chat:small'"
            assert (await talk.app.db.read(lambda connection: connection.execute(query).fetchone()))[0] == 1
            (asked,) = [request for request in server.requests if looks(request)]
            shown = str(asked.body["messages"][1]["content"])
            assert RIGHT in shown
            assert "You live in Berlin." not in shown


async def test_nothing_is_looked_at_before_somebody_asks_for_it_or_without_a_correction(tmp_path: Path) -> None:
    async with ModelServer(learning()) as server:
        async with conversation(Place(tmp_path / "off", server)) as talk:
            await turn(talk, "Where do I live?")
            await turn(talk, RIGHT)
        async with conversation(Place(tmp_path / "on", server, sets=LEARNS)) as talk:
            await turn(talk, "Where do I live?")
            await turn(talk, "What is the time?")
            await turn(talk, "And the date?")
            assert words_to_learn(talk.session.log.entries, OWNER) is None
        assert not any(map(looks, server.requests))


async def test_what_is_learnt_with_words_from_elsewhere_in_view_waits(tmp_path: Path) -> None:
    def answer(request: ReceivedRequest) -> Step:
        reads = request.heard.last_words == "read" and not request.heard.messages[-1].results
        return call("read", {"path": "page.md"}) if reads else say("It says so.")

    async with ModelServer(learning(answer=answer)) as server:
        place = Place(tmp_path, server, sets=LEARNS)
        Path(place.workspace, "page.md").write_text("The person wants every note kept.\n")
        async with conversation(place) as talk:
            await turn(talk, "read")
            await turn(talk, RIGHT)
            await learnt(talk)
            assert {note.state for note in await talk.app.notes.list(OWNER)} == {"waits"}
            assert "waits for your yes" in notices(talk)[-1]
        async with conversation(place) as talk:
            await turn(talk, "hello")
            assert not any("Bonn" in str(one.body["messages"][0]["content"]) for one in server.requests)


async def test_a_look_that_fails_is_in_the_log_and_nobody_waits_for_it(tmp_path: Path) -> None:
    def model(request: ReceivedRequest) -> Step:
        return server_error(500) if looks(request) else say("Fine.")

    async with ModelServer(model) as server, conversation(Place(tmp_path, server, sets=LEARNS)) as talk:
        await turn(talk, "Hello")
        await turn(talk, RIGHT)
        ended = await learnt(talk)
        assert ended.why
        assert not ended.numbers
        await turn(talk, "Go on.")
        assert len([request for request in server.requests if looks(request)]) == 1
        assert notices(talk) == []


def log(*facts: e.AnyFact) -> list[e.Entry]:
    """A log of these facts."""
    opened = e.ConversationOpened("terminal", "/w")
    return [e.Entry(seq, 0, fact) for seq, fact in enumerate((opened, *facts), 1)]


def said(text: str, **more: object) -> e.UserSaid:
    """Somebody says something."""
    return e.UserSaid((Text(text),), **more)  # type: ignore[arg-type]


ANSWER = e.ModelSaid("x:y", (Text("[1] fact: likes tea"), ToolCall(CallId("c"), "recall", "{}")), e.StopReason.END)


def test_only_the_persons_own_words_are_looked_through() -> None:
    words = words_to_learn(
        log(
            said("Mine."),
            ANSWER,
            e.ToolFinished(CallId("c"), CallStatus.OK, (Text("a note"),)),
            said("Theirs.", sender=Principal("telegram", "1")),
            said("Passed on.", forwarded=True),
            e.SystemSaid("A rule."),
            said("No, mine."),
        ),
        OWNER,
    )
    assert words == WordsToLearn(8, ("Mine.", "No, mine."))
    taken = log(said("Mine."), ANSWER, said("No, never."), e.MessageTakenBack(4))
    assert words_to_learn(taken, OWNER) is None


def test_lines_that_quote_or_that_a_door_adds_teach_nothing_and_correct_nobody() -> None:
    others = ("[in answer to this message:]", "> No, I always pay for Eve.", "  > Never ask Ann.", "| No | I do |")
    named = '[file "bill.pdf" at /w/bill.pdf: No, I never check bills.]'
    mixed = said("\n".join((*others, "No, I live in Bonn.", named)))
    assert words_to_learn(log(said("> Mine."), ANSWER, mixed), OWNER) == WordsToLearn(4, ("No, I live in Bonn.",))
    for line in (*others, named):
        assert words_to_learn(log(said("Mine."), ANSWER, said(line)), OWNER) is None


def test_what_a_schedule_or_a_parent_began_and_what_was_looked_through_teaches_nothing() -> None:
    for began in (e.Occurred((Text("Do it."),)), e.Delegated((Text("Do it."),))):
        assert words_to_learn(log(began, ANSWER, said("No, not so.")), OWNER) is None
    assert words_to_learn(log(said("a"), ANSWER, said("No."), e.LearningAsked(4, "m")), OWNER) is None
    again = words_to_learn(log(said("a"), ANSWER, said("No."), e.LearningAsked(4, "m"), said("No, so.")), OWNER)
    assert again == WordsToLearn(6, ("No, so.",))


def test_a_fold_is_a_time_to_look_and_a_first_message_corrects_nobody() -> None:
    folded = e.ViewMoved("window", summary="They spoke.")
    assert words_to_learn(log(said("I live in Bonn."), ANSWER, folded), OWNER) == WordsToLearn(4, ("I live in Bonn.",))
    assert words_to_learn(log(said("No fish today, please.")), OWNER) is None


@given(st.text() | st.lists(st.dictionaries(st.sampled_from(["text", "kind", "quote"]), st.text())).map(json.dumps))
def test_whatever_a_model_replies_nothing_counts_that_nobody_said(reply: str) -> None:
    assert learnt_notes(reply, WordsToLearn(1, ("hello",))) == []


def test_at_most_three_count() -> None:
    one = {"text": "Likes tea.", "kind": "preference", "quote": "I like tea"}
    many = json.dumps([{**one, "text": f"Likes tea {n}."} for n in range(9)])
    assert len(learnt_notes(f"Here: {many}.", WordsToLearn(1, ("I like tea.",)))) == MOST_NOTES
