"""The verbs act at once, at every step of a turn; questions are answered by those who may."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from angelia.channels.incoming import Pressed
from angelia.channels.settings import ChatSettings
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.principal import OWNER
from angelia.service.command_port import CommandPlace
from angelia.service.commands import menu
from angelia.testing.channels.recording_channel import WITHOUT_EDIT, FarEnd
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, hang, say
from tests.chats.town import BEN, OPEN, Town, town
from tests.promise.pipes import pipes, write, written

pytestmark = pytest.mark.anyio

RISKY = call("shell", {"command": "rm -rf /etc/nothing-of-ours"})
GATED = call("shell", {"command": "echo runs > runs; cat go"})


def said_in(request: ReceivedRequest) -> str:
    """What people said, as the model heard it; notes of ours left out."""
    said = [message.text for message in request.heard.messages if message.role == "user"]
    return ", ".join(text for text in said if "[note" not in text)


def folder(life: Town, chat: str = "7") -> Path:
    """Where the conversations of a chat work."""
    home = life.app.loaded.home
    return home.with_name(f"{home.name}-work") / "chat" / chat


@pytest.mark.parametrize("verb", sorted(set(menu(CommandPlace.CHAT)) - {"new"}))
async def test_every_verb_is_answered_before_there_is_a_conversation(tmp_path: Path, verb: str) -> None:
    far = FarEnd()
    async with ModelServer(lambda _: say("Heard.")) as server, town(tmp_path, server, far) as life:
        await life.says(f"/{verb}")
        assert all(await life.answered(1))


@pytest.mark.parametrize("verb", sorted(menu(CommandPlace.CHAT)))
async def test_every_verb_is_answered_while_a_tool_runs(tmp_path: Path, verb: str) -> None:
    far = FarEnd()
    script = [GATED, *[say("Done.")] * 3]
    async with ModelServer(script) as server, town(tmp_path, server, far, capabilities=WITHOUT_EDIT) as life:
        place = folder(life)
        place.mkdir(parents=True)
        pipes(place, "runs", "go")
        await life.says("Begin.")
        await written(place / "runs")
        words = {"queue": "then this", "steer": "mind this", "deny": "no", "resume": "zzzz"}
        await life.says(f"/{verb} {words.get(verb, '')}")
        await far.when(lambda far: len(far.in_chat("7")) >= 1)
        if verb != "stop":
            await write(place / "go", "gone\n")
        await far.when(lambda far: any("Done." in text or "stopped" in text.lower() for text in far.texts("7")))
        assert len(far.texts("7")) > 1


async def test_stop_ends_the_turn_and_says_so(tmp_path: Path) -> None:
    far = FarEnd()
    async with ModelServer([hang()]) as server, town(tmp_path, server, far) as life:
        await life.says("Begin.")
        await server.when(lambda server: len(server.requests) == 1)
        await life.says("/stop")
        await life.answered(2)
        await life.settled()
        closed = [fact.ending for fact in await life.facts() if isinstance(fact, e.TurnClosed)]
        assert closed == [end.Cancelled(OWNER)]
        assert "Stopping." in far.texts("7")


async def test_a_question_comes_with_buttons_that_are_bound_to_its_call(tmp_path: Path) -> None:
    far = FarEnd()
    async with ModelServer([RISKY, say("Left alone.")]) as server, town(tmp_path, server, far) as life:
        await life.says("Clean up.")
        await far.when(lambda far: any(message.buttons for message in far.in_chat("7")))
        asked = next(message for message in far.in_chat("7") if message.buttons)
        assert asked.buttons[0].label == "Allow once"
        assert all(len(button.value.encode()) <= 64 for button in asked.buttons)
        yes, no = asked.buttons[0], asked.buttons[-1]
        forged = Pressed(yes.value[:-8] + "00000000")
        assert "not open" in await life.says(forged)
        assert await life.says(Pressed(no.value)) == "Refused"
        await far.when(lambda far: "Left alone." in far.texts("7"))
        assert await life.says(Pressed(no.value)) == "Refused"
        late = "This question was answered before: no, by the owner. Your answer changed nothing."
        assert [await life.says(Pressed(yes.value)) for _ in range(2)] == [late, late]
        await far.when(lambda far: late in far.texts("7"))
        assert far.texts("7").count(late) == 1, "said once in the chat, whatever the network shows of a press"
        facts = await life.facts()
        assert not [fact for fact in facts if isinstance(fact, e.ApprovalGiven)]
        assert [fact.by for fact in facts if isinstance(fact, e.ApprovalRefused)] == [OWNER]


async def test_a_question_survives_a_restart_and_is_asked_once(tmp_path: Path) -> None:
    far = FarEnd()
    async with ModelServer([RISKY, say("Done as told.")]) as server:
        async with town(tmp_path, server, far) as life:
            await life.says("Clean up.")
            await far.when(lambda far: any(message.buttons for message in far.in_chat("7")))
        async with town(tmp_path, server, far) as life:
            asked = [message for message in far.in_chat("7") if message.buttons]
            assert len(asked) == 1
            assert await life.says(Pressed(asked[0].buttons[0].value)) == "Allowed"
            await far.when(lambda far: "Done as told." in far.texts("7"))


async def test_without_buttons_the_number_answers(tmp_path: Path) -> None:
    far = FarEnd()
    async with (
        ModelServer([RISKY, say("Left alone.")]) as server,
        town(tmp_path, server, far, capabilities=WITHOUT_EDIT) as life,
    ):
        await life.says("Clean up.")
        await far.when(lambda far: any("Answer with the number" in text for text in far.texts("7")))
        asked = next(text for text in far.texts("7") if "Answer with the number" in text)
        number = next(line.partition(".")[0] for line in asked.splitlines() if line.endswith("No"))
        await life.says(number)
        await far.when(lambda far: "Left alone." in far.texts("7"))
        assert [fact.by for fact in await life.facts() if isinstance(fact, e.ApprovalRefused)] == [OWNER]


async def test_a_queued_message_is_read_after_the_turn_and_steering_within_it(tmp_path: Path) -> None:
    far = FarEnd()
    script = [GATED, say("First."), say("Second.")]
    async with ModelServer(script) as server, town(tmp_path, server, far, capabilities=WITHOUT_EDIT) as life:
        place = folder(life)
        place.mkdir(parents=True)
        pipes(place, "runs", "go")
        await life.says("Begin.")
        await written(place / "runs")
        await life.says("/queue then this")
        await life.says("and mind that")
        await write(place / "go", "gone\n")
        await far.when(lambda far: "Second." in far.texts("7"))
        assert server.requests[1].heard.last_words == "and mind that"
        assert server.requests[2].heard.last_words == "then this"
        assert any("number 1" in text for text in far.texts("7"))
        assert any("next step" in text for text in far.texts("7"))


async def test_new_begins_anew_and_resume_comes_back(tmp_path: Path) -> None:
    far = FarEnd()
    async with ModelServer(lambda request: say(f"Heard {said_in(request)}.")) as server:  # noqa: SIM117
        async with town(tmp_path, server, far, capabilities=WITHOUT_EDIT) as life:
            await life.says("one")
            await life.answered(1)
            first = await life.app.doors.conversation(e.Address("chat", "7"))
            await life.says("/new")
            await life.says("two")
            await life.answered(3)
            assert await life.app.doors.conversation(e.Address("chat", "7")) != first
            assert first is not None
            await life.says(f"/resume {first[-8:]}")
            await life.answered(4)
            assert await life.app.doors.conversation(e.Address("chat", "7")) == first
            await life.says("three")
            await life.answered(5)
            assert far.texts("7")[-1] == "Heard one, three."


CHATHAM = ("sandbox.confine=off", "schedule.zone=Pacific/Chatham")


async def test_nobody_reaches_anothers_conversations_and_only_presets_are_offered(tmp_path: Path) -> None:
    far = FarEnd()
    settings = replace(OPEN, model=("openai-chat:m", "openai-chat:other"))
    async with (
        ModelServer(lambda _: say("Yes.")) as server,
        town(tmp_path, server, far, settings, sets=CHATHAM) as life,
    ):
        await life.says("mine", chat="7")
        await life.answered(1, "7")
        mine = await life.app.doors.conversation(e.Address("chat", "7"))
        assert mine is not None
        await life.says("hello", chat="8", sender=BEN)
        await life.answered(1, "8")
        await life.says("/sessions", chat="8", sender=BEN)
        await life.says(f"/resume {mine[-8:]}", chat="8", sender=BEN)
        await life.says("/model openai-chat:expensive", chat="8", sender=BEN)
        texts = await life.answered(4, "8")
        assert mine[-8:] not in texts[1]
        assert "LAST USED (Pacific/Chatham)" in texts[1], "nobody far away takes its times for theirs"
        assert "fits 0" in texts[2]
        assert "There is no model" in texts[3]
        await life.says("/model openai-chat:other", chat="8", sender=BEN)
        await life.says("again", chat="8", sender=BEN)
        await life.answered(6, "8")
        assert server.requests[-1].body["model"] == "other"


async def test_a_chat_works_where_its_channel_or_it_says_and_moves_by_sandbox(tmp_path: Path) -> None:
    far = FarEnd()
    settings = replace(OPEN, sandbox=("lab", "box"), chats={"8": ChatSettings(sandbox="box")})
    sets = (*(f"sandbox.presets.{name}.spec=local" for name in ("lab", "box")), "sandbox.confine=off")

    async def preset(life: Town, chat: str) -> str:
        (begun,) = [fact for fact in await life.facts(chat) if isinstance(fact, e.ConversationOpened)]
        return begun.preset

    async with (
        ModelServer(lambda _: say("Heard.")) as server,
        town(tmp_path, server, far, settings, sets=sets) as life,
    ):
        for chat, name in (("7", "lab"), ("8", "box")):
            await life.says("Hello.", chat=chat)
            await life.answered(1, chat)
            assert await preset(life, chat) == name
        await life.says("/sandbox")
        (_, offer) = await life.answered(2)
        assert offer.splitlines()[:3] == ["here: local (preset lab)", "lab: local", "box: local"]
        await life.says("/sandbox attic")
        (*_, refusal) = await life.answered(3)
        assert "There is no sandbox “attic” for this channel." in refusal
        assert await preset(life, "7") == "lab"
        await life.says("/sandbox box")
        (*_, moved) = await life.answered(4)
        assert "A new conversation in local (preset box)" in moved
        assert await preset(life, "7") == "box"
