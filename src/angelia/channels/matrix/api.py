"""Calls of the client-server API over HTTP: one request and one answer, tried once."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec
from msgspec import structs

from angelia.channels.exchange import ChannelRequest, Exchanges
from angelia.channels.failures import Unsure
from angelia.channels.matrix.payloads import Body, needed
from angelia.channels.matrix.refusals import MatrixNotFound, refusal, repeatable
from angelia.channels.matrix.settings import MatrixSettings, MatrixTimeouts
from angelia.channels.multipart import CHUNK, pieces
from angelia.channels.outgoing import OutFile
from angelia.channels.port import ChannelContext

if TYPE_CHECKING:
    import httpx2


class MatrixApi:
    """One account's calls to its homeserver. `user` is who we are there, once it was asked.

    Every call raises `ChannelError` as `Channel.send` says.
    """

    def __init__(self, settings: MatrixSettings, context: ChannelContext, timeouts: MatrixTimeouts) -> None:
        self.user = ""
        self._settings = settings
        self._context = context
        self._silence = timeouts.silence
        self._server = settings.server.rstrip("/")
        self._exchanges = Exchanges("The homeserver", timeouts.answer)
        self._token = ""

    async def log_in(self) -> str:
        """Ask whose the token is; the account's name."""
        self.user = needed(await self.ask("GET", "account/whoami"), "user_id")
        return self.user

    async def ask(self, verb: str, what: str, body: Body | None = None) -> Body:
        """A call that shows nothing to anybody, so that it may be repeated."""
        with repeatable():
            return await self.call(verb, what, body, wait=self._silence)

    async def call(self, verb: str, what: str, body: Body | None = None, *, wait: float = 0.0) -> Body:
        """A call by its path beneath the API's root, escaped, and the answer. `wait` is as in `ChannelRequest`."""
        content = None if body is None else msgspec.json.encode(body)
        place = f"{self._server}/_matrix/client/v3/{what}"
        return await self._told(ChannelRequest(verb, place, content, {"content-type": "application/json"}, wait))

    async def is_encrypted(self, chat: str) -> bool:
        """Whether the room's own state says so: what merely looks encrypted anybody may send."""
        try:
            await self.ask("GET", f"{path_of(chat)}/state/m.room.encryption/")
        except MatrixNotFound:
            return False
        return True

    async def event(self, chat: str, event: str) -> Body:
        """One event of a room; its name may have a slash in it ("Room version 3", Event IDs)."""
        return await self.ask("GET", f"{path_of(chat)}/event/{quote(event, safe='')}")

    async def upload(self, file: OutFile) -> str:
        """Bring a file's bytes to the homeserver; their `mxc://` address. Nobody sees them yet."""
        headers = {"content-type": file.mime, "content-length": str(file.size)}
        place = f"{self._server}/_matrix/media/v3/upload?filename={quote(file.name, safe='')}"
        with repeatable():
            upload = ChannelRequest("POST", place, pieces(file.path), headers, self._silence)
            return needed(await self._told(upload), "content_uri")

    async def download(self, server: str, media: str) -> AsyncIterator[bytes]:
        """The bytes of a file by the two parts of its address, as they come."""
        place = f"{self._server}/_matrix/client/v1/media/download/{quote(server)}/{media}"
        async with self._exchange(ChannelRequest("GET", place)) as response:
            async for piece in response.aiter_bytes(CHUNK):
                yield piece

    async def close(self) -> None:
        """Let go of the connections. May be repeated."""
        await self._exchanges.close()

    async def _told(self, request: ChannelRequest) -> Body:
        async with self._exchange(request) as response:
            try:
                return msgspec.json.decode(await response.aread(), type=Body)
            except msgspec.MsgspecError as error:
                raise Unsure(f"The homeserver's answer cannot be read: {error}.") from error

    @asynccontextmanager
    async def _exchange(self, request: ChannelRequest) -> AsyncIterator["httpx2.Response"]:
        """A request and its response, if it is no refusal."""
        self._token = self._token or (await self._context.secret(self._settings.token)).strip()
        headers = {**request.headers, "authorization": f"Bearer {self._token}"}
        async with self._exchanges.exchange(structs.replace(request, headers=headers)) as response:
            if response.status_code != 200:
                raise refusal(response, await response.aread())
            yield response


def path_of(chat: str) -> str:
    """The path of a room's calls."""
    return f"rooms/{quote(chat, safe='')}"
