"""Only owners approve, in their own chat, seeing for whom; others leave the owner's turns and questions alone."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from angelia.channels.incoming import Pressed
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.person_role import PersonRole
from angelia.core.principal import OWNER, Principal
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


@pytest.mark.soak(every=9)
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
async def test_what_a_member_needs_is_asked_in_the_owners_chat_saying_for_whom(tmp_path: Path, kind: str) -> None:
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


BEN_IS = "people.chat:2.role="
"""The setting that says what Ben is, whom the channel's `allow` makes a member."""


@pytest.mark.parametrize(
    ("known", "role", "why"),
    [
        (False, PersonRole.MEMBER, "nobody is here who could give it"),
        (True, PersonRole.GUEST, "in a turn of a guest nobody is asked"),
    ],
)
async def test_a_guest_and_whoever_has_nobody_to_ask_is_refused(
    tmp_path: Path, known: bool, role: PersonRole, why: str
) -> None:
    far, sets = FarEnd(), ("sandbox.confine=off", f"{BEN_IS}{role}")
    async with ModelServer([RISKY, say("Refused.")]) as server, town(tmp_path, server, far, sets=sets) as life:
        if known:
            await met(life, far)
        await life.says("Clean up.", chat="8", sender=BEN)
        await far.when(lambda far: "Refused." in far.texts("8"))
        assert why in str(server.requests[1].heard.messages)
        assert not any(one.buttons for chat in ("7", "8") for one in far.in_chat(chat))


async def test_the_models_own_question_is_still_the_guests(tmp_path: Path) -> None:
    far = FarEnd()
    ask = call("ask_user", {"question": "Which colour?", "choices": ["red", "green"]})
    sets = (f"{BEN_IS}guest",)
    async with ModelServer([ask, say("Green it is.")]) as server, town(tmp_path, server, far, sets=sets) as life:
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
        assert sum("not yours" in text or "only an admin or the owner" in text for text in far.texts("g")) == 5
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


@pytest.mark.parametrize("role", PersonRole)
async def test_who_is_let_in_as_an_owner_approves_and_nobody_else_does(tmp_path: Path, role: PersonRole) -> None:
    far = FarEnd()
    nobody = replace(OPEN, owners=(), allow=())
    async with ModelServer([RISKY, say("Ended.")]) as server, town(tmp_path, server, far, nobody) as life:
        await life.says("hello", chat="7", sender=ANN)
        code = far.texts("7")[0].partition("Your code is ")[2][:8]
        await life.app.admission.pairings.approve(code, by=OWNER, role=role)
        await life.says("Clean up.", chat="7", sender=ANN)
        if role is PersonRole.OWNER:
            await far.when(lambda far: bool(asked(far, "7")))
            await life.says(Pressed(asked(far, "7")[0].buttons[0].value), chat="7")
        await far.when(lambda far: "Ended." in far.texts("7"))
        assert await given(life, "7") == ([OWNER] if role is PersonRole.OWNER else [])


async def test_an_admin_leads_a_group_and_lets_in_members_but_approves_nothing(tmp_path: Path) -> None:
    far, sets = FarEnd(), ("sandbox.confine=off", f"{BEN_IS}admin")
    async with ModelServer([hang(), RISKY, say("Ended.")]) as server, town(tmp_path, server, far, sets=sets) as life:
        await life.says("hello", chat="99", sender=STRANGER)
        await far.when(lambda far: bool(far.in_chat("99")))
        code = far.texts("99")[0].partition("Your code is ")[2][:8]
        await life.says("Begin.", chat="g", private=False)
        await server.when(lambda server: len(server.requests) == 1)
        await life.says("/stop", chat="g", sender=BEN, private=False)
        await far.when(lambda far: "Stopping." in far.texts("g"))
        await life.settled()
        await life.says("Clean up.", chat="g", private=False)
        await far.when(lambda far: bool(asked(far, "g")))
        press = asked(far, "g")[0].buttons[0].value
        assert "not yours" in await life.says(Pressed(press), chat="g", sender=BEN, private=False)
        assert await given(life, "g") == []
        await life.says(f"/admit {code} owner", chat="8", sender=BEN)
        await far.when(lambda far: any("Only the owner lets in as owner." in text for text in far.texts("8")))
        await life.says(f"/admit {code} member", chat="8", sender=BEN)
        await far.when(lambda far: any("may talk to me now, as a member." in text for text in far.texts("8")))
        (paired,) = await life.app.admission.pairings.list(OWNER)
        assert (paired.role, paired.approved_by) == (PersonRole.MEMBER, Principal("chat", "2"))


@pytest.mark.parametrize("role", [PersonRole.GUEST, PersonRole.MEMBER])
async def test_members_and_guests_let_nobody_in(tmp_path: Path, role: PersonRole) -> None:
    far, sets = FarEnd(), (f"{BEN_IS}{role}",)
    async with ModelServer([]) as server, town(tmp_path, server, far, sets=sets) as life:
        await life.says("hello", chat="99", sender=STRANGER)
        await far.when(lambda far: bool(far.in_chat("99")))
        code = far.texts("99")[0].partition("Your code is ")[2][:8]
        await life.says(f"/admit {code}", chat="8", sender=BEN)
        await far.when(lambda far: any("Only an admin or the owner" in text for text in far.texts("8")))
        assert await life.app.admission.pairings.list(OWNER) == []


async def test_a_guest_has_no_say_in_the_turn_of_somebody_else(tmp_path: Path) -> None:
    far, sets = FarEnd(), ("sandbox.confine=off", f"{BEN_IS}guest")
    slow = call("shell", {"command": "sleep 1"})
    script = [slow, RISKY, say("Left alone."), say("Read later.")]
    async with ModelServer(script) as server, town(tmp_path, server, far, sets=sets) as life:
        await life.says("Begin.", chat="g", private=False)
        await server.when(lambda server: len(server.requests) == 1)
        await life.says("Clean up.", chat="g", sender=BEN, private=False)
        await far.when(lambda far: bool(asked(far, "g")))
        (question,) = asked(far, "g")
        assert await life.says(Pressed(question.buttons[-1].value), chat="g", private=False) == "Refused"
        await far.when(lambda far: any("Read later." in text for text in far.texts("g")))
        arrivals = [fact.arrival for fact in await life.facts("g") if isinstance(fact, e.UserSaid)]
        assert arrivals == [e.Arrival.STEER, e.Arrival.QUEUE]


async def test_whom_the_settings_name_is_what_they_say_there(tmp_path: Path) -> None:
    far = FarEnd()
    sets = ("people.chat:99.role=owner", "people.chat:1.role=guest", "sandbox.confine=off")
    async with ModelServer([RISKY, say("Refused."), RISKY]) as server, town(tmp_path, server, far, sets=sets) as life:
        await life.says("Clean up.", chat="7", sender=ANN)
        await far.when(lambda far: "Refused." in far.texts("7"))
        await life.says("Clean up.", chat="99", sender=STRANGER)
        await far.when(lambda far: bool(asked(far, "99")))
        assert asked(far, "7") == []
