"""Keys stay in our process: commands that run as the person cannot look into it, and programs do not inherit them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from angelia.service.app import App
from angelia.service.settings.config import load
from tests.faces.angelia import Place

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")

KEY = "sk-test-0123456789"
UNPRIVILEGED = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()
"""Root may look into everything, unless it gives up its rights."""


def look(process: int, name: str) -> bytes:
    """What another process of the same person reads there."""
    words = (*UNPRIVILEGED, "head", "-c", "4000", f"/proc/{process}/{name}")
    return subprocess.run(words, capture_output=True, check=False).stdout


def test_no_process_of_the_same_person_can_look_into_an_open_door(place: Place) -> None:
    words = (*UNPRIVILEGED, sys.executable, "-m", "angelia", "acp")
    pipe = subprocess.PIPE
    environment = place.environment({"OPENAI_API_KEY": KEY})
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, cwd=place.work, env=environment) as door:
        assert door.stdin
        assert door.stdout
        door.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}\n')
        door.stdin.flush()
        assert b"protocolVersion" in door.stdout.readline()
        for name in ("environ", "maps", "mem", "auxv", "fd/1"):
            assert look(door.pid, name) == b"", name
        assert look(door.pid, "comm")  # which everybody may see: so this does look in the right place
        door.stdin.close()
    words = (*UNPRIVILEGED, "sh", "-c", "echo there; read end")
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, env=environment) as open_book:
        assert open_book.stdin
        assert open_book.stdout
        assert open_book.stdout.readline() == b"there\n"
        seen = look(open_book.pid, "environ")
        open_book.stdin.close()
    assert KEY.encode() in seen  # of any other program it does see the key


@pytest.mark.anyio
async def test_no_program_inherits_a_key_that_we_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = ("OPENAI_API_KEY", "OPENAI_API_KEY_2", "MY_OTHER_KEY", "CHAT_TOKEN", "NOTES_TOKEN")
    for name in (*ours, "OP_SESSION", "EDITOR_2"):
        monkeypatch.setenv(name, f"value-of-{name}")
    (tmp_path / "home").mkdir()
    (tmp_path / "home/config.toml").write_text(
        '[vendors.openai]\nkey_variable = "MY_OTHER_KEY"\n[channels.telegram.token]\nenv = "CHAT_TOKEN"\n'
        '[mcp.servers.notes]\ncommand = ["notes"]\nenv = {TOKEN = "Bearer ${NOTES_TOKEN}"}\n'
    )
    app = await App.open_alone(load(tmp_path / "home", os.environ))
    try:
        assert not set(ours) & set(os.environ)
        assert {"OP_SESSION", "EDITOR_2"} <= set(os.environ)
        pool = await app.model_catalog.keyring.pool(app.model_catalog.rows["openai"])
        values = {credential.secret for credential in pool}
        assert {"value-of-OPENAI_API_KEY", "value-of-OPENAI_API_KEY_2", "value-of-MY_OTHER_KEY"} <= values
    finally:
        await app.close()
