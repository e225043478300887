"""A server of the Model Context Protocol that takes calls on as tasks, in the words of 2026-07-28 or of 2025-11-25.

`python task_server.py FOLDER [VERSION]`: `FOLDER/state` is what a task says of itself, in JSON, and working where
there is none; what it is asked for is noted in `FOLDER/asked`, what it is answered in `FOLDER/answered`. What stands in
`FOLDER/refused` by a method, in JSON, is the error that it is answered with; null is no answer, and a word is its end.
While `FOLDER/away` is there it does not start. With `FOLDER/deaf` a task is not ended by who wants that.
"""

import json
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
VERSION = sys.argv[2] if sys.argv[2:] else "2026-07-28"
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
            unwanted()
            return {}
        case _:
            return None


def unwanted() -> None:
    """Somebody wants the task to end."""
    if not (FOLDER / "deaf").exists():
        (FOLDER / "state").write_text(json.dumps({"status": "cancelled", "statusMessage": "taken back"}))


def refused(method: str, number: Any) -> bool:
    """Whether this is not to be answered; then it is refused, unless in silence."""
    file = FOLDER / "refused"
    refusals = json.loads(file.read_text()) if file.exists() else {}
    match refusals.get(method):
        case dict() as error:
            write({"jsonrpc": "2.0", "id": number, "error": error})
        case str():
            sys.exit(3)
        case _:
            pass
    return method in refusals


CORE_ABLE: dict[str, Any] = {"tools": {}, "tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}}}
CORE_ABOUT = {"createdAt": "2025-11-25T10:00:00Z", "lastUpdatedAt": "2025-11-25T10:00:00Z", "ttl": None}


def core_answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The same where tasks are of the protocol's core: the result is fetched apart, and questions come beside it."""
    task: dict[str, Any] = {"taskId": "t1", **CORE_ABOUT, "pollInterval": 100}
    match method:
        case "initialize":
            about = {"name": "oven", "version": "1"}
            return {"protocolVersion": VERSION, "capabilities": CORE_ABLE, "serverInfo": about}
        case "tools/list":
            return {"tools": [{**OVEN, "execution": {"taskSupport": "required"}}]}
        case "tools/call" if params.get("task"):
            return {"task": {**task, "status": "working"}}
        case "tasks/get" if (found := state()).get("status") != "forgotten":
            told: dict[str, Any] = {key: found[key] for key in ("status", "statusMessage") if key in found}
            return {**task, "pollInterval": found.get("pollIntervalMs", 100), **told}
        case "tasks/result" if (found := state()).get("status") == "input_required":
            [asked] = found["inputRequests"].values()
            asked["params"]["_meta"] = {"io.modelcontextprotocol/related-task": {"taskId": "t1"}}
            write({"jsonrpc": "2.0", "id": "q1", **asked})
            return {}  # once it has ended
        case "tasks/result":
            return state().get("result")
        case "tasks/cancel":
            unwanted()
            return {**task, "status": state()["status"]}
        case _:
            return None


def write(message: dict[str, Any]) -> None:
    """Say something."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def core_handle(message: dict[str, Any]) -> None:
    """One message of the other side, to a server that knows 2025-11-25 alone."""
    global waiting
    method, params, number = message.get("method", ""), message.get("params") or {}, message.get("id")
    if number == "q1":
        done = {"status": "completed", "result": {"content": []}}
        (FOLDER / "answered").write_text(json.dumps({"whom": message["result"]}))
        (FOLDER / "state").write_text(json.dumps(done))
        write({"jsonrpc": "2.0", "id": waiting, "result": done["result"]})
    if number is None or not method:
        return
    with (FOLDER / "asked").open("a") as file:
        file.write(f"{method}\n")
    if refused(method, number):
        return
    result = core_answer(method, params)
    if result == {}:
        waiting = number
    elif result is None:
        failed = state().get("error") or {"code": -32602, "message": "Task not found"}
        write({"jsonrpc": "2.0", "id": number, "error": failed})
    else:
        write({"jsonrpc": "2.0", "id": number, "result": result})


def handle(message: dict[str, Any]) -> None:
    """One message of the other side."""
    method, params, number = message.get("method", ""), message.get("params") or {}, message.get("id")
    if number is None:
        return
    with (FOLDER / "asked").open("a") as file:
        file.write(f"{method}\n")
    if refused(method, number):
        return
    said: dict[str, Any] = {"jsonrpc": "2.0", "id": number}
    if method == "initialize":
        data = {"supported": [VERSION], "requested": params["protocolVersion"]}
        said["error"] = {"code": -32022, "message": "too old", "data": data}
    elif (result := answer(method, params)) is None:
        said["error"] = {"code": -32602, "message": "Task not found"}
    else:
        said["result"] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"} | result
    write(said)


waiting: Any = None
if (FOLDER / "away").exists():
    sys.exit(4)
for line in sys.stdin:
    (handle if VERSION == "2026-07-28" else core_handle)(json.loads(line))
