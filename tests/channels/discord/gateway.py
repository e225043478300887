"""The gateway half of the fake Discord: sessions that can be resumed, on WebSockets (docs.discord.com, "Gateway")."""

import asyncio
import json
import zlib
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import Server, ServerConnection
from websockets.exceptions import ConnectionClosed

from angelia.testing.changes import Changes
from tests.channels.discord import world as w
from tests.channels.discord.schemas import faults
from tests.channels.websockets import leave, listening, port_of

CONTENT = 1 << 15
_NEEDS = {
    "MESSAGE_CREATE": (1 << 9, 1 << 12),
    "MESSAGE_UPDATE": (1 << 9, 1 << 12),
    "MESSAGE_DELETE": (1 << 9, 1 << 12),
    "MESSAGE_REACTION_ADD": (1 << 10, 1 << 13),
}
"""The intents without which an event is not told, in servers and in direct messages."""


class Session:
    """What one identified client is told; events stay for those who resume."""

    def __init__(self, number: str, intents: int) -> None:
        self.id, self.intents = number, intents
        self.events: list[dict[str, Any]] = []
        self.news = asyncio.Event()

    def tell(self, name: str, data: dict[str, Any]) -> None:
        """Add an event, if the client asked for such."""
        private = not w.guild_of(str(data.get("channel_id", "")))
        if name in _NEEDS and not self.intents & _NEEDS[name][private]:
            return
        self.events.append({"op": 0, "t": name, "s": len(self.events) + 1, "d": self._seen(data)})
        self.news.set()

    def _seen(self, data: dict[str, Any]) -> dict[str, Any]:
        """Without the privileged intent, what others say in servers is not seen ("Message Content Intent")."""
        ours = data.get("author", {}).get("id") == w.US or any(one["id"] == w.US for one in data.get("mentions", []))
        if self.intents & CONTENT or ours or "content" not in data or not w.guild_of(data["channel_id"]):
            return data
        return data | {"content": "", "attachments": [], "components": [], "embeds": []}


class Gateway:
    """Listens on a port of its own, which it keeps when it is down. `interval` is that of the beats, in seconds."""

    def __init__(self, world: w.World, changes: Changes) -> None:
        self._world, self._changes = world, changes
        self.sessions: dict[str, Session] = {}
        self.valid, self.mute, self.allowed = True, False, True
        self.interval = 41.25
        self.opened: list[str] = []
        self.beats: list[object] = []
        self.left: list[int] = []
        self.port = 0
        self.connections: set[ServerConnection] = set()
        self._server: Server | None = None

    async def up(self) -> None:
        """Listen."""
        self._server = await listening(self._serve, self.port, most=4096)
        self.port = port_of(self._server)

    async def down(self) -> None:
        """Reset every connection, and listen no more."""
        if self._server:
            await leave(self._server, self.connections)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"ws://127.0.0.1:{self.port}"

    def tell(self, name: str, data: dict[str, Any]) -> None:
        """Something happened."""
        for session in self.sessions.values():
            session.tell(name, data)

    async def close_all(self, code: int) -> None:
        """Close every connection with this code."""
        for connection in list(self.connections):
            await connection.close(code)

    async def say(self, frame: dict[str, Any]) -> None:
        """Say something to everybody."""
        for connection in list(self.connections):
            await connection.send(json.dumps(frame))

    async def _serve(self, connection: ServerConnection) -> None:
        self.connections.add(connection)
        mute, said = self.mute, _Saying(connection)
        try:
            if not mute:
                await said.frame({"op": 10, "d": {"heartbeat_interval": self.interval * 1000}})
            await self._listen(connection, said, mute=mute)
        except ConnectionClosed:
            pass
        finally:
            self.connections.discard(connection)
            self.left.append(connection.close_code or 0)

    async def _listen(self, connection: ServerConnection, said: "_Saying", *, mute: bool) -> None:
        telling: asyncio.Task[None] | None = None
        try:
            async for raw in connection:
                if mute or self.mute:
                    mute = True
                    if telling:
                        telling.cancel()
                    continue
                frame = json.loads(raw)
                if frame["op"] == 1:
                    self.beats.append(frame["d"])
                    self._changes.tell()
                    await said.frame({"op": 11})
                elif frame["op"] in (2, 6) and telling is None:
                    begun = await self._begin(frame, connection, said)
                    telling = asyncio.create_task(self._tell(*begun, said)) if begun else None
                elif frame["op"] not in (3, 4, 8):
                    await connection.close(4001)
        finally:
            if telling:
                telling.cancel()

    async def _begin(
        self, frame: dict[str, Any], connection: ServerConnection, said: "_Saying"
    ) -> tuple[Session, int] | None:
        """The session that a client begins or resumes, and what it knows of it already."""
        name = "Identify" if frame["op"] == 2 else "Resume"
        self.opened.append(name)
        data = frame["d"]
        if faults(name, data):
            await connection.close(4002)
        elif data["token"] != w.TOKEN or not self.valid:
            await connection.close(4004)
        elif name == "Identify" and data["intents"] & CONTENT and not self.allowed:
            await connection.close(4014)
        elif name == "Identify":
            return self._new(data["intents"]), 0
        elif data["session_id"] not in self.sessions:
            await said.frame({"op": 9, "d": False})
        elif data["seq"] > len(self.sessions[data["session_id"]].events):
            await connection.close(4007)
        else:
            session = self.sessions[data["session_id"]]
            session.tell("RESUMED", {})
            return session, data["seq"]
        return None

    def _new(self, intents: int) -> Session:
        number = f"session-{self._world.new_id()}"
        session = self.sessions[number] = Session(number, intents)
        ready = {"v": 10, "user": w.USERS[w.US], "session_id": number, "resume_gateway_url": self.url, "shard": [0, 1]}
        ready |= {"application": {"id": w.APPLICATION, "flags": 0}, "private_channels": []}
        session.tell("READY", ready | {"guilds": [{"id": w.GUILD, "unavailable": True}]})
        session.tell("GUILD_CREATE", self.guild())
        return session

    def guild(self) -> dict[str, Any]:
        """The server as it is now."""
        last = {one["channel_id"]: one["id"] for one in self._world.messages.values()}
        role = {"permissions": "0", "position": 0, "color": 0, "hoist": False, "managed": False, "mentionable": False}
        roles = [role | {"id": w.GUILD, "name": "@everyone"}]
        roles += [role | {"id": w.OUR_ROLE, "name": "angelia", "managed": True, "tags": {"bot_id": w.US}}]
        told = {"id": w.GUILD, "name": "the server", "owner_id": w.FRIEND, "premium_tier": self._world.tier}
        members = [w.member() | {"user": w.USERS[one]} for one in (w.US, w.FRIEND)]
        return told | {
            "channels": [w.channel(w.GROUP) | {"last_message_id": last.get(w.GROUP)}],
            "threads": [w.channel(w.TOPIC) | {"last_message_id": last.get(w.TOPIC)}],
            "roles": roles,
            "members": members,
            "member_count": len(members),
            "emojis": [],
            "stickers": [],
            "features": [],
            "presences": [],
            "voice_states": [],
            "stage_instances": [],
            "guild_scheduled_events": [],
            "soundboard_sounds": [],
            "verification_level": 0,
            "default_message_notifications": 0,
            "explicit_content_filter": 0,
            "mfa_level": 0,
            "nsfw_level": 0,
            "premium_progress_bar_enabled": False,
            "preferred_locale": "en-US",
            "system_channel_flags": 0,
            "afk_timeout": 60,
            "large": False,
            "unavailable": False,
        }

    async def _tell(self, session: Session, known: int, said: "_Saying") -> None:
        with suppress(ConnectionClosed):
            while True:
                session.news.clear()
                for event in session.events[known:]:
                    if self.mute:
                        return
                    known += 1
                    await said.frame(event)
                await session.news.wait()


class _Saying:
    """Frames on their way to one client, compressed if it asks for that ("Transport Compression")."""

    def __init__(self, connection: ServerConnection) -> None:
        self._connection = connection
        asked = parse_qs(urlsplit(connection.request.path if connection.request else "").query)
        self._zip = zlib.compressobj() if asked.get("compress") == ["zlib-stream"] else None

    async def frame(self, frame: dict[str, Any]) -> None:
        raw = json.dumps({"s": None, "t": None, "d": None} | frame).encode()
        if self._zip:
            await self._connection.send(self._zip.compress(raw) + self._zip.flush(zlib.Z_SYNC_FLUSH))
        else:
            await self._connection.send(raw.decode())
