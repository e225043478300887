"""A real Matrix homeserver, Synapse, and people on it by clients of their own."""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import secrets
import socket
import subprocess
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2

PYTHON = Path(__file__).parents[3] / ".tools" / "synapse" / "bin" / "python"
"""Where `.ci/apart synapse` puts it."""

SECONDS = 120.0
"""Safety net of every wait; Synapse alone starts in 9 s on an idle machine."""

HELD = 30_000
"""Milliseconds for which the server may hold a question for news."""

Event = dict[str, Any]

_ENOUGH = {"per_second": 1000, "burst_count": 1000}


class Server:
    """The server's process, and its data in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._secret, self._names = folder, secrets.token_hex(), count(1)
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "key").write_text(
            f"ed25519 a_test {base64.b64encode(secrets.token_bytes(32)).decode().rstrip('=')}\n"
        )
        (folder / "log.config").write_text(json.dumps(_LOGGING))

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def up(self, port: int = 0) -> None:
        """Start it, and wait until it answers; another port is tried if somebody took this one."""
        for _ in range(5):
            self.port = port or _free_port()
            settings = self._folder / "homeserver.yaml"
            settings.write_text(json.dumps(self._settings()))
            log = self._folder / "log"
            # what is compiled once starts in half the time when it is started again
            environ = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}
            command = [str(PYTHON), "-m", "synapse.app.homeserver", "-c", str(settings)]
            with log.open("wb") as told:
                self._process = subprocess.Popen(command, stdout=told, stderr=told, env=environ)
            if self._answers():
                return
            self.down()
        raise AssertionError(f"Synapse did not start: {log.read_text()[-2000:]}")

    def _answers(self) -> bool:
        """Whether it answers before it ends."""
        process = self._process
        assert process
        until = time.monotonic() + SECONDS
        while process.poll() is None and time.monotonic() < until:
            with suppress(httpx2.RequestError):
                if httpx2.get(f"{self.url}/_matrix/client/versions", trust_env=False, verify=False).status_code == 200:
                    return process.poll() is None
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
        return False

    def down(self) -> None:
        """Kill it."""
        assert self._process
        self._process.kill()
        self._process.wait(SECONDS)

    def uploaded(self) -> int:
        """How many files it holds."""
        return sum(one.is_file() for one in (self._folder / "media").rglob("*"))

    @asynccontextmanager
    async def person(self, name: str) -> AsyncIterator["Person"]:
        """Somebody with a new account, whose name begins like this."""
        account = {"username": f"{name}{next(self._names)}", "password": "pass", "auth": {"type": "m.login.dummy"}}
        async with httpx2.AsyncClient(base_url=self.url, timeout=SECONDS, trust_env=False, verify=False) as client:
            made = await _asked(client, "POST", "/_matrix/client/v3/register", json=account)
            person = Person(client, made["user_id"], made["access_token"])
            await person.look()
            yield person

    async def hold_back(self, person: "Person") -> None:
        """Let somebody say one thing a second, and no more."""
        async with httpx2.AsyncClient(base_url=self.url, timeout=SECONDS, trust_env=False, verify=False) as client:
            nonce, name = (await _asked(client, "GET", _REGISTER))["nonce"], f"admin{next(self._names)}"
            words = "\0".join((nonce, name, "pass", "admin")).encode()
            proof = hmac.new(self._secret.encode(), words, hashlib.sha1).hexdigest()
            account = {"nonce": nonce, "username": name, "password": "pass", "admin": True, "mac": proof}
            admin = await _asked(client, "POST", _REGISTER, json=account)
            client.headers["authorization"] = f"Bearer {admin['access_token']}"
            path = f"/_synapse/admin/v1/users/{quote(person.id)}/override_ratelimit"
            await _asked(client, "POST", path, json={"messages_per_second": 1, "burst_count": 1})

    def _settings(self) -> dict[str, Any]:
        """What Synapse is told: nobody else in the world, and nothing that slows tests down."""
        folder = str(self._folder)
        listens = {"port": self.port, "bind_addresses": ["127.0.0.1"], "type": "http", "tls": False}
        asks = ("message", "registration", "admin_redaction", "room_creation", "joins_per_room", "media_create")
        limits: dict[str, Any] = {f"rc_{ask}": _ENOUGH for ask in asks}
        limits["rc_login"] = dict.fromkeys(("address", "account", "failed_attempts"), _ENOUGH)
        limits["rc_joins"] = dict.fromkeys(("local", "remote"), _ENOUGH)
        limits["rc_invites"] = dict.fromkeys(("per_room", "per_user", "per_issuer"), _ENOUGH)
        return limits | {
            "server_name": "matrix.example.net:8448",
            "listeners": [{**listens, "resources": [{"names": ["client"]}]}],
            "database": {"name": "sqlite3", "args": {"database": f"{folder}/database"}},
            "media_store_path": f"{folder}/media",
            "pid_file": f"{folder}/pid",
            "log_config": f"{folder}/log.config",
            "signing_key_path": f"{folder}/key",
            "registration_shared_secret": self._secret,
            "macaroon_secret_key": self._secret,
            "form_secret": self._secret,
            "enable_registration": True,
            "enable_registration_without_verification": True,
            "trusted_key_servers": [],
            "federation_domain_whitelist": [],
            "report_stats": False,
            "caches": {"sync_response_cache_duration": 0},  # or an old answer hides a forgotten position
            "presence": {"enabled": False},
            "push": {"enabled": False},
            "user_directory": {"enabled": False},
            "bcrypt_rounds": 4,
        }


class Person:
    """Somebody's client. `until` goes through what comes in, in order."""

    def __init__(self, client: httpx2.AsyncClient, name: str, token: str) -> None:
        client.headers["authorization"] = f"Bearer {token}"
        self._client, self.id, self.token = client, name, token
        self._since, self._news = "", defaultdict[str, deque[Event]](deque)
        self._deeds = count(1)

    async def ask(self, verb: str, path: str, **more: Any) -> Any:
        """Ask the server for something below `/_matrix/client/`; what it answers, which must be no refusal."""
        return await _asked(self._client, verb, f"/_matrix/client/{path}", **more)

    async def create(self, *invited: str, encrypted: bool = False) -> str:
        """Make a room, and invite people; its id."""
        how = [{"type": "m.room.encryption", "content": {"algorithm": "m.megolm.v1.aes-sha2"}}] if encrypted else []
        wanted = {"preset": "private_chat", "invite": invited, "initial_state": how, "is_direct": len(invited) == 1}
        return str((await self.ask("POST", "v3/createRoom", json=wanted))["room_id"])

    async def join(self, room: str) -> None:
        """Follow an invitation."""
        await self.ask("POST", f"v3/join/{quote(room)}", json={})

    async def joined(self, room: str, person: str) -> None:
        """Wait until somebody is in."""
        await self.until(room, lambda one: one.get("state_key") == person and one["content"]["membership"] == "join")

    async def say(self, room: str, body: str, **more: Any) -> str:
        """Say something; the id of it. `more` is what its content has beside words, or in their place."""
        return await self.put(room, "m.room.message", {"msgtype": "m.text", "body": body, **more})

    async def put(self, room: str, kind: str, content: Event) -> str:
        """Put an event of any kind into a room; its id."""
        path = f"v3/rooms/{quote(room)}/send/{kind}/{next(self._deeds)}"
        return str((await self.ask("PUT", path, json=content))["event_id"])

    async def set(self, room: str, kind: str, content: Event) -> None:
        """Change the state of a room."""
        await self.ask("PUT", f"v3/rooms/{quote(room)}/state/{kind}", json=content)

    async def take_back(self, room: str, event: str) -> None:
        """Redact something."""
        await self.ask("PUT", f"v3/rooms/{quote(room)}/redact/{quote(event)}/{next(self._deeds)}", json={})

    async def upload(self, data: bytes, mime: str) -> str:
        """Hand bytes in; their mxc URI."""
        answer = await self._client.post("/_matrix/media/v3/upload", content=data, headers={"content-type": mime})
        return str(answer.raise_for_status().json()["content_uri"])

    async def download(self, uri: str) -> bytes:
        """The bytes of an mxc URI."""
        path = f"/_matrix/client/v1/media/download/{uri.removeprefix('mxc://')}"
        return (await self._client.get(path)).raise_for_status().content

    async def until(self, room: str, holds: Callable[[Event], bool]) -> Event:
        """The next event of a room that this holds of, of whatever kind; those before it are done with."""
        async with asyncio.timeout(SECONDS):
            while True:
                while self._news[room]:
                    if holds(event := self._news[room].popleft()):
                        return event
                await self.look(HELD)

    async def hears(self, room: str) -> Event:
        """The content of the next message that somebody else puts into a room."""
        event = await self.until(room, lambda one: one["type"] == "m.room.message" and one["sender"] != self.id)
        return dict(event["content"])

    async def everything(self, room: str) -> list[Event]:
        """What a room holds now, in order."""
        page = await self.ask("GET", f"v3/rooms/{quote(room)}/messages", params={"dir": "b", "limit": 200})
        return list(reversed(page["chunk"]))

    async def history(self, room: str) -> list[Event]:
        """The messages of it, without those that were taken back."""
        return [one for one in await self.everything(room) if one["type"] == "m.room.message" and one["content"]]

    async def event(self, room: str, event: str) -> Event:
        """One event, with what the server says beside it."""
        return dict(await self.ask("GET", f"v3/rooms/{quote(room)}/event/{quote(event)}"))

    async def look(self, held: int = 0) -> None:
        """Ask for news, for which the server may hold the question for `held` milliseconds."""
        wanted = {"timeout": str(held)} | ({"since": self._since} if self._since else {})
        answer = await self.ask("GET", "v3/sync", params=wanted)
        self._since = answer["next_batch"]
        for room, news in answer.get("rooms", {}).get("join", {}).items():
            for part in ("state", "timeline", "ephemeral"):
                self._news[room] += news[part]["events"]


_REGISTER = "/_synapse/admin/v1/register"

_LOGGING = {
    "version": 1,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"line": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"level": "WARNING", "handlers": ["line"]},
}


async def _asked(client: httpx2.AsyncClient, verb: str, path: str, **more: Any) -> Any:
    answer = await client.request(verb, path, **more)
    assert answer.is_success, f"{verb} {path}: {answer.status_code} {answer.text}"
    return answer.json()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
