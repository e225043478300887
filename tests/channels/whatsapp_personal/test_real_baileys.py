"""The pinned Baileys, installed as a person would install it, has what the bridge relies on."""

import asyncio
import base64
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from angelia.channels.whatsapp.bridge import install as installing
from angelia.channels.whatsapp.bridge.process import SCRIPT

pytestmark = [pytest.mark.anyio, pytest.mark.real("npm")]

CONNECTION_CLOSED = 428
"""What Baileys says before it has written anything (`DisconnectReason.connectionClosed`)."""

REAL = Path(__file__).with_name("real.mjs")


@pytest.fixture
async def packages(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the packages in it, installed once into the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "angelia-tests" / "whatsapp-bridge"
    if not installing.is_installed(cache):
        if not os.environ.get("CI"):
            monkeypatch.setenv("npm_config_fetch_retries", "0")
            monkeypatch.setenv("npm_config_fetch_timeout", "20000")
        try:
            await installing.install(cache)
        except installing.CannotInstall as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(f"Baileys cannot be had here: {error}")
    return cache


async def told_by_baileys(packages: Path) -> dict[str, Any]:
    """What `real.mjs` says."""
    pipe = asyncio.subprocess.PIPE
    words = ("node", str(REAL), str(packages), str(SCRIPT.parent))
    process = await asyncio.create_subprocess_exec(*words, stdout=pipe, stderr=pipe)
    said, faults = await process.communicate()
    assert process.returncode == 0, faults.decode()
    return msgspec.json.decode(said, type=dict[str, Any])


async def test_the_real_baileys_has_what_the_bridge_relies_on(packages: Path) -> None:
    told = await told_by_baileys(packages)
    functions = "makeWASocket initAuthCreds downloadMediaMessage normalizeMessageContent generateWAMessage"
    assert " ".join(told["functions"]) == functions
    assert told["deeds"] == ["query", "relayMessage", "waUploadToServer", "sendPresenceUpdate", "updateMediaMessage"]
    assert told["refused"] == CONNECTION_CLOSED
    assert told["kept"] == "thirty-two bytes of a media key!"
    assert told["relogin"] == {
        "me": {"id": "4915:7@s.whatsapp.net", "name": "Änne"},
        "same": True,
        "session": [0, 255, 7],
        "gone": None,
        "appState": [0, 255, 7],
        "torn": "the login in FOLDER cannot be read; without that folder the number can be linked anew",
        "files": ["app-state-sync-key-AA.json", "creds.json", "creds.json.new", "session-55-1__2.json"],
    }
    reads_what_comes_in(told)
    makes_what_goes_out(told["made"])
    assert told["brought"] == 2
    code = told["code"].splitlines()
    assert len({len(line) for line in code}) == 1
    assert len(code[0]) > 40
    assert set("".join(code)) == set("▄█▀ ")


def reads_what_comes_in(told: dict[str, Any]) -> None:
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
    assert told["keys"] is None
    assert told["unknown"]["text"] == "(something of the kind “eventMessage”, which is not read here)"
    answer = told["answer"]
    assert (answer["text"], answer["answers"], answer["answered"], answer["file"]) == ("why?", "3A07", voice, None)


def makes_what_goes_out(made: dict[str, Any]) -> None:
    assert {one["id"] for one in made.values()} == {"3EB0CAFE"}
    said = {name: one["message"] for name, one in made.items()}
    words = said["words"]["extendedTextMessage"]
    assert words == {"text": "hello https://example.com"}  # nothing was fetched for a preview
    assert said["reply"]["extendedTextMessage"]["contextInfo"]["stanzaId"] == "3EB0"
    edit = said["edit"]["protocolMessage"]
    assert (edit["type"], edit["key"]["id"]) == ("MESSAGE_EDIT", "3EB0")
    assert edit["editedMessage"]["extendedTextMessage"]["text"] == "better"
    deletion = said["deletion"]["protocolMessage"]
    assert (deletion["type"], deletion["key"]["id"]) == ("REVOKE", "3EB0")
    reaction = said["reaction"]["reactionMessage"]
    assert (reaction["text"], reaction["key"]["id"]) == ("👍", "3EB0")
    voice = said["voice"]["audioMessage"]
    assert (voice["ptt"], voice["seconds"], voice["fileLength"]) == (True, 1, "5")
    assert list(base64.b64decode(voice["waveform"])) == [0] * 32 + [100] * 32
    paper = said["paper"]["documentMessage"]
    assert (paper["fileName"], paper["caption"], paper["mimetype"]) == ("a.pdf", "the paper", "application/pdf")
