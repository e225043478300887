"""An encrypted room is left, with a reason that people see, and nothing readable ever goes out into one."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from angelia.channels.capabilities import Kind
from angelia.channels.failures import Rejected
from angelia.channels.outgoing import OutText
from angelia.core.entry import Address
from angelia.testing.channels.samples import sample_of
from angelia.testing.channels.stage import Stage
from tests.channels.matrix import world as w
from tests.channels.matrix.network import Matrix
from tests.channels.matrix.stages import on, said, texts

pytestmark = pytest.mark.anyio

NEW = f"!New0:{w.SERVER}"
SEALED = {"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "AwgAEnACgAkLmt6qF84IK", "session_id": "x"}


def by_state(world: w.World) -> str:
    """Somebody switches encryption on."""
    world.happen(w.GROUP, w.FRIEND, "m.room.encryption", w.MEGOLM, state_key="")
    return w.GROUP


def sealed(world: w.World) -> str:
    """Something comes that we cannot read, and more of it."""
    for _ in range(3):
        world.happen(w.GROUP, w.FRIEND, "m.room.encrypted", SEALED)
    return w.GROUP


def by_state_and_words(world: w.World) -> str:
    """Somebody switches encryption on, and speaks."""
    by_state(world)
    return sealed(world)


def by_invitation(world: w.World) -> str:
    """We are invited to a room of which it is told."""
    world.enter(w.SECRET, w.US, "invite", by=w.FRIEND)
    return w.SECRET


def by_invitation_in_silence(world: w.World) -> str:
    """We are invited to a room of which it is not told: servers may leave that out."""
    world.untold.add("m.room.encryption")
    return by_invitation(world)


def is_left(network: Matrix, room: str) -> bool:
    """Whether we have gone, and said why."""
    ours = network.world.state(room, len(network.world.stream))["m.room.member", w.US]["content"]
    return ours["membership"] == "leave" and "encrypted" in ours.get("reason", "")


@pytest.mark.parametrize("way", [by_state, by_state_and_words, by_invitation, by_invitation_in_silence])
async def test_an_encrypted_room_is_left_with_a_reason(way: Callable[[w.World], str]) -> None:
    async with on() as (stage, network):
        room = way(network.world)
        await network.bring(said("hello"))
        await network.when(lambda: is_left(network, room))
        await stage.until(lambda: bool(stage.heard))
        assert texts(stage.heard) == ["hello"]
        assert not any(one.why for one in stage.health), "nothing went wrong"


@pytest.mark.parametrize("way", [by_state, by_invitation, by_invitation_in_silence])
async def test_one_that_was_encrypted_before_the_start_is_left(way: Callable[[w.World], str]) -> None:
    rooms: list[str] = []
    async with on(lambda world: rooms.append(way(world))) as (_, network):
        if way is by_state:  # we are in it: it is left when somebody speaks there
            sealed(network.world)
            await network.bring(said("hello"))
        await network.when(lambda: is_left(network, rooms[0]))
        assert not network.arrived


async def test_what_looks_encrypted_in_a_plain_room_does_not_put_us_out_of_it() -> None:
    async with on() as (stage, network):
        sealed(network.world)
        await network.bring(said("hello"), said("are you there?", network.group, to_us=True))
        await stage.until(lambda: len(stage.heard) == 2)
        assert not is_left(network, w.GROUP)


async def words(stage: Stage, to: Address, message: str) -> None:
    await stage.channel.send(to, OutText("secret"), "2")


async def file(stage: Stage, to: Address, message: str) -> None:
    await stage.channel.send(to, stage.file(sample_of(Kind.DOCUMENT), "secret"), "2")


async def edit(stage: Stage, to: Address, message: str) -> None:
    await stage.channel.edit(to, message, OutText("secret"))


async def reaction(stage: Stage, to: Address, message: str) -> None:
    await stage.channel.react(to, message, "👍")


@pytest.mark.parametrize("deed", [words, file, edit, reaction])
async def test_nothing_readable_goes_into_a_room_that_is_encrypted_just_now(
    deed: Callable[[Stage, Address, str], Awaitable[None]],
) -> None:
    async with on() as (stage, network):
        message = (await stage.send(OutText("hello"))).message
        network.web.late = True  # no sync tells it, so that it has to be asked for
        network.world.happen(w.DIRECT, w.FRIEND, "m.room.encryption", w.MEGOLM, state_key="")
        error = await stage.fails(deed(stage, network.here, message), Rejected)
        assert "encrypted" in str(error)
        assert len(network.arrived) == 1
        assert not network.world.uploads


async def test_no_file_goes_into_a_room_that_was_encrypted_during_its_upload() -> None:
    async with on() as (stage, network):
        network.web.late = True
        sending = asyncio.create_task(file(stage, network.here, ""))
        await network.when(lambda: bool(network.world.uploads))
        network.world.happen(w.DIRECT, w.FRIEND, "m.room.encryption", w.MEGOLM, state_key="")
        await stage.fails(sending, Rejected)
        assert network.arrived == []
