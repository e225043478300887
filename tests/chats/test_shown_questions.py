"""What is approved in a chat is what was shown there: whole, with nothing hidden, before there is anything to press."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from angelia.channels.capabilities import Kind, Never
from angelia.channels.incoming import Pressed
from angelia.core import entry as e
from angelia.core.unambiguous import unambiguous
from angelia.testing.channels.recording_channel import ABILITIES, WITHOUT_EDIT, FarEnd, RecordedMessage
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, calls, say
from tests.chats.networks import NETWORKS, network
from tests.chats.town import Town, town

pytestmark = pytest.mark.anyio

ASKING = ("sandbox.confine=off", "policy.mode=ask")
HIDING = "touch MARK #" + "\b" * 40 + "ls -la"
LINES = "rm -rf /etc/nothing-of-ours\n" + "\n".join(f"echo line {number} **bold** `x`" for number in range(300))
HUGE = "rm -rf /etc/nothing-of-ours # " + "x" * 200_000


def shown_in(far: FarEnd, chat: str = "7") -> str:
    """Everything that a person can read in a chat, files included, without blanks."""
    parts = [(one.file or b"").decode() + one.plain for one in far.in_chat(chat)]
    return "".join("".join(parts).split())


def asked(far: FarEnd, chat: str = "7") -> RecordedMessage | None:
    """The message by which a question is answered: it has buttons, or says that a number does it."""
    found = (one for one in far.in_chat(chat) if one.buttons or "Answer with the number" in one.plain)
    return next(found, None)


async def says_yes(life: Town, far: FarEnd) -> None:
    """The owner presses the first button, or types its number."""
    question = asked(far)
    assert question is not None
    await life.says(Pressed(question.buttons[0].value) if question.buttons else "1")


@pytest.mark.soak(every=6)
@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("command", [HIDING, LINES], ids=["hiding", "lines"])
async def test_a_question_is_shown_whole_and_its_answer_counts(tmp_path: Path, kind: str, command: str) -> None:
    far, known = FarEnd(), network(kind)
    async with (
        ModelServer([call("shell", {"command": command}), say("Done.")]) as server,
        town(tmp_path, server, far, sets=ASKING, capabilities=known.capabilities, dialect=known.dialect) as life,
    ):
        await life.says("Go on.")
        await far.when(lambda far: asked(far) is not None)
        assert "".join(unambiguous(command).split()) in shown_in(far)
        assert "\b" not in shown_in(far)
        assert asked(far) is far.in_chat("7")[-1]
        await says_yes(life, far)
        await far.when(lambda far: any("Done." in text for text in far.texts("7")))


@pytest.mark.soak(every=9)
@pytest.mark.parametrize("kind", NETWORKS)
async def test_what_is_too_long_goes_as_a_file_or_is_not_asked(tmp_path: Path, kind: str) -> None:
    far, known = FarEnd(), network(kind)
    async with (
        ModelServer([call("shell", {"command": HUGE}), say("Left alone.")]) as server,
        town(tmp_path, server, far, capabilities=known.capabilities, dialect=known.dialect) as life,
    ):
        await life.says("Go on.")
        if isinstance(known.capabilities.ways[Kind.DOCUMENT], Never):
            await far.when(lambda far: any("could not be delivered" in one.plain for one in far.in_chat("7")))
            assert asked(far) is None
            assert any("it cannot be allowed here" in one.plain.replace("\n", " ") for one in far.in_chat("7"))
            await life.says("/approve")
            await far.when(lambda far: any("not been shown whole" in one.plain for one in far.in_chat("7")))
        else:
            await far.when(lambda far: asked(far) is not None)
            assert "".join(unambiguous(HUGE).split()) in shown_in(far)
            assert asked(far) is far.in_chat("7")[-1]
        await life.says("/deny leave it")
        await far.when(lambda far: any("Left alone." in text for text in far.texts("7")))
        assert not [fact for fact in await life.facts() if isinstance(fact, e.ApprovalGiven)]


async def test_without_having_been_shown_whole_there_is_no_button_and_no_yes(tmp_path: Path) -> None:
    far = FarEnd()
    no_files = replace(ABILITIES, ways={**ABILITIES.ways, Kind.DOCUMENT: Never("it takes none")})
    async with (
        ModelServer([call("shell", {"command": HUGE}), say("Left alone.")]) as server,
        town(tmp_path, server, far, capabilities=replace(no_files, text_limit=1000)) as life,
    ):
        await life.says("Go on.")
        await far.when(lambda far: any("could not be delivered" in text for text in far.texts("7")))
        await life.settled()
        assert not [one for one in far.in_chat("7") if one.buttons]
        await life.says("/approve")
        await far.when(lambda far: any("not been shown whole" in text for text in far.texts("7")))
        assert not [fact for fact in await life.facts() if isinstance(fact, e.ApprovalGiven)]
        await life.says("/deny")
        await far.when(lambda far: "Left alone." in far.texts("7"))


async def test_a_lasting_yes_says_what_it_covers(tmp_path: Path) -> None:
    far = FarEnd()
    async with (
        ModelServer([call("shell", {"command": "python tool.py"}), say("Done.")]) as server,
        town(tmp_path, server, far, sets=ASKING) as life,
    ):
        await life.says("Go on.")
        await far.when(lambda far: asked(far) is not None)
        question = asked(far)
        assert question is not None
        assert "Allow in this conversation" in [button.label for button in question.buttons]
        assert "covers:\n\n```\nunconfined: python tool.py\n```" in question.text


async def test_where_two_questions_are_open_a_bare_yes_answers_neither(tmp_path: Path) -> None:
    far = FarEnd()
    both = calls(("read", {"path": "a/.env"}), ("read", {"path": "b/.env"}))
    async with (
        ModelServer([both, say("Done.")]) as server,
        town(tmp_path, server, far, capabilities=WITHOUT_EDIT) as life,
    ):
        place = life.app.loaded.home.with_name(f"{life.app.loaded.home.name}-work") / "chat" / "7"
        for name in ("a", "b"):
            (place / name).mkdir(parents=True)
            (place / name / ".env").write_text(name)
        await life.says("Go on.")
        await far.when(lambda far: sum("Answer with the number" in text for text in far.texts("7")) == 2)
        assert all("\n\n1. " in text for text in far.texts("7") if "Answer with" in text), "in the question's message"
        for words in ("1", "/approve"):
            await life.says(words)
        await far.when(lambda far: sum("2 open questions here" in text for text in far.texts("7")) == 2)
        assert not [fact for fact in await life.facts() if isinstance(fact, e.ApprovalGiven)]
        questions = [fact for fact in await life.facts() if isinstance(fact, e.ApprovalAsked)]
        second = next(one for one in questions if "b/.env" in one.question)
        await life.says(f"/approve {second.digest[:4]}")
        given = [fact.call for fact in await life.facts() if isinstance(fact, e.ApprovalGiven)]
        assert given == [second.call]


async def test_a_button_answers_its_own_question_and_not_the_one_that_took_its_place(tmp_path: Path) -> None:
    """A link leads elsewhere by the time of the answer, so it is asked once more: what is pressed twice is no yes."""
    far = FarEnd()
    places = [tmp_path / "home-work/chat/7" / name for name in ("first", "second")]
    for place in places:
        place.mkdir(parents=True)
    (link := places[0].with_name("link")).symlink_to(places[0])
    async with (
        ModelServer([call("write", {"path": str(link / "x.txt"), "content": "new"}), say("Done.")]) as server,
        town(tmp_path, server, far, sets=ASKING) as life,
    ):
        await life.says("Go on.")
        await far.when(lambda far: asked(far) is not None)
        (first,) = [one.buttons[0].value for one in far.in_chat("7") if one.buttons]
        assert str(places[0]) in shown_in(far)
        link.unlink()
        link.symlink_to(places[1])
        await life.says(Pressed(first))
        await far.when(lambda far: str(places[1]) in shown_in(far))
        await life.says(Pressed(first))
        await life.says("/help")
        await far.when(lambda far: "/approve" in shown_in(far))
        assert not [fact for fact in await life.facts() if isinstance(fact, e.ToolStarted)]
        again = [one.buttons[0].value for one in far.in_chat("7") if one.buttons][-1]
        assert again != first
        await life.says(Pressed(again))
        await far.when(lambda far: any("Done." in text for text in far.texts("7")))
        assert [(place / "x.txt").exists() for place in places] == [False, True]
