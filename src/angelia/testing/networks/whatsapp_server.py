"""A fake WhatsApp on loopback: the Graph API over HTTP, strict, with people behind it, who come by webhook."""

import asyncio
import hashlib
from collections import deque
from collections.abc import Callable, Mapping
from math import ceil
from types import TracebackType
from typing import Any, Self

import msgspec

from angelia.channels.capabilities import Kind
from angelia.channels.port import ChannelContext
from angelia.channels.settings import Secret
from angelia.channels.whatsapp.capabilities import FILE, FILM, PHOTO, SOUND
from angelia.channels.whatsapp.channel import WhatsAppChannel
from angelia.channels.whatsapp.settings import WhatsAppSettings, WhatsAppWaits
from angelia.core.entry import Address
from angelia.testing.changes import Changes
from angelia.testing.channels.network import (
    ArrivedMessage,
    ChannelTimeouts,
    Flood,
    Reset,
    ServerError,
    Thing,
    TimeOut,
    Trouble,
)
from angelia.testing.channels.webhook_door import WebhookDoor
from angelia.testing.model.http1 import Answering, HttpRequest, read_request
from angelia.testing.networks.loopback_server import LoopbackServer
from angelia.testing.networks.whatsapp_forms import read_upload
from angelia.testing.networks.whatsapp_graph import GraphApiError, GraphOutgoing, read_message
from angelia.testing.networks.whatsapp_webhooks import APP_SECRET, Courier
from angelia.testing.networks.whatsapp_world import GROUP, HERE, NOWHERE, PHONE, WhatsAppWorld

TOKEN = "EAAfaketokenthatnobodyeverissued0123456789"  # noqa: S105 - no app has it
VERIFY = "a word for the first look"

_SECRETS = {"WHATSAPP_TEST_TOKEN": TOKEN, "WHATSAPP_TEST_SECRET": APP_SECRET, "WHATSAPP_TEST_VERIFY": VERIFY}
_VERSION = "v25.0"
_LOOK, _VISIT = 0.05, 0.5
"""Seconds between two looks of a channel under test at whether the API is there, and for which a visit may take."""


class WhatsAppServer:
    """The fake for the length of an `async with`; a `testing.channels.network.FakeNetwork`.

    What is asked for against the published rules is refused in the API's own way. `files_at` is where it says that
    files lie, empty for here.
    """

    broken = ""
    keeps, takes_empty, forwards = True, False, True
    here, group, topic, nowhere = HERE, GROUP, Address("", ""), NOWHERE
    secrets: Mapping[str, str] = _SECRETS

    def __init__(self, template: str = "") -> None:
        self.world = WhatsAppWorld()
        self.door = WebhookDoor()
        self.courier = Courier(self.door)
        self.files_at = ""
        self._template = template
        self._token = TOKEN
        self._changes = Changes()
        self._troubles: deque[Trouble] = deque()
        self._told = 0
        self._speaking = asyncio.Event()
        self._speaking.set()
        self._up = False
        files = {Kind.PHOTO: PHOTO, Kind.VIDEO: FILM, Kind.AUDIO: SOUND, Kind.VOICE: SOUND, Kind.DOCUMENT: FILE}
        self.world.limits = dict(files)

    @property
    def url(self) -> str:
        """What a channel's setting `api` has to say."""
        return f"http://127.0.0.1:{self._listening.port}"

    @property
    def arrived(self) -> list[ArrivedMessage]:
        """See `FakeNetwork`."""
        return self.world.arrived

    async def __aenter__(self) -> Self:
        self._listening = LoopbackServer(self._serve)
        await self.door.__aenter__()
        await self.up()
        self._bringing = asyncio.create_task(self.courier.run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bringing.cancel()
        await asyncio.wait([self._bringing])
        await self.door.__aexit__(kind, error, trace)
        await self._listening.close()

    def open(self, context: ChannelContext, patience: ChannelTimeouts) -> WhatsAppChannel:
        """See `FakeNetwork`."""
        token, secret, verify = (Secret(env=name) for name in _SECRETS)
        settings = WhatsAppSettings(
            token=token, app_secret=secret, verify=verify, phone=PHONE, api=self.url, template=self._template
        )
        timeouts = WhatsAppWaits(patience.answer, _LOOK, patience.silence, patience.pause, _VISIT)
        self.door.channel = channel = WhatsAppChannel(settings, context, timeouts)
        return channel

    def called(self, name: str) -> str:
        """See `FakeNetwork`: a name is a field of JSON, and stays what it is."""
        return name

    def lower(self, limits: Mapping[Kind, int]) -> None:
        """See `FakeNetwork`."""
        self.world.limits = {**self.world.limits, **limits}

    def misbehave(self, *troubles: Trouble) -> None:
        """See `FakeNetwork`."""
        self._troubles = deque(troubles)

    async def bring(self, *things: Thing) -> tuple[str, ...]:
        """See `FakeNetwork`."""
        messages = tuple(self.world.happen(thing) for thing in things)
        self.tell()
        return messages

    def tell(self) -> None:
        """Bring what the world has told since."""
        self.courier.put(self.world.brought[self._told :])
        self._told = len(self.world.brought)

    async def repeat(self) -> None:
        """See `FakeNetwork`."""
        self.courier.put(reversed(self.world.brought))

    async def down(self) -> None:
        """See `FakeNetwork`; the port stays ours, so that nobody else listens there."""
        self.courier.visiting = False
        self._up = False
        await self._listening.down()

    async def up(self) -> None:
        """See `FakeNetwork`."""
        if not self._speaking.is_set():
            await self._listening.hang_up()
        self._speaking.set()
        if not self._up:
            self._listening.up()
        self._up = True
        self.courier.visiting = True
        self.courier.look()

    async def swallow(self) -> None:
        """See `FakeNetwork`."""
        self.courier.visiting = False
        self._speaking.clear()

    def revoke(self) -> None:
        """See `FakeNetwork`."""
        self._token = "revoked"  # noqa: S105 - none

    async def when(self, holds: Callable[[], bool]) -> None:
        """See `FakeNetwork`."""
        await self._changes.when(holds)

    # -- the API ------------------------------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, out: Answering) -> None:
        while (request := await read_request(reader)) is not None:
            await self._speaking.wait()
            await self._answer(request, out)

    async def _answer(self, request: HttpRequest, out: Answering) -> None:
        trouble = self._troubles.popleft() if self._troubles and _is_seen(request) else None
        try:
            if request.headers.get("authorization") != f"Bearer {self._token}":
                raise GraphApiError(401, 190, "Error validating access token")
            _raise(trouble)
            answer = b"" if _lost(trouble) else self._result(request)
        except GraphApiError as refused:
            usage = {PHONE: [{"type": "messaging", "estimated_time_to_regain_access": refused.minutes}]}
            more = {"x_business_use_case_usage": msgspec.json.encode(usage).decode()} if refused.minutes else {}
            await out.whole(refused.status, refused.body, **more)
            return
        match trouble:
            case TimeOut():
                await out.silence()
            case Reset():
                out.reset()
            case _:
                await out.whole(200, answer)

    def _result(self, request: HttpRequest) -> bytes:
        match request.method, request.path.strip("/").split("/"):
            case "GET", ["files", number] if number in self.world.files:
                return self.world.files[number].data
            case "GET", [version, number] if version == _VERSION and number == PHONE:
                return msgspec.json.encode({"id": PHONE})
            case "GET", [version, number] if version == _VERSION and number in self.world.files:
                return msgspec.json.encode(self._place_of(number))
            case "POST", [version, number, "media"] if (version, number) == (_VERSION, PHONE):
                return msgspec.json.encode({"id": self.world.store(*read_upload(request))})
            case "POST", [version, number, "messages"] if (version, number) == (_VERSION, PHONE):
                return self._message(request)
            case _:
                raise GraphApiError(400, 100, "Unsupported request. Object with this ID does not exist")

    def _place_of(self, number: str) -> dict[str, Any]:
        stored = self.world.files[number]
        sha256 = hashlib.sha256(stored.data).hexdigest()
        about = {"mime_type": stored.mime, "sha256": sha256, "file_size": len(stored.data), "id": number}
        return {"messaging_product": "whatsapp", "url": f"{self.files_at or self.url}/files/{number}", **about}

    def _message(self, request: HttpRequest) -> bytes:
        message = read_message(request.body)
        number = self.world.take(message)
        self._changes.tell()
        if not isinstance(message, GraphOutgoing):
            return msgspec.json.encode({"success": True})
        chat = message.to or message.recipient
        contacts = [{"input": chat, "wa_id": chat}]
        told = {"messaging_product": "whatsapp", "contacts": contacts, "messages": [{"id": number}]}
        return msgspec.json.encode(told)


def _is_seen(request: HttpRequest) -> bool:
    """Whether a request makes something visible, or brings bytes of a file."""
    return request.path.startswith("/files/") or request.path.endswith("/messages")


def _raise(trouble: Trouble | None) -> None:
    if isinstance(trouble, Flood):
        raise GraphApiError(429, 130429, "Cloud API message throughput has been reached.", ceil(trouble.seconds / 60))
    if isinstance(trouble, ServerError):
        raise GraphApiError(500, 131000, "Message failed to send due to an unknown error.")


def _lost(trouble: Trouble | None) -> bool:
    return isinstance(trouble, TimeOut | Reset) and not trouble.accepted
