"""A program that holds a personal number, and sends one file to a friend: FOLDER MODULES FILE."""

import asyncio
import sys
from pathlib import Path

from angelia.channels.capabilities import Kind
from angelia.channels.incoming import Envelope
from angelia.channels.outgoing import OutFile
from angelia.channels.port import ChannelContext
from angelia.channels.settings import Secret
from angelia.channels.whatsapp.bridge.channel import PersonalChannel
from angelia.channels.whatsapp.bridge.settings import BridgeWaits, PersonalSettings
from angelia.core.ids import wall_clock
from tests.channels.whatsapp_personal.people import HERE


def context(folder: Path) -> ChannelContext:
    """What a channel is handed where nothing of it matters but the folder."""

    async def secret(_: Secret) -> str:
        return ""

    async def recall(_: str) -> str:
        return ""

    async def remember(_: str, __: str) -> None:
        return None

    return ChannelContext("door", folder, wall_clock, secret, recall, remember, lambda health: None, {})


async def hold(folder: Path, modules: str, file: Path) -> None:
    """Stay connected, and send the file."""

    async def hear(_: Envelope) -> str:
        return ""

    channel = PersonalChannel(PersonalSettings(modules=modules), context(folder), BridgeWaits())
    running = asyncio.create_task(channel.run(hear))
    await channel.send(HERE, OutFile(Kind.DOCUMENT, file, file.stat().st_size, file.name, "text/plain"), "key")
    await running


if __name__ == "__main__":
    asyncio.run(hold(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])))
