"""Only owners approve, in their own chat and seeing for whom; a guest leaves the owner's turns and questions alone."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from angelia.channels.incoming import Pressed
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.principal import OWNER, Principal
from angelia.store.tables.pairings import PairingRole
from angelia.testing.channels.recording_channel import FarEnd, RecordedMessage
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, hang, say
from tests.chats.networks import NETWORKS, network
from tests.chats.town import ANN, BEN, OPEN, STRANGER, Town, town

pytestmark = pytest.mark.anyio

RISKY = call("shell", {"command": "rm -rf /etc/nothing-of-ours"})


def asked(far: FarEnd, chat: str) -> list[RecordedMessage]:
    """The messages in a chat by which a permission is given."""
    return [one for one in far.in_chat(chat) if one.buttons or "Answer with the number" in one.plain]


async def given(life: Town, chat: str) -> list[Principal]:
    """By whom something was allowed in a chat's conversation."""
    return [fact.by for fact in await life.facts(chat) if isinstance(fact, e.ApprovalGiven)]


async def met(life: Town, far: FarEnd) -> None:
    """The owner has a chat of their own, 7."""
    await life.says("/status", chat="7")
    await life.answered(1, "7")


@pytest.mark.parametrize("kind", NETWORKS)
async def test_a_guests_press_and_words_are_not_theirs_on_every_network(tmp_path: Path, kind: str) -> None:
    far, known = FarEnd(), network(kind)
    async with (
        ModelServer([RISKY, say("Left alone.")]) as server,
        town(tmp_path, server, far, capabilities=known.capabilities, dialect=known.dialect) as life,
    ):
        await life.says("Clean up.", chat="g", private=False)
        await far.when(lambda far: bool(asked(far, "g")))
        (question,) = asked(far, "g")
        for press in (button.value for button in question.buttons):
            assert "not yours" in await life.says(Pressed(press), chat="g", sender=BEN, private=False)
            assert "not yours" in await life.says(Pressed(press), chat="g", sender=STRANGER, private=False)
        for words in ("1", "/approve", "/deny"):
            await life.says(words, chat="g", sender=BEN, private=False)
        many = 3 + bool(question.buttons)
        await far.when(lambda far: sum("not yours" in one.plain for one in far.in_chat("g")) == many)
        assert await given(life, "g") == []
        await life.says("/deny", chat="g", private=False)
        await far.when(lambda far: any("Left alone." in text for text in far.texts("g")))


@pytest.mark.parametrize("kind", NETWORKS)
async def test_what_a_guest_needs_is_asked_in_the_owners_chat_saying_for_whom(tmp_path: Path, kind: str) -> None:
    far, known = FarEnd(), network(kind)
    async with (
        ModelServer([RISKY, say("Done as told.")]) as server,
        town(tmp_path, server, far, capabilities=known.capabilities, dialect=known.dialect) as life,
    ):
        await met(life, far)
        await life.says("Clean up.", chat="8", sender=BEN)
        await far.when(lambda far: bool(asked(far, "7")))
        (question,) = asked(far, "7")
        told = "\n".join(one.plain for one in far.in_chat("7"))
        assert "chat:2" in told
        assert "rm -rf /etc/nothing-of-ours" in told
        await far.when(lambda far: any("needs the owner's yes" in one.plain for one in far.in_chat("8")))
        assert asked(far, "8") == []
        await life.says("/approve", chat="8", sender=BEN)
        await far.when(lambda far: any("not yours" in one.plain for one in far.in_chat("8")))
        assert await given(life, "8") == []
        await life.says(Pressed(question.buttons[0].value) if question.buttons else "1", chat="7")
        await far.when(lambda far: any("Done as told." in text for text in far.texts("8")))
        assert await given(life, "8") == [OWNER]


@pytest.mark.parametrize("known", [True, False])
async def test_without_anybody_to_ask_a_guest_is_refused(tmp_path: Path, known: bool) -> None:
    far = FarEnd()
    settings = replace(OPEN, guests="confined" if known else "ask-owner")
    async with ModelServer([RISKY, say("Refused.")]) as server, town(tmp_path, server, far, settings) as life:
        if known:
            await met(life, far)
        await life.says("Clean up.", chat="8", sender=BEN)
        await far.when(lambda far: "Refused." in far.texts("8"))
        assert "nobody is here who could give it" in str(server.requests[1].heard.messages)
        assert not any(one.buttons for chat in ("7", "8") for one in far.in_chat(chat))


async def test_the_models_own_question_is_still_the_guests(tmp_path: Path) -> None:
    far = FarEnd()
    ask = call("ask_user", {"question": "Which colour?", "choices": ["red", "green"]})
    settings = replace(OPEN, guests="confined")
    async with ModelServer([ask, say("Green it is.")]) as server, town(tmp_path, server, far, settings) as life:
        await life.says("Paint.", chat="8", sender=BEN)
        await far.when(lambda far: bool(asked(far, "8")))
        await life.says(Pressed(asked(far, "8")[0].buttons[1].value), chat="8", sender=BEN)
        await far.when(lambda far: "Green it is." in far.texts("8"))
        assert await given(life, "8") == [Principal("chat", "2")]


async def test_what_the_owner_was_granted_is_no_guests(tmp_path: Path) -> None:
    far = FarEnd()
    run = call("shell", {"command": "python3 --version"})
    sets = ("sandbox.confine=off", "policy.mode=ask")
    script = [run, say("Once."), run, say("Twice."), run, say("Refused.")]
    async with ModelServer(script) as server, town(tmp_path, server, far, sets=sets) as life:
        await life.says("Run.", chat="g", private=False)
        await far.when(lambda far: bool(asked(far, "g")))
        lasting = next(one for one in asked(far, "g")[0].buttons if "this conversation" in one.label)
        await life.says(Pressed(lasting.value), chat="g", private=False)
        await far.when(lambda far: any("Once." in text for text in far.texts("g")))
        await life.says("Run.", chat="g", private=False)
        await far.when(lambda far: any("Twice." in text for text in far.texts("g")))
        await life.says("Run.", chat="g", sender=BEN, private=False)
        await far.when(lambda far: any("Refused." in text for text in far.texts("g")))
        assert "nobody is here who could give it" in str(server.requests[-1].heard.messages[-1])
        assert await given(life, "g") == [OWNER]


async def test_a_guest_neither_stops_the_owners_turn_nor_takes_the_group_elsewhere(tmp_path: Path) -> None:
    far = FarEnd()
    async with ModelServer([hang()]) as server, town(tmp_path, server, far) as life:
        await life.says("Begin.", chat="g", private=False)
        await server.when(lambda server: len(server.requests) == 1)
        before = await life.app.doors.conversation(e.Address("chat", "g"))
        for verb in ("/stop", "/new", "/resume x", "/sandbox lab", "/compact"):
            await life.says(verb, chat="g", sender=BEN, private=False)
        await life.answered(5, "g")
        assert sum("not yours" in text or "only the owner" in text for text in far.texts("g")) == 5
        assert await life.app.doors.conversation(e.Address("chat", "g")) == before
        assert not [fact for fact in await life.facts("g") if isinstance(fact, e.TurnClosed)]
        await life.says("/stop", chat="g", private=False)
        await far.when(lambda far: "Stopping." in far.texts("g"))
        await life.settled()
        closed = [fact.ending for fact in await life.facts("g") if isinstance(fact, e.TurnClosed)]
        assert closed == [end.Cancelled(OWNER)]


@pytest.mark.parametrize("words", ["what is this?", "/steer hurry"])
async def test_a_guests_chatter_withdraws_no_question_of_the_owners(tmp_path: Path, words: str) -> None:
    far = FarEnd()
    script = [RISKY, say("Left alone."), say("That was a question.")]
    async with ModelServer(script) as server, town(tmp_path, server, far) as life:
        await life.says("Clean up.", chat="g", private=False)
        await far.when(lambda far: bool(asked(far, "g")))
        await life.says(words, chat="g", sender=BEN, private=False)
        await far.when(lambda far: any("waits for the owner's answer" in text for text in far.texts("g")))
        (question,) = asked(far, "g")
        assert await life.says(Pressed(question.buttons[-1].value), chat="g", private=False) == "Refused"
        await far.when(lambda far: any("That was a question." in text for text in far.texts("g")))
        assert [fact.by for fact in await life.facts("g") if isinstance(fact, e.ApprovalRefused)] == [OWNER]


@pytest.mark.parametrize("role", PairingRole)
async def test_who_is_let_in_as_an_owner_approves_and_a_guest_does_not(tmp_path: Path, role: PairingRole) -> None:
    far = FarEnd()
    nobody = replace(OPEN, owners=(), allow=())
    async with ModelServer([RISKY, say("Ended.")]) as server, town(tmp_path, server, far, nobody) as life:
        await life.says("hello", chat="7", sender=ANN)
        code = far.texts("7")[0].partition("Your code is ")[2][:8]
        await life.app.pairings.approve(code, by=OWNER, role=role)
        await life.says("Clean up.", chat="7", sender=ANN)
        if role is PairingRole.OWNER:
            await far.when(lambda far: bool(asked(far, "7")))
            await life.says(Pressed(asked(far, "7")[0].buttons[0].value), chat="7")
        await far.when(lambda far: "Ended." in far.texts("7"))
        assert await given(life, "7") == ([OWNER] if role is PairingRole.OWNER else [])
