"""What children may cost is put aside in the parent: the tree stays below its cap, but for a request of each."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.entry import Usage
from angelia.core.errors import BadInput
from angelia.core.principal import OWNER
from angelia.service.delegation.plan import Means, plan, put_aside
from angelia.service.delegation.settings import ChildPreset, DelegationSettings
from angelia.testing.model.steps import Speak, call, say, with_usage
from angelia.tools.delegation.access import DelegatedTask
from tests.delegation.family import WAIT, by_task, delegate, family, until

pytestmark = pytest.mark.anyio

PRICE = 250_000
"""What each request costs, millionths of a dollar: 100,000 tokens at 2.50 dollars a million."""
GPT = "openai:gpt-4o"
WORK = [call("write", {"path": f"{number}.txt", "content": "x"}) for number in range(50)]


def priced(*steps: Speak) -> list[Speak]:
    return [with_usage(step, Usage(100_000, 0)) for step in steps]


@pytest.mark.parametrize("cap", ["limits.max_cost=3", "limits.day_cost=3"])
async def test_a_tree_that_always_works_and_delegates_stays_below_its_cap_but_for_a_request_of_each(
    tmp_path: Path, cap: str
) -> None:
    endless = [delegate(*[f"endless {number}" for number in range(2)])]
    script = by_task({"endless": priced(*WORK), "Begin": priced(*endless * 50)})
    async with family(tmp_path, script, sets=(cap,), model=GPT) as (talk, server):
        await talk.say("Begin.")
        ending = await talk.ending()
        assert isinstance(ending, end.BudgetSpent)
        await until(talk, lambda: not talk.session.children)
        children = len(talk.facts(e.WorkStarted))
        assert children >= 2
        paid = (await talk.app.transcript.spent(OWNER, 0)).cost
        assert paid == len(server.requests) * PRICE, "to the cent"
        assert paid <= 3_000_000 + PRICE * (children + 1)
        for started, ended in zip(talk.facts(e.WorkStarted), sorted_ends(talk.facts(e.WorkEnded)), strict=True):
            assert started.child is not None
            assert ended.child is not None
            assert ended.child.cost <= started.child.terms.max_cost + PRICE


def sorted_ends(ends: Sequence[e.WorkEnded]) -> list[e.WorkEnded]:
    """In the order in which they were begun."""
    return sorted(ends, key=lambda fact: int(fact.call[1:]))


async def test_what_a_child_has_cost_is_the_parents_and_what_was_put_aside_is_free_again(tmp_path: Path) -> None:
    script = by_task(
        {"once": priced(say("Done.")), "Begin": priced(delegate({"task": "once", "max_cost": 2}), WAIT, say("Done."))}
    )
    async with family(tmp_path, script, sets=("limits.max_cost=3",), model=GPT) as (talk, _):
        seen: list[tuple[int, int]] = []
        talk.session.log.listen(
            lambda _: seen.append((talk.session.turn.cost, sum(talk.session.turn.reserved.values())))
        )
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        assert (PRICE, 2_000_000) in seen
        assert (PRICE * 3, 0) in seen, "two requests of its own, and one of the child's"


async def test_more_than_is_left_is_not_put_aside_and_the_model_is_told_how_much_there_is(tmp_path: Path) -> None:
    script = by_task({"Begin": priced(delegate({"task": "dear", "max_cost": 5}), say("Then not."))})
    async with family(tmp_path, script, sets=("limits.max_cost=3",), model=GPT) as (talk, _):
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        assert talk.facts(e.WorkStarted) == []
        (refused,) = talk.facts(e.ToolFinished)
        assert "$5.0000 are wished for, and $2.7500 are left" in str(refused.parts)


MEANS = Means(
    settings=DelegationSettings(),
    presets={"reader": ChildPreset("reads", "Read slowly.", "openai:small", ("read",), 0.2, 7)},
    opened=0,
    money=None,
    model="openai:large",
    models=("openai:large", "openai:small"),
    tools=("read", "shell"),
    no_copy="The folder lies in ssh, and only one of this machine can be copied.",
)


def test_what_is_left_open_comes_from_the_preset_then_from_the_settings() -> None:
    (plain,) = plan([DelegatedTask("Look.")], MEANS)
    assert (plain.model, plain.tools, plain.max_cost, plain.max_steps) == ("openai:large", (), 1_000_000, 50)
    (preset,) = plan([DelegatedTask("Look.", helper="reader", max_steps=3)], MEANS)
    assert preset.task == "Read slowly.\n\nLook."
    assert (preset.model, preset.tools, preset.max_cost, preset.max_steps) == ("openai:small", ("read",), 200_000, 3)


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (DelegatedTask("Look.", helper="writer"), "There are: reader."),
        (DelegatedTask("Look.", model="openai:huge"), "There are: openai:large, openai:small."),
        (DelegatedTask("Look.", tools=("ask_user",)), "There are: read, shell."),
        (DelegatedTask("  "), "There is nothing to do in it"),
        (DelegatedTask("Look.", max_cost=-1), "a cap is below 0"),
        (DelegatedTask("Look.", workspace="copy"), "only one of this machine can be copied"),
    ],
    ids=["helper", "model", "tool", "nothing", "cap", "copy"],
)
def test_what_there_is_not_is_named_with_what_there_is(task: DelegatedTask, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        plan([task], MEANS)


def test_whoever_delegates_keeps_something_to_go_on_with() -> None:
    for left in (1, 10, 999_999, 7_000_000):
        for count in (1, 2, 5):
            try:
                costs = put_aside([0] * count, 1_000_000, left)
            except BadInput:
                assert left // 2 // count == 0
            else:
                assert sum(costs) <= left / 2
                assert min(costs) > 0
    with pytest.raises(BadInput):
        put_aside([600_000, 400_000], 1_000_000, 1_000_000)
