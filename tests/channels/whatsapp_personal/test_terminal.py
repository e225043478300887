"""A personal number from the terminal: added, linked by a code, and tried, by the real program."""

import asyncio
import sys
from pathlib import Path

import pytest

from angelia.service.chats.gateway import alone_in
from tests.channels.whatsapp_personal.network import PersonalNetwork
from tests.channels.whatsapp_personal.people import ANN, OURS
from tests.faces.angelia import Ended, Place

pytestmark = [pytest.mark.anyio, pytest.mark.real("npm")]

NAME = "whatsapp-personal"
NUMBER = ANN.removesuffix("@s.whatsapp.net")


async def test_a_number_is_added_linked_and_tried(tmp_path: Path) -> None:
    place = Place(tmp_path / "home", tmp_path)

    async def channels(*words: str) -> Ended:
        return await asyncio.to_thread(place.run, "channels", *words)

    async with asyncio.timeout(120), PersonalNetwork() as network:
        network.linked = False
        added = await channels("add", NAME, "--owner", NUMBER)
        assert added.out.endswith(f"Now: angelia channels link {NAME}\n"), added.err
        with (place.home / "config.toml").open("a") as config:
            config.write(f'modules = "{network.modules}"\n')

        words = (sys.executable, "-m", "angelia", "channels", "link", NAME)
        linking = await asyncio.create_subprocess_exec(
            *words, env=place.environment({}), stdout=asyncio.subprocess.PIPE
        )
        assert linking.stdout
        assert "Linked devices" in (await linking.stdout.readline()).decode()
        assert await linking.stdout.readline() == b"\n"
        assert await linking.stdout.readline() == b"[small code of 2@secret,of,the,pairing]\n"
        await network.scan()
        assert (await linking.communicate())[0].decode() == f"Linked to {OURS}. Now: angelia gateway\n"

        with alone_in(place.home):
            refused = await channels("test", NAME, "--to", NUMBER)
        assert (refused.code, network.arrived) == (2, [])
        assert "What is linked has one connection." in refused.err
        sent = await channels("test", NAME, "--to", NUMBER)
        (arrived,) = network.arrived
        assert arrived.chat == ANN
        assert sent.out == f"Accepted by the network as message {arrived.message}.\n"
        await network.when(lambda: network.quiet)
