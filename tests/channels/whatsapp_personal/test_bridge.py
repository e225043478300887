"""The bridge of a personal number: linked by a code, kept alive, and what came in is not lost with any process."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from angelia.channels.capabilities import IncomingKind
from angelia.channels.failures import LoginFailed, NotSent
from angelia.channels.incoming import Confirmed, Envelope, IncomingMessage, ReachedUpdate
from angelia.channels.outgoing import OutText
from angelia.channels.port import HasLinking
from angelia.channels.whatsapp.bridge.channel import PersonalChannel
from angelia.channels.whatsapp.bridge.install import CannotInstall, install, is_installed
from angelia.channels.whatsapp.bridge.settings import BridgeWaits, PersonalSettings
from angelia.testing.channels.network import ChannelTimeouts, Thing
from angelia.testing.channels.stage import Stage, staged
from tests.channels.whatsapp_personal.host import context
from tests.channels.whatsapp_personal.network import PersonalNetwork
from tests.channels.whatsapp_personal.people import HERE, OURS

pytestmark = [pytest.mark.anyio, pytest.mark.real("npm")]


def fake(stage: Stage) -> PersonalNetwork:
    assert isinstance(stage.network, PersonalNetwork)
    return stage.network


async def test_a_phone_scans_the_code_and_the_number_is_linked(tmp_path: Path) -> None:
    async with PersonalNetwork() as network:
        network.linked = False
        channel = network.open(context(tmp_path), ChannelTimeouts())
        assert isinstance(channel, HasLinking)
        shown: list[str] = []
        scanning: list[asyncio.Task[None]] = []

        def show(text: str) -> None:
            shown.append(text)
            scanning.append(asyncio.create_task(network.scan()))

        assert await channel.link(show) == OURS
        (code,) = shown
        assert code.endswith("[small code of 2@secret,of,the,pairing]")
        assert "Linked devices" in code
        await asyncio.gather(*scanning)


async def test_a_login_that_the_phone_took_back_is_forgotten_and_a_new_code_is_shown(tmp_path: Path) -> None:
    async with PersonalNetwork() as network:
        network.linked, network.forgets = False, True
        (tmp_path / "auth").mkdir()
        (tmp_path / "auth" / "creds.json").write_text("{}")
        channel = network.open(context(tmp_path), ChannelTimeouts())
        scanning: list[asyncio.Task[None]] = []

        def show(_: str) -> None:
            assert not (tmp_path / "auth" / "creds.json").exists()
            scanning.append(asyncio.create_task(network.scan()))

        assert await channel.link(show) == OURS
        await asyncio.gather(*scanning)


async def test_without_a_link_it_is_said_how_to_make_one(tmp_path: Path) -> None:
    async with PersonalNetwork() as network:
        network.linked = False
        channel = network.open(context(tmp_path), ChannelTimeouts())

        async def hear(_: Envelope) -> str:
            return ""

        with pytest.raises(LoginFailed, match="angelia channels link door"):
            await channel.run(hear)
        with pytest.raises(LoginFailed, match="angelia channels link door"):
            await channel.send(HERE, OutText("hello"), "key")


async def test_without_node_it_is_said_what_to_install(tmp_path: Path) -> None:
    async with PersonalNetwork() as network:
        settings = PersonalSettings(node="node-that-is-not-there", modules=str(network.modules))
        channel = PersonalChannel(settings, context(tmp_path), BridgeWaits())
        with pytest.raises(NotSent, match="Install Node 20"):
            await channel.link(lambda text: None)


async def test_without_npm_it_is_said_what_to_install(tmp_path: Path) -> None:
    assert not is_installed(tmp_path)
    with pytest.raises(CannotInstall, match="Install Node 20"):
        await install(tmp_path, "npm-that-is-not-there")
    with pytest.raises(CannotInstall, match=r"npm install in") as failed:
        await install(tmp_path, "false")
    assert "exit status 1" in failed.value.what


async def test_a_bridge_that_is_killed_is_started_again_and_nothing_is_lost() -> None:
    async with staged(PersonalNetwork) as stage:
        stage.refuse = lambda envelope: True
        await stage.network.bring(Thing(IncomingKind.TEXT, HERE, "before the end"))
        await stage.until(lambda: bool(stage.tries))
        mark = len(stage.health)
        os.kill(fake(stage).bridges[-1], signal.SIGKILL)
        await stage.until(lambda: any(one.gap_ms for one in stage.health[mark:]))
        stage.refuse = lambda envelope: False
        await stage.until(lambda: any(envelope.what == IncomingMessage("before the end") for envelope in stage.heard))
        assert len({envelope.key for envelope in stage.heard}) == 1


async def test_what_was_taken_in_is_not_brought_again_after_a_restart() -> None:
    async with staged(PersonalNetwork) as stage:
        await stage.network.bring(Thing(IncomingKind.TEXT, HERE, "once"))
        await stage.until(lambda: bool(stage.heard))
        await stage.stop()
        await stage.start()
        await stage.connected()
        assert fake(stage).registered  # the login was kept, too
        await stage.network.bring(Thing(IncomingKind.TEXT, HERE, "twice"))
        await stage.until(lambda: any(envelope.what == IncomingMessage("twice") for envelope in stage.heard))
        assert [envelope.what for envelope in stage.heard] == [IncomingMessage("once"), IncomingMessage("twice")]


@pytest.mark.parametrize(
    ("status", "reached"), [(3, ReachedUpdate.DELIVERED), (4, ReachedUpdate.READ), (5, ReachedUpdate.READ)]
)
async def test_what_the_phone_tells_of_a_message_is_told(status: int, reached: ReachedUpdate) -> None:
    async with staged(PersonalNetwork) as stage:
        message = (await stage.send(OutText("hello"))).message
        await fake(stage).confirm(message, 2)
        await fake(stage).confirm(message, status)
        await stage.until(lambda: bool(stage.heard))
        assert [envelope.what for envelope in stage.heard] == [Confirmed(message, reached)]
        assert stage.heard[0].address.chat == HERE.chat


async def test_in_a_group_people_are_known_by_their_number() -> None:
    async with staged(PersonalNetwork) as stage:
        await stage.network.bring(Thing(IncomingKind.TEXT, stage.network.group, "hello all", to_us=True))
        await stage.until(lambda: bool(stage.heard))
        assert stage.heard[0].sender.id == HERE.chat.removesuffix("@s.whatsapp.net")
