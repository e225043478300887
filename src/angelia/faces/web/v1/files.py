"""The files that a turn sends to a program: named in its answer, and had by their ids."""

import re

from angelia.core import entry as e
from angelia.core.content import Media
from angelia.core.errors import NotFound
from angelia.core.ids import ConversationId
from angelia.core.text import clean
from angelia.faces.web.asgi.file_response import file_response
from angelia.faces.web.asgi.guards import RouteGuard
from angelia.faces.web.asgi.request import RouteRequest, RouteResponse, StreamedResponse, json_response
from angelia.faces.web.asgi.routes import Route
from angelia.faces.web.v1.refusals import openai_error, unknown
from angelia.faces.web.v1.turn import FileForProgram, TurnResult
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore

_ID = re.compile(r"file_([0-9a-z]{26})_([1-9][0-9]{0,9})_([0-9]{1,4})", re.ASCII)


def file_id(conversation: ConversationId, file: FileForProgram) -> str:
    """The id by which a program has a file: where it stands in the log."""
    return f"file_{conversation}_{file.seq}_{file.part}"


def shown_words(conversation: ConversationId, result: TurnResult) -> str:
    """The words of an answer, and below them a line for each file."""
    return "\n\n".join(one for one in (result.words, file_lines(conversation, result)) if one.strip())


def file_lines(conversation: ConversationId, result: TurnResult) -> str:
    """A line for each file: its name, its size, and from where it is had."""
    return "\n".join(
        f"File: {clean(one.media.name) or 'file'}, {one.media.blob.size:,} bytes: "
        f"/v1/files/{file_id(conversation, one)}/content"
        for one in result.files
    )


class FileRoutes:
    """The handlers."""

    def __init__(self, transcript: Transcript, blobs: BlobStore) -> None:
        self._transcript, self._blobs = transcript, blobs

    def routes(self) -> list[Route]:
        """One row each."""
        return [
            Route("GET", "/v1/files/{id}", RouteGuard.READ_KEY, self._about, openai_error),
            Route("GET", "/v1/files/{id}/content", RouteGuard.READ_KEY, self._content, openai_error),
        ]

    async def _about(self, request: RouteRequest) -> RouteResponse:
        at, media = await self._find(request)
        about = {"id": request.found["id"], "object": "file", "bytes": media.blob.size, "created_at": at // 1000}
        return json_response({**about, "filename": media.name, "purpose": "user_data", "status": "processed"})

    async def _content(self, request: RouteRequest) -> StreamedResponse:
        return file_response((await self._find(request))[1], self._blobs, keep=True)

    async def _find(self, request: RouteRequest) -> tuple[int, Media]:
        own = request.found["id"]
        found = _ID.fullmatch(own)
        if found is None:
            raise unknown(own)
        try:
            await self._transcript.summary(request.principal, ConversationId(found[1]))
        except NotFound:
            raise unknown(own) from None
        entries = await self._transcript.entries(ConversationId(found[1]))
        seq, part = int(found[2]), int(found[3])
        fact = entries[seq - 1].fact if seq <= len(entries) else None
        sent = fact.parts if isinstance(fact, e.DeliveryQueued) and fact.address.door == e.API else ()
        one = sent[part] if part < len(sent) else None
        if not isinstance(one, Media) or not await self._blobs.has(one.blob):
            raise unknown(own)
        return entries[seq - 1].at, one
