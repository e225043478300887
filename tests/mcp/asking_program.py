"""A server over its pipes that asks its caller's person for a name, in the words of either protocol.

`python asking_program.py [old|new] FILE`: its number stands in the file.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

ERA = sys.argv[1]
VERSION = {"old": "2025-06-18", "new": "2026-07-28"}[ERA]
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ASKS = {"method": "elicitation/create", "params": {"message": "For whom?", "requestedSchema": FORM, "mode": "form"}}
TOOLS = {"tools": [{"name": "book", "inputSchema": {"type": "object"}}]}


def put(**message: Any) -> None:
    """One message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def handle(method: str, params: dict[str, Any], number: Any) -> None:
    """One request."""
    match method:
        case "initialize" if ERA == "new":
            data = {"supported": [VERSION], "requested": params["protocolVersion"]}
            put(id=number, error={"code": -32022, "message": "too old", "data": data})
        case "initialize":
            about = {"name": "asking", "version": "1"}
            put(id=number, result={"protocolVersion": VERSION, "capabilities": {"tools": {}}, "serverInfo": about})
        case "server/discover":
            put(id=number, result={"supportedVersions": [VERSION], "capabilities": {"tools": {}}, **WHOLE})
        case "tools/list":
            put(id=number, result=TOOLS | (WHOLE if ERA == "new" else {}))
        case "tools/call" if ERA == "new":
            put(id=number, result={"resultType": "input_required", "inputRequests": {"whom": ASKS}})
        case "tools/call":
            put(id="q1", **ASKS)
        case _:
            put(id=number, error={"code": -32601, "message": "Method not found"})


WHOLE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
Path(sys.argv[2]).write_text(str(os.getpid()))
for line in sys.stdin:
    heard = json.loads(line)
    if "id" in heard and "method" in heard:
        handle(heard["method"], heard.get("params") or {}, heard["id"])
