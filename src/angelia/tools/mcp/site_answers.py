"""What a site of streamable HTTP answers, before the library reads it: held to a bound, and its streams kept.

The library reads an answer in JSON however large it is, and one that breaks off ends the connection with every other
call. Here it is read by us, and what is not whole becomes an error of the request that it was for.
"""

from collections.abc import Callable

import httpx2
import mcp_types as types

from angelia.tools.mcp import answer_size
from angelia.tools.mcp.kept_stream import LAST_EVENT, KeptAnswer, KeptStream
from angelia.tools.mcp.library_errors import BROKEN_OFF
from angelia.tools.mcp.sse_events import is_stream
from angelia.tools.mcp.standalone_stream import SESSION


class SiteAnswers(httpx2.AsyncBaseTransport):
    """Sends by a client of ours, which holds the headers, the login and the way to the site. `missed` is called where
    a change of its lists may have been told to nobody.
    """

    def __init__(self, own: httpx2.AsyncClient, missed: Callable[[], None]) -> None:
        self._own, self._missed = own, missed

    def client(self) -> httpx2.AsyncClient:
        """What the library sends by."""
        own = self._own
        return httpx2.AsyncClient(transport=self, headers=own.headers, timeout=own.timeout, trust_env=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it; an answer that is no stream is read here."""
        try:
            response = await self._own.send(request, stream=True)
        except (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError) as error:
            if (lost := _lost(request, f"broke off ({error})")) is None:
                raise
            return lost
        if not is_stream(response):
            return await self._read(request, response)
        if response.status_code != 200 or SESSION not in request.headers or LAST_EVENT in request.headers:
            return response

        async def reopen(last: str) -> httpx2.Response:
            headers = {name: value for name, value in request.headers.items() if name not in _OF_THE_MESSAGE}
            since = {LAST_EVENT: last} if last else {}
            return await self._own.send(httpx2.Request("GET", request.url, headers=headers | since), stream=True)

        unbidden = request.method == "GET"
        kept = KeptStream(response, reopen, self._missed) if unbidden else KeptAnswer(response, reopen)
        return httpx2.Response(200, headers=_of_the_whole(response), stream=kept, request=request)

    async def _read(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        try:
            body = await answer_size.read_whole(response)
            why = f"is more than {answer_size.MOST_ANSWER:,} bytes, and was not read on"
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            body, why = None, f"broke off ({error})"
        if body is None and (lost := _lost(request, why)):
            return lost
        return httpx2.Response(response.status_code, headers=_of_the_whole(response), content=body, request=request)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._own.aclose()


_OF_THE_MESSAGE = ("content-length", "content-type", "transfer-encoding")


def _of_the_whole(response: httpx2.Response) -> list[tuple[str, str]]:
    """The headers, without those of how the body was sent."""
    sent = ("content-encoding", "content-length", "transfer-encoding")
    return [(name, value) for name, value in response.headers.multi_items() if name.lower() not in sent]


def _lost(request: httpx2.Request, why: str) -> httpx2.Response | None:
    """An error in the place of an answer; None for a message that waits for none."""
    try:
        message = types.jsonrpc_message_adapter.validate_json(request.content, by_name=False)
    except (ValueError, httpx2.RequestNotRead):
        return None
    if not isinstance(message, types.JSONRPCRequest):
        return None
    error = types.ErrorData(code=types.CONNECTION_CLOSED, message=f"{BROKEN_OFF}{why}")
    body = types.JSONRPCError(jsonrpc="2.0", id=message.id, error=error)
    return httpx2.Response(200, json=body.model_dump(by_alias=True, mode="json"), request=request)
