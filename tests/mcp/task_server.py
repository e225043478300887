"""A server of the Model Context Protocol that takes calls on as tasks (`io.modelcontextprotocol/tasks`, 2026-07-28).

`python task_server.py FOLDER`: `FOLDER/state` is what a task says of itself, in JSON, and working where there is none;
what it is asked for is noted in `FOLDER/asked`, what it is answered in `FOLDER/answered`.
"""

import json
import sys
from pathlib import Path
from typing import Any

FOLDER, VERSION = Path(sys.argv[1]), "2026-07-28"
TASKS = "io.modelcontextprotocol/tasks"
ABLE: dict[str, Any] = {"tools": {}, "extensions": {TASKS: {}}}
ABOUT = {"createdAt": "2026-07-28T10:00:00Z", "lastUpdatedAt": "2026-07-28T10:00:00Z", "ttlMs": None}
OVEN = {"name": "bake", "description": "Bakes.", "inputSchema": {"type": "object"}}


def state() -> dict[str, Any]:
    """How the task stands."""
    file = FOLDER / "state"
    return dict(json.loads(file.read_text())) if file.exists() else {"status": "working"}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; nothing for one that is refused."""
    match method:
        case "server/discover":
            return {"supportedVersions": [VERSION], "capabilities": ABLE}
        case "tools/list":
            return {"tools": [OVEN]}
        case "tools/call":
            able = params["_meta"]["io.modelcontextprotocol/clientCapabilities"].get("extensions", {})
            assert TASKS in able, "a task is given to nobody else"
            return {"resultType": "task", "taskId": "t1", "status": "working", **ABOUT, "pollIntervalMs": 100}
        case "tasks/get" if (found := state()).get("status") != "forgotten":
            return {"taskId": params["taskId"], **ABOUT, "pollIntervalMs": 100, **found}
        case "tasks/update":
            (FOLDER / "answered").write_text(json.dumps(params["inputResponses"]))
            (FOLDER / "state").write_text(json.dumps({"status": "completed", "result": {"content": []}}))
            return {}
        case "tasks/cancel":
            (FOLDER / "state").write_text(json.dumps({"status": "cancelled", "statusMessage": "taken back"}))
            return {}
        case _:
            return None


def handle(message: dict[str, Any]) -> None:
    """One message of the other side."""
    method, params, number = message.get("method", ""), message.get("params") or {}, message.get("id")
    if number is None:
        return
    with (FOLDER / "asked").open("a") as file:
        file.write(f"{method}\n")
    said: dict[str, Any] = {"jsonrpc": "2.0", "id": number}
    if method == "initialize":
        data = {"supported": [VERSION], "requested": params["protocolVersion"]}
        said["error"] = {"code": -32022, "message": "too old", "data": data}
    elif (result := answer(method, params)) is None:
        said["error"] = {"code": -32602, "message": "Task not found"}
    else:
        said["result"] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"} | result
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


for line in sys.stdin:
    handle(json.loads(line))
