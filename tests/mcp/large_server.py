"""A server of the Model Context Protocol that answers as much at once as it is asked for."""

import json
import sys
from typing import Any

SIZE = {"type": "object", "properties": {"size": {"type": "integer"}}}
VERSION = "2025-06-18"


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The result of a request."""
    match method:
        case "initialize":
            about = {"name": "large", "version": "1"}
            return {"protocolVersion": VERSION, "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            return {"tools": [{"name": "large", "inputSchema": SIZE}]}
        case _:
            return {"content": [{"type": "text", "text": "x" * params["arguments"]["size"]}]}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params") or {})
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
        sys.stdout.flush()
