"""Minimal requests on the three wires, written by hand."""

import base64
from typing import Any

import httpx2

from angelia.testing.model.server import ModelServer

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "anthropic": "/v1/messages"}


def asked(
    wire: str, text: str = "hi", *, stream: bool = False, image: tuple[str, bytes] | None = None
) -> dict[str, Any]:
    """A minimal request on a wire."""
    body: dict[str, Any] = {"model": "scripted", "stream": stream}
    mime, data = image or ("", b"")
    encoded = base64.b64encode(data).decode()
    url = f"data:{mime};base64,{encoded}"
    source = {"type": "base64", "media_type": mime, "data": encoded}
    match wire:
        case "chat":
            picture: dict[str, Any] = {"type": "image_url", "image_url": {"url": url}}
            parts = [{"type": "text", "text": text}, *([picture] if image else [])]
            return {**body, "messages": [{"role": "user", "content": parts}]}
        case "responses":
            picture = {"type": "input_image", "image_url": url, "detail": "auto"}
            parts = [{"type": "input_text", "text": text}, *([picture] if image else [])]
            return {**body, "input": [{"role": "user", "content": parts}]}
        case _:
            picture = {"type": "image", "source": source}
            parts = [{"type": "text", "text": text}, *([picture] if image else [])]
            return {**body, "max_tokens": 100, "messages": [{"role": "user", "content": parts}]}


async def post(client: httpx2.AsyncClient, server: ModelServer, wire: str, body: dict[str, Any]) -> httpx2.Response:
    """One request, its response read whole."""
    return await client.post(server.url + PATHS[wire], json=body)
