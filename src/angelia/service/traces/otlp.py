"""Spans as OpenTelemetry's protocol carries them over HTTP, in JSON (https://opentelemetry.io/docs/specs/otlp/)."""

import socket
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from angelia.core.version import PACKAGE_VERSION
from angelia.service.traces.spans import TraceSpan, Value

HEADERS = {"content-type": "application/json"}
_INTERNAL, _CLIENT = 1, 3
_UNSET, _ERROR = 0, 2


def export_request(spans: Iterable[TraceSpan]) -> bytes:
    """The body of an `ExportTraceServiceRequest`."""
    resource = {
        "service.name": "angelia",
        "service.version": PACKAGE_VERSION,
        "service.instance.id": socket.gethostname(),
    }
    scope = {"name": "angelia", "version": PACKAGE_VERSION}
    told = {"scope": scope, "spans": [_span(one) for one in spans]}
    return msgspec.json.encode(
        {"resourceSpans": [{"resource": {"attributes": _attributes(resource)}, "scopeSpans": [told]}]}
    )


def _span(span: TraceSpan) -> dict[str, Any]:
    attributes = {**span.attributes, **({"error.type": span.error} if span.error else {})}
    return {
        "traceId": span.trace,
        "spanId": span.id,
        "parentSpanId": span.parent,
        "name": span.name,
        "kind": _CLIENT if span.client else _INTERNAL,
        "startTimeUnixNano": str(span.start * 1_000_000),
        "endTimeUnixNano": str(span.end * 1_000_000),
        "attributes": _attributes(attributes),
        "status": {"code": _ERROR if span.error else _UNSET},
    }


def _attributes(attributes: Mapping[str, Value]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Value) -> dict[str, Any]:
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, str):
        return {"stringValue": value}
    return {"arrayValue": {"values": [{"stringValue": one} for one in value]}}
