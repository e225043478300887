"""What somebody may cost in a day and choose from, alone and with their group: told in numbers, and held."""

from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from angelia.core import entry as e
from angelia.core.errors import ConfigError
from angelia.core.principal import OWNER, Principal
from angelia.service.people.budgets import limits_for
from angelia.service.settings.config import Caps, Config, PersonSettings, PersonTerms, load
from angelia.testing.channels.recording_channel import FarEnd
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say
from tests.chats.town import ANN, BEN, OPEN, Town, town
from tests.store.words import answered

pytestmark = pytest.mark.anyio

ANNS, BENS = Principal("chat", "1"), Principal("chat", "2")


def _answered(chat: str, far: FarEnd) -> bool:
    return bool({"One.", "Two.", "Three."} & set(far.texts(chat)))


async def paid(life: Town, chat: str, dollars: float) -> None:
    """A conversation of a chat has cost so much today."""
    conversation = await life.app.doors.conversation(e.Address("chat", chat))
    assert conversation is not None
    await life.app.transcript.append(conversation, [answered("earlier", cost=round(dollars * 1e6))])


@pytest.mark.parametrize("words", ["And again?", "/queue And again?"])
@pytest.mark.parametrize(
    "sets",
    [
        ("people.chat:2.day_cost=1.0",),
        ("people.chat:2.group=team", "people.chat:3.group=team", "groups.team.day_cost=1.0"),
    ],
    ids=["own", "group"],
)
async def test_who_has_spent_the_days_budget_is_told_so_and_begins_nothing(
    tmp_path: Path, sets: tuple[str, ...], words: str
) -> None:
    far = FarEnd()
    async with ModelServer([say("Yes."), say("Sure.")]) as server, town(tmp_path, server, far, sets=sets) as life:
        await life.says("May I?", chat="8", sender=BEN)
        await far.when(lambda far: "Yes." in far.texts("8"))
        await life.settled()
        await paid(life, "8", 1.25)
        await life.says(words, chat="8", sender=BEN)
        await far.when(lambda far: any("today is $1.25" in text and "cap is $1" in text for text in far.texts("8")))
        assert [fact for fact in await life.facts("8") if isinstance(fact, e.TurnedAway)]
        await life.says("And I?", chat="7", sender=ANN)
        await far.when(lambda far: "Sure." in far.texts("7"))
        assert len(server.requests) == 2


async def test_what_others_of_a_group_have_cost_counts_for_all_of_it(tmp_path: Path) -> None:
    far = FarEnd()
    sets = ("people.chat:2.group=team", "people.chat:3.group=team", "groups.team.day_cost=1.0")
    third = replace(OPEN, allow=("2", "3"))
    script = [say("Yes."), say("Sure.")]
    async with ModelServer(script) as server, town(tmp_path, server, far, third, sets=sets) as life:
        await life.says("May I?", chat="8", sender=BEN)
        await far.when(lambda far: "Yes." in far.texts("8"))
        await life.settled()
        await paid(life, "8", 1.25)
        await life.says("May I, too?", chat="9", sender=replace(BEN, id="3"))
        await far.when(lambda far: any("the group team today is $1.25" in text for text in far.texts("9")))
        assert len(server.requests) == 1


async def test_somebody_chooses_from_their_own_models_then_their_groups_then_the_channels(tmp_path: Path) -> None:
    far = FarEnd()
    sets = (
        *('people.chat:2.model=["openai-chat:own"]', "people.chat:1.role=member"),
        *("people.chat:1.group=team", 'groups.team.model=["openai-chat:theirs"]'),
    )
    channels = replace(OPEN, allow=("2", "3"), model=("openai-chat:channels",))
    script = [say("One."), say("Two."), say("Three.")]
    async with ModelServer(script) as server, town(tmp_path, server, far, channels, sets=sets) as life:
        for number, (chat, own) in enumerate((("8", "2"), ("7", "1"), ("9", "3"))):
            await life.says("Hello.", chat=chat, sender=replace(BEN, id=own))
            await far.when(partial(_answered, chat))
            assert server.requests[number].heard.model == ("own", "theirs", "channels")[number]
        await life.says("/model openai-chat:channels", chat="8", sender=BEN)
        await far.when(lambda far: any("There is no model" in text for text in far.texts("8")))


def test_the_tightest_of_several_caps_holds() -> None:
    person, group = PersonSettings(max_cost=2.0, day_cost=1.5, group="team"), PersonTerms(max_cost=1.0)
    config = Config(people={"chat:2": person}, groups={"team": group})
    costs = [limits_for(config, who, Caps(max_cost=cap)).max_cost for who in (BENS, ANNS, OWNER) for cap in (0.0, 0.5)]
    assert costs == [1.0, 0.5, 0.0, 0.5, 0.0, 0.5]


def test_a_group_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="chat:2 is in the group team, and there is none in"):
        load(tmp_path, {}, ("people.chat:2.group=team",))
