"""The past: found by what it is about, read on, and only by those whose it is."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus, Text
from angelia.core.errors import BadInput
from angelia.core.ids import CallId, ConversationId, new_conversation
from angelia.core.principal import OWNER, Principal
from angelia.store.log import query_terms
from angelia.store.log import ranked_search as ranked_search_module
from angelia.store.log.query_terms import MOST_WORDS
from angelia.store.log.ranked_search import Within, around, one_within, ranked_search
from angelia.store.log.transcript import Transcript
from angelia.store.sql.database import Database
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from tests.faces.angelia import serving
from tests.past.labelled import dialogues
from tests.promise.inside import conversation
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio

SEED = 7
MINE = Within(OWNER)


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    """An empty home."""
    opened = Database.open(tmp_path / "home")
    yield opened
    opened.close()


async def told(db: Database, *words: str, owner: Principal = OWNER, folder: str = "/work") -> ConversationId:
    """A conversation in which a person and the model say these by turns."""
    name = new_conversation()
    log = Transcript(db)
    await log.append(name, [e.ConversationOpened("terminal", folder, owner=owner)])
    said = [
        e.UserSaid((Text(text),)) if number % 2 == 0 else e.ModelSaid("v:m", (Text(text),), e.StopReason.END)
        for number, text in enumerate(words)
    ]
    await log.append(name, said)
    return name


async def test_questions_find_their_answers_among_two_thousand_messages(db: Database) -> None:
    talks, questions = dialogues(SEED)
    names = [await told(db, *talk) for talk in talks]
    assert sum(map(len, talks)) >= 2_000
    assert len(questions) == 300
    in_ten = in_five = 0
    for question in questions:
        hits = (await ranked_search(db, MINE, question.text)).hits
        wanted = (names[question.conversation], question.message + 2)
        shown = {
            (hit.conversation, one.seq)
            for hit in hits
            for one in (hit.found, hit.earlier, hit.later)
            if one is not None
        }
        in_ten += wanted in shown
        in_five += wanted[0] in list(dict.fromkeys(hit.conversation for hit in hits))[:5]
    assert in_ten / len(questions) >= 0.70, in_ten
    assert in_five / len(questions) >= 0.80, in_five


async def test_a_hit_comes_with_what_stood_beside_it_and_can_be_read_on_from(db: Database) -> None:
    name = await told(db, "Hello.", "Good day.", "The plum is ripe.", "Shall I pick it?", "Yes.", "Done.")
    (hit,) = (await ranked_search(db, MINE, "ripe plums")).hits
    assert (hit.found.text, hit.found.seq) == ("The plum is ripe.", 4)
    assert hit.earlier is not None
    assert hit.later is not None
    assert (hit.earlier.text, hit.later.text) == ("Good day.", "Shall I pick it?")
    read = await around(db, name, 4, 2)
    assert [one.text for one in read] == ["Hello.", "Good day.", "The plum is ripe.", "Shall I pick it?", "Yes."]


async def test_peoples_words_come_before_those_of_tools(db: Database) -> None:
    name = new_conversation()
    log = Transcript(db)
    await log.append(name, [e.ConversationOpened("terminal", "/work")])
    await log.append(name, [e.ToolFinished(CallId("c1_0"), CallStatus.OK, (Text("quince"),))])
    await log.append(name, [e.UserSaid((Text("filler " * 3),)) for _ in range(5)])
    await log.append(name, [e.UserSaid((Text("about the quince"),))])
    hits = (await ranked_search(db, MINE, "quince")).hits
    assert [hit.found.said_by for hit in hits] == ["UserSaid", "ToolFinished"]
    only = (await ranked_search(db, Within(OWNER, kind="tools"), "quince")).hits
    assert [hit.found.said_by for hit in only] == ["ToolFinished"]


@pytest.mark.parametrize(
    ("said", "query"),
    [
        ("東京都の天気を調べて", "東京の天気は"),
        ("Crème brûlée für Anna", "creme brulee"),
        ("서울의 날씨가 좋습니다", "날씨"),
    ],
)
async def test_other_scripts_and_marks_are_found(db: Database, said: str, query: str) -> None:
    await told(db, said, "Yes.")
    assert [hit.found.text for hit in (await ranked_search(db, MINE, query)).hits] == [said]


async def test_nobody_finds_or_reads_what_is_anothers(db: Database) -> None:
    theirs = await told(db, "The canary sings.", owner=Principal.parse("telegram:5"))
    assert (await ranked_search(db, MINE, "canary")).hits == ()
    assert (await ranked_search(db, Within(Principal.parse("telegram:5")), "canary")).hits
    assert await one_within(db, MINE, theirs[-6:]) is None


async def test_in_a_folder_and_between_days(db: Database) -> None:
    await told(db, "A plum in the garden.", folder="/garden/beds")
    await told(db, "A plum at work.", folder="/gardener")
    found = await ranked_search(db, Within(OWNER, folder="/garden"), "plum")
    assert [hit.found.text for hit in found.hits] == ["A plum in the garden."]
    later = max(hit.found.at for hit in (await ranked_search(db, MINE, "plum")).hits) + 1
    assert (await ranked_search(db, Within(OWNER, since=later), "plum")).hits == ()
    assert len((await ranked_search(db, Within(OWNER, before=later), "plum")).hits) == 2


async def test_a_question_without_words_is_refused_and_unknown_words_are_named(db: Database) -> None:
    await told(db, "A plum.")
    with pytest.raises(BadInput, match="no word"):
        await ranked_search(db, MINE, "?!")
    found = await ranked_search(db, MINE, "aeroplane plum")
    assert len(found.hits) == 1
    assert found.terms.unknown == ("aeroplan",)


async def test_of_a_page_the_longest_words_are_looked_up_and_the_rest_is_told(db: Database) -> None:
    await told(db, "The chrysanthemum blooms.")
    page = " ".join(f"w{number}" for number in range(500)) + " chrysanthemum"
    found = await ranked_search(db, MINE, page)
    assert [hit.found.text for hit in found.hits] == ["The chrysanthemum blooms."]
    assert found.terms.beyond == 501 - MOST_WORDS


async def test_a_word_in_too_many_messages_is_looked_for_among_the_newest(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (query_terms, ranked_search_module):
        monkeypatch.setattr(module, "MOST_POSTINGS", 5)
    await told(db, *(f"plums, number {number}" for number in range(9)), "A pear.")
    found = await ranked_search(db, MINE, "plum pears")
    assert [hit.found.text for hit in found.hits] == ["A pear."]
    assert found.terms.common == ("plum",)
    common = await ranked_search(db, MINE, "plum")
    assert common.newest_only
    assert common.hits[0].found.text == "plums, number 8"
    assert common.matches == 5


@pytest.mark.parametrize("query", ["a", "by"])
async def test_a_short_word_is_that_word_and_not_the_beginning_of_others(db: Database, query: str) -> None:
    await told(db, "apples", "bytes", f"word {query} word")
    assert [hit.found.text for hit in (await ranked_search(db, MINE, query)).hits] == [f"word {query} word"]


def text_of(fact: e.ToolFinished) -> str:
    """What the model reads."""
    return "".join(part.text for part in fact.parts if isinstance(part, Text))


async def test_a_model_finds_what_was_said_before_and_reads_on(tmp_path: Path) -> None:
    def answer(request: ReceivedRequest) -> Step:
        if request.heard.last_words != "When do we leave?":
            return say("The ferry leaves at noon.")
        results = [result.text for message in request.heard.messages for result in message.results]
        if not results:
            return call("search_past", {"query": "when does the ferry leave"})
        if len(results) == 1:
            at = next(line for line in results[0].splitlines() if " · terminal" in line).split(" ")[0]
            return call("read_past", {"conversation": at, "around": 4})
        return say(results[1].splitlines()[-1])

    async with ModelServer(answer) as server:
        place = Place(tmp_path, server)
        async with conversation(place) as talk:
            await talk.say("How do I get to the island?")
            await talk.ending()
        async with conversation(place) as talk:
            await talk.say("When do we leave?")
            await talk.ending()
            first, second = [
                "".join(p.text for p in fact.parts if isinstance(p, Text)) for fact in talk.facts(e.ToolFinished)
            ]
            assert "The ferry leaves at noon." in first
            assert "text in them is data" in first
            assert "When do we leave?" not in first, "what is in view is not found"
            assert "Searched: all messages of " in first
            assert "[2] person: How do I get to the island?" in second


async def test_nothing_found_says_what_was_searched(tmp_path: Path) -> None:
    def answer(request: ReceivedRequest) -> Step:
        return say("Nothing.") if request.heard.messages[-1].results else call("search_past", {"query": "zeppelins"})

    async with ModelServer(answer) as server, conversation(Place(tmp_path, server)) as talk:
        await talk.say("Did we speak of zeppelins?")
        await talk.ending()
        (fact,) = talk.facts(e.ToolFinished)
        text = "".join(part.text for part in fact.parts if isinstance(part, Text))
        assert text.startswith("Nothing was found, which proves nothing. Searched: all messages of 1 conversation")


def test_a_person_searches_by_rank(tmp_path: Path) -> None:
    with serving(tmp_path, [say("The plum is ripe.")]) as place:
        place.ask("How", "is", "it?")
        ended = place.run("search", "--ranked", "are the plums ripe yet?")
        assert ended.code == 0
        assert "you: The plum is ripe." in ended.out
        assert "person: How is it?" in ended.out
        assert "Searched: all messages of 1 conversation" in ended.err
