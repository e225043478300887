"""An OpenTelemetry collector that understands what the protocol's own schema says, and nothing else."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector:
    """`statuses` are what it answers next, 200 when there is none left; `spans` are those that it took."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.spans: list[Any] = []
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self.came = asyncio.Event()
        self.url = ""

    def named(self, name: str) -> Any:
        """The one span of that name."""
        (found,) = [span for span in self.spans if span.name == name]
        return found

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request, and the end of the connection."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            int(line.split(":")[1]) for line in head.lower().split("\r\n") if line.startswith("content-length")
        )
        body = await reader.readexactly(length)
        status = self.statuses.pop(0) if self.statuses else 200
        self.heads.append(head)
        self.bodies.append(body)
        if status == 200:
            self.spans += _spans(body)
        writer.write(f"HTTP/1.1 {status} Said\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}".encode())
        await writer.drain()
        writer.close()
        self.came.set()


def _spans(body: bytes) -> list[Any]:
    """Read by the schema; ids are hexadecimal in this protocol's JSON, where the schema's own JSON has base 64."""
    told = json.loads(body)
    for resource in told["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name in ("traceId", "spanId", "parentSpanId"):
                    span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    request = ParseDict(told, ExportTraceServiceRequest())
    return [span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans]


def attributes(span: Any) -> dict[str, Any]:
    """Its attributes, by their names."""
    found: dict[str, Any] = {}
    for one in span.attributes:
        kind = one.value.WhichOneof("value")
        value = getattr(one.value, kind)
        found[one.key] = [each.string_value for each in value.values] if kind == "array_value" else value
    return found


@asynccontextmanager
async def collector() -> AsyncIterator[Collector]:
    """One that listens on this machine."""
    one = Collector()
    server = await asyncio.start_server(one.serve, "127.0.0.1", 0)
    one.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield one
