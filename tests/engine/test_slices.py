"""A long log is folded in slices: the same fold, and others have their turn between."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

import pytest

from angelia.context import view as views
from angelia.context.view import View
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.ids import new_conversation
from angelia.core.profile import Ability, Profile
from angelia.core.slices import SLICE, SlicedFold
from angelia.engine import state
from angelia.engine.state import Turn
from angelia.service.app import App
from angelia.service.settings.config import load
from angelia.testing.logs.random_logs import log_from
from tests.engine.driven import driven

PROFILE = Profile("scripted:m", "scripted", "m", "openai-chat", images=Ability.YES)
TURN, VIEW = Turn(), View(PROFILE)
SLICES = 6

Folds = dict[str, tuple[Callable[[list[e.Entry]], object], Callable[[list[e.Entry]], SlicedFold[object]]]]
FOLDS: Folds = {
    "turn": (lambda log: state.advance(TURN, log), lambda log: state.folding(TURN, log)),
    "view": (lambda log: views.advance(VIEW, log), lambda log: views.folding(VIEW, log)),
}


def long_log(random: Random, length: int) -> list[e.Entry]:
    """Many random conversations, one behind the other."""
    facts: list[e.AnyFact] = []
    while len(facts) < length:
        facts += [entry.fact for entry in log_from(random.randbytes(300))]
    return [e.Entry(seq, seq, fact) for seq, fact in enumerate(facts[:length], 1)]


@pytest.mark.parametrize("name", FOLDS)
def test_folding_in_slices_is_folding_at_once_whatever_is_appended_meanwhile(name: str) -> None:
    at_once, in_slices = FOLDS[name]
    random = Random(13)
    for length in (SLICE - 1, SLICE, SLICE + 1, 3 * SLICE + 7, 5 * SLICE):
        log, later = long_log(random, length), long_log(random, 20)
        whole, growing = at_once(log), [*log]
        pauses, found = 0, None
        fold = in_slices(growing)
        while found is None:
            try:
                next(fold)
                pauses += 1
                growing += later
            except StopIteration as done:
                found = done.value
        assert found == whole
        moved = name == "view" and any(isinstance(entry.fact, e.ViewMoved) for entry in log)
        assert pauses == length // SLICE or moved  # after a view move only what is in sight is folded


async def rounds_during(work: Awaitable[object], counted: Callable[[], bool] = lambda: True) -> int:
    """How often another task has its turn while this one is under way, and `counted` holds."""
    rounds = 0

    async def other() -> None:
        nonlocal rounds
        while True:
            await asyncio.sleep(0)
            rounds += counted()

    beside = asyncio.create_task(other())
    await asyncio.sleep(0)  # it begins
    await work
    beside.cancel()
    return rounds


def told(number: int) -> list[e.AnyFact]:
    return [e.SystemSaid(f"note {at}") for at in range(number)]


@pytest.mark.anyio
async def test_others_have_their_turn_after_every_slice_while_a_conversation_is_opened(tmp_path: Path) -> None:
    name, env = new_conversation(), {"HOME": str(tmp_path)}
    app = await App.open(load(tmp_path / "home", env), env)
    await app.transcript.append(name, [e.ConversationOpened("chat", "/"), *told(SLICES * SLICE)])
    opening = asyncio.create_task(app.conversations.resume(name, door="chat"))
    assert await rounds_during(opening, lambda: bool(app.conversations.sessions[name].log.entries)) >= SLICES
    session = await opening
    assert session.turn == state.advance(TURN, session.log.entries)
    await app.close()


@pytest.mark.anyio
async def test_others_have_their_turn_after_every_slice_when_a_conversation_is_first_driven(tmp_path: Path) -> None:
    async with driven(tmp_path, []) as one:
        await one.log.append(*told(SLICES * SLICE))
        lease, _, _ = await one.transcript.take_up(one.log.conversation, "a test", len(one.log.entries), 0)
        driver = await one.driver()
        assert await rounds_during(driver.drive(lease)) >= SLICES  # there is nothing to do, and nothing is waited for
        await one.log.append(e.UserSaid((Text("Go on."),)))
        assert await rounds_during(driver.catch_up()) >= SLICES  # the view, since a turn is open
        await lease.release()
