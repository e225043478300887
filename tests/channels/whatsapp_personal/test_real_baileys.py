"""The pinned Baileys, installed as a person would install it, has what the bridge relies on."""

import asyncio
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from angelia.channels.whatsapp.bridge import install as installing
from angelia.channels.whatsapp.bridge.process import SCRIPT

pytestmark = [pytest.mark.anyio, pytest.mark.real("npm")]

REAL = Path(__file__).with_name("real.mjs")


async def told_by_baileys() -> dict[str, Any]:
    """What `real.mjs` says; the packages are installed once into a cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "angelia-tests" / "whatsapp-bridge"
    if not installing.is_installed(cache):
        await installing.install(cache)
    pipe = asyncio.subprocess.PIPE
    words = ("node", str(REAL), str(cache), str(SCRIPT.parent))
    process = await asyncio.create_subprocess_exec(*words, stdout=pipe, stderr=pipe)
    said, faults = await process.communicate()
    assert process.returncode == 0, faults.decode()
    return msgspec.json.decode(said, type=dict[str, Any])


async def test_the_real_baileys_has_what_the_bridge_relies_on() -> None:
    told = await told_by_baileys()
    names = ["makeWASocket", "useMultiFileAuthState", "downloadMediaMessage", "normalizeMessageContent"]
    assert told["functions"] == names
    assert told["kept"] == "thirty-two bytes of a media key!"
    assert (told["words"]["what"], told["words"]["text"]) == ("said", "hello")
    assert told["disappearing"]["text"] == "soon gone"
    voice = {"kind": "voice", "mime": "audio/ogg; codecs=opus", "name": "", "size": 12345, "seconds": 3}
    assert told["voice"]["file"] == voice
    assert (told["paper"]["text"], told["paper"]["file"]["name"]) == ("the paper", "a.pdf")
    assert (told["mention"]["toUs"], told["mention"]["from"]) == (True, "4366012345678@s.whatsapp.net")
    assert (told["reaction"]["what"], told["reaction"]["about"], told["reaction"]["text"]) == ("reaction", "3EB0", "👍")
    assert (told["deletion"]["what"], told["deletion"]["about"]) == ("deletion", "3A00")
    assert (told["edit"]["what"], told["edit"]["about"], told["edit"]["text"]) == ("edit", "3A00", "better")
    assert told["silent"] is None
