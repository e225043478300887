"""How a connection stands: tried until the network refuses us, and a gap is told as long as it can have been."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from angelia.channels.connection_state import ConnectionState
from angelia.channels.failures import ChannelError, Later, LoginFailed, NotSent
from angelia.channels.health import ConnectionHealth, Health
from angelia.channels.port import ChannelContext

pytestmark = pytest.mark.anyio
Refused = LoginFailed("The token is not known.")


class Scene:
    """A channel's context, its clock and what was told; `standing` takes a connection for dead after 60 s."""

    def __init__(
        self, changed: Callable[[ConnectionHealth, ConnectionHealth], None] = lambda before, now: None
    ) -> None:
        self.now = 1_000_000
        self.told: list[Health] = []

        async def nobody(*_: Any) -> NoReturn:
            raise AssertionError("nothing else is asked of a context")

        wall, steady = (lambda: 0), (lambda: self.now)  # the machine's clock is set back, and that changes nothing
        context = ChannelContext("door", Path(), wall, nobody, nobody, nobody, self.told.append, {}, steady)
        self.standing = ConnectionState(context, 0.0, 60.0, changed)

    async def meets(self, *ends: ChannelError, lost: Callable[[ChannelError], None] = lambda error: None) -> int:
        """How often it connected until the network refused it; each connection is well, then ends like this."""
        left = iter((*ends, Refused))
        tries = 0

        async def connect() -> None:
            nonlocal tries
            tries += 1
            self.standing.well()
            raise next(left)

        with pytest.raises(LoginFailed):
            await self.standing.hold(connect, lost)
        return tries


async def test_it_is_tried_again_until_the_network_refuses_us() -> None:
    scene = Scene()
    assert await scene.meets(NotSent("reset"), Later(0.0), NotSent("closed")) == 4
    states = [one.state for one in scene.told]
    assert states == [
        ConnectionHealth.CONNECTING,
        *[ConnectionHealth.CONNECTED, ConnectionHealth.WAITING] * 3,
        ConnectionHealth.CONNECTED,
        ConnectionHealth.STOPPED,
    ]
    assert scene.told[-1].why == str(scene.standing.refused) == str(Refused)
    assert await scene.meets() == 1, "a later life tries again"


async def test_the_next_try_is_as_late_as_the_network_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    await Scene().meets(Later(4711.0), NotSent("reset"))
    assert pauses == [4711.0, 0.0]


async def test_failures_are_counted_until_the_network_is_there_again() -> None:
    scene, counted = Scene(), list[int]()
    left = iter((NotSent("no"), NotSent("no"), None, NotSent("reset"), Refused))

    async def connect() -> None:
        if (end := next(left)) is None:
            scene.standing.well()
            end = next(left)
        assert end
        raise end

    with pytest.raises(LoginFailed):
        await scene.standing.hold(connect, lambda error: counted.append(scene.standing.failures))
    assert counted == [1, 2, 1]


@pytest.mark.parametrize(("heard_ago", "away", "gap"), [(5_000, 7_000, 12_000), (3_600_000, 7_000, 67_000)])
async def test_a_gap_is_told_as_long_as_it_can_have_been_and_no_longer(heard_ago: int, away: int, gap: int) -> None:
    """It began with the last sign of life, or as long before it was noticed as silence is borne."""
    scene = Scene()
    scene.standing.well()
    assert scene.told[-1] == Health(ConnectionHealth.CONNECTED), "the first connection closes no gap"
    scene.now += heard_ago
    scene.standing.tell(ConnectionHealth.WAITING, "lost")
    scene.now += away
    scene.standing.well("here again")
    assert scene.told[-1] == Health(ConnectionHealth.CONNECTED, "here again", gap)
    scene.standing.well()
    assert len(scene.told) == 3, "a sign of life is no news"


async def test_trouble_changes_nothing_and_every_change_is_handed_on() -> None:
    changes: list[tuple[ConnectionHealth, ConnectionHealth]] = []
    scene = Scene(lambda before, now: changes.append((before, now)))
    scene.standing.well()
    scene.standing.trouble("A form that is not known.")
    assert scene.told[-1] == Health(ConnectionHealth.CONNECTED, "A form that is not known.")
    assert changes == [(ConnectionHealth.CONNECTING, ConnectionHealth.CONNECTED)]
