"""No escape sequence from outside reaches a terminal: in whatever prints, in a terminal of its own."""

import asyncio
import json
import re
import signal
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pexpect
import pytest

from angelia.core.principal import Principal
from angelia.service.app import App
from angelia.service.settings.config import load
from angelia.testing.model.steps import call, say
from tests.faces.angelia import CTRL_D, MODEL, SECONDS, Place, serving
from tests.faces.hostile import HOSTILE, SEQUENCES, obeyed

ESCAPED = "\u241b"
NAME = "q\x1b]0;owned\x07\x9b2J\u202e.txt"
OURS = re.compile(r"(?<!q)\x1b\[(?:\d*[FJ]|[\d;]*m)")
"""Colours, and the moves by which a table is drawn anew; before theirs stands a `q`."""
LEFT_OUT = "\r\x1b[K"
"""How we take away our own line; none of theirs reads like this."""

DRIVER = """
import json, os, sys
from angelia.faces.cli.main import run
for name, words, more in json.loads(sys.argv[1]):
    os.environ.update(more)
    os.write(1, f"<<{name}>>".encode())
    run(words)
"""
"""Many command lines in one process. What `__main__` sets up besides is left out: each has to hold without it."""

SERVER = """
import json, sys
hostile = json.load(open(sys.argv[1]))
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    tool = {"name": "t", "description": hostile, "inputSchema": {"type": "object"}}
    about = {"capabilities": {"tools": {}}, "serverInfo": {"name": hostile, "version": "1"}}
    results = {"initialize": about, "tools/list": {"tools": [tool]}}
    about["protocolVersion"] = asked.get("params", {}).get("protocolVersion", "")
    given = results.get(asked["method"])
    said = {"result": given} if given else {"error": {"code": -32601, "message": hostile}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}), flush=True)
"""


def in_terminal(place: Place, *words: str, **more: str) -> str:
    """Everything that a terminal is sent while this runs."""
    environment = place.environment({"NO_COLOR": "1", **more})
    child = pexpect.spawn(
        sys.executable, [*words], cwd=str(place.work), env=environment, dimensions=(40, 5000), timeout=2 * SECONDS
    )
    try:
        child.expect(pexpect.EOF)
        return bytes(child.before or b"").decode("utf-8", "surrogateescape").replace(LEFT_OUT, "")
    finally:
        child.close(force=True)


def told(place: Place, lines: Sequence[tuple[str, Sequence[str], dict[str, str]]], **more: str) -> dict[str, str]:
    """What each command line sends to the terminal."""
    shown = in_terminal(place, "-P", "-c", DRIVER, json.dumps(lines), **more)
    parts = [part.partition(">>") for part in shown.split("<<")[1:]]
    return {name: text for name, _, text in parts}


async def _known(place: Place) -> None:
    """A stranger of that name has asked to be let in."""
    env = place.environment({})
    app = await App.open(load(place.home, env, (), {}), env)
    await app.admission.pairings.ask(Principal("telegram", "4711"), HOSTILE)
    await app.close()


@contextmanager
def models_of(name: str) -> Iterator[str]:
    """A vendor that has one model, of that name."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"data": [{"id": name, "object": "model"}]}).encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the library has it
            return None

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def refusing(why: str) -> Iterator[str]:
    """A network that knows its bot, and a vendor; both refuse all else in these words."""

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.do_GET()

        def do_GET(self) -> None:
            knows = self.path.endswith("/getMe")
            bot = {"ok": True, "result": {"id": 1, "is_bot": True, "first_name": why, "username": "bot"}}
            told = {"ok": False, "error_code": 400, "description": why, "error": {"message": why, "code": why}}
            body = json.dumps(bot if knows else told).encode()
            self.send_response(200 if knows else 400)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the library has it
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def settle(place: Place) -> None:
    """Servers, a stranger, a grant and a file, all of that name."""
    place.home.mkdir(exist_ok=True)
    (place.home / "hostile.json").write_text(json.dumps(HOSTILE))
    server = [sys.executable, "-c", SERVER, str(place.home / "hostile.json"), NAME]
    (place.home / "config.toml").write_text(
        f"[mcp]\npatience = 60.0\n[mcp.servers.h]\ncommand = {json.dumps(server)}\n"
        f"[mcp.servers.g]\ncommand = {json.dumps([NAME])}\n"
    )
    asyncio.run(_known(place))
    with sqlite3.connect(place.home / "angelia.db") as db:
        db.execute("INSERT INTO grants VALUES (NULL, 'owner', 'local', ?, '', ?, 'owner', 1, 0)", (NAME, HOSTILE))
    db.close()
    (place.work / NAME).write_text("x")


PLACES: dict[str, list[str]] = {
    "sessions": ["sessions"],
    "show": ["show"],
    "search": ["search", "findme"],
    "receipts": ["receipts"],
    "export": ["export", "{id}"],
    "pair": ["pair"],
    "grants": ["grants"],
    "config": ["config"],
    "mcp list": ["mcp", "list"],
    "mcp test": ["mcp", "test", "h"],
    "sandbox get": ["sandbox", "get", "{id}", NAME, f"../there {NAME}", "--yes"],
    "sandbox get, a folder": ["sandbox", "get", "{id}", ".", f"../folder {NAME}", "--yes"],
    "sandbox list": ["sandbox", "list"],
    "an error": ["show", HOSTILE],
    "an error of usage": ["sessions", HOSTILE],
    "an error of a setting": ["models", "--set", f"{HOSTILE}=1"],
    "a file that is not there": ["ask", "--file", NAME + "x", "--model", MODEL, "hello"],
    "sessions, json": ["sessions", "--json"],
    "show, json": ["show", "--json"],
    "search, json": ["search", "findme", "--json"],
    "export, json": ["export", "{id}", "--format", "jsonl"],
}
NOTHING_OF_THEIRS = {"sandbox list"}


def test_in_every_place_that_prints_forty_sequences_are_seen_and_not_obeyed(tmp_path: Path) -> None:
    assert len(SEQUENCES) >= 40
    reply = f"findme {HOSTILE}"
    hostile_call = call(
        "shell", {"command": "printf 'q\\033]0;owned\\007\\302\\233z'; echo findme", "reach": "outside"}
    )
    with serving(tmp_path, [say(f"progress {HOSTILE}") + hostile_call, say(reply)]) as place, models_of(HOSTILE) as url:
        settle(place)
        asked = ["ask", "--model", MODEL, "--set", "sandbox.confine=off", f"findme {HOSTILE}"]
        first = told(place, [("ask", [*asked, "--stream"], {})])
        conversation = json.loads(place.run("sessions", "--json").out.splitlines()[0])["id"]
        lines: list[tuple[str, list[str], dict[str, str]]] = [
            (name, [conversation if word == "{id}" else word for word in words], {}) for name, words in PLACES.items()
        ]
        shown = first | told(place, [*lines, ("models", ["models"], {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k"})])
        assert {name: obeyed(text) for name, text in shown.items() if obeyed(text)} == {}
        signs = (ESCAPED, "\\u001b")
        silent = {name for name, text in shown.items() if not any(sign in text for sign in signs)}
        assert silent == NOTHING_OF_THEIRS, "what is not shown at all proves nothing"
        for line in shown["show, json"].splitlines():
            json.loads(line)


@pytest.mark.soak
def test_networks_and_vendors_that_refuse_in_such_words_are_shown_and_not_obeyed(place: Place) -> None:
    settle(place)
    with refusing(HOSTILE) as url, (place.home / "config.toml").open("a") as config:
        config.write(f'[channels.t]\nkind = "telegram"\napi = "{url}"\nowners = ["1"]\n')
        config.flush()
        keys = {"TELEGRAM_BOT_TOKEN": f"1234567:{'A' * 35}", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "k"}
        lines: list[tuple[str, list[str], dict[str, str]]] = [
            ("doctor", ["doctor", "--model", "openai:m"], {}),
            ("channels", ["channels"], {}),
            ("channels test", ["channels", "test", "t", "--to", "1"], {}),
        ]
        shown = told(place, lines, **keys) | {"gateway": gateway_table(place, keys)}
    assert {name: obeyed(text) for name, text in shown.items() if obeyed(text)} == {}
    assert {name for name, text in shown.items() if ESCAPED not in text} == {"channels"}


def gateway_table(place: Place, keys: dict[str, str]) -> str:
    """What the gateway shows of a channel that is refused, without the colours and moves that are ours."""
    words = ["-m", "angelia", "gateway", "--only", "t"]
    child = pexpect.spawn(
        sys.executable, words, cwd=str(place.work), env=place.environment(keys), dimensions=(40, 5000), timeout=SECONDS
    )
    try:
        child.expect_exact(ESCAPED.encode())
        seen = bytes(child.before or b"") + ESCAPED.encode()
        child.expect_exact(b"q")
        child.kill(signal.SIGTERM)
        child.expect(pexpect.EOF)
        seen += bytes(child.before or b"")
    finally:
        child.close(force=True)
    return OURS.sub("", seen.decode("utf-8", "surrogateescape"))


def test_json_loses_nothing_by_being_safe(tmp_path: Path) -> None:
    with serving(tmp_path, [say(HOSTILE)]) as place:
        place.ask("hello")
        (said,) = [fact for fact in place.log() if fact["kind"] == "ModelSaid"]
        assert said["parts"][0]["text"] == HOSTILE


def test_a_pipe_gets_an_answer_as_it_was_said(tmp_path: Path) -> None:
    with serving(tmp_path, [say(f"a{HOSTILE}")]) as place:
        assert place.ask("hello").out == f"a{HOSTILE}\n"


@pytest.mark.parametrize("term", ["dumb", "xterm-256color"])
def test_a_conversation_shows_them_and_obeys_none(tmp_path: Path, term: str) -> None:
    seen = call("shell", {"command": "printf 'q\\033]0;owned\\007\\302\\233z\\n'"})
    script = [say(f"one {HOSTILE}") + seen, say(f"two {HOSTILE} over.")]
    with serving(tmp_path, script) as place, place.chat("--set", "sandbox.confine=off", TERM=term) as terminal:
        terminal.sees("/help")
        terminal.press("hello\n" if term == "dumb" else "hello\r")
        terminal.sees("two ")
        terminal.sees("over.")
        terminal.press(CTRL_D)
        terminal.ends()
    theirs = [name for name, sequence in SEQUENCES.items() if f"q{sequence}" in terminal.seen]
    assert theirs == []
    assert "]0;owned" in terminal.seen
    if term == "dumb":
        assert obeyed(terminal.seen) == []


WRITTEN = {
    "print": "print(HOSTILE)",
    "a library's warning": "import warnings; warnings.warn(HOSTILE)",
    "a log without a file": "import logging; logging.getLogger('some.library').error(HOSTILE)",
    "an uncaught error": "raise ValueError(HOSTILE)",
}


def test_whatever_else_might_write_is_guarded(place: Place) -> None:
    for name, code in WRITTEN.items():
        before = "from tests.faces.hostile import HOSTILE\nfrom angelia.faces.words.output import guard\nguard()\n"
        root = str(Path(__file__).parents[2])
        shown = in_terminal(place, "-c", before + code, PYTHONPATH=root)
        assert (obeyed(shown), ESCAPED in shown) == ([], True), name
