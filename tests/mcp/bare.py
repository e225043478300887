"""A server of the Model Context Protocol written by hand, line by line: it starts at once, and does wrong on demand.

`python bare.py [old|new] [folder]`: the protocol of before 2026-07-28, or that day's and no other. It writes what
happens to it into the file `seen` of the folder.
"""

import base64
import json
import os
import sys
from pathlib import Path
from typing import Any

ERA = sys.argv[1] if len(sys.argv) > 1 else "old"
FOLDER = Path(sys.argv[2] if len(sys.argv) > 2 else ".")
VERSION = {"old": "2025-06-18", "new": "2026-07-28"}[ERA]
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
WORDS = {"type": "object", "properties": {"words": {"type": "string"}}, "required": ["words"]}

tools: list[dict[str, Any]] = [
    {"name": "say", "description": "Says it.", "inputSchema": WORDS, "annotations": {"readOnlyHint": True}},
    {"name": "note", "description": "Notes it.", "inputSchema": WORDS},
    {"name": "picture", "description": "Paints.", "inputSchema": WORDS},
    {"name": "steps", "description": "Works.", "inputSchema": {"type": "object"}},
    {"name": "die", "description": "Ends.", "inputSchema": {"type": "object"}},
    {"name": "wait", "description": "Never answers.", "inputSchema": {"type": "object"}},
    {"name": "more", "description": "Brings a tool.", "inputSchema": {"type": "object"}},
    {"name": "token", "description": "Tells a secret.", "inputSchema": {"type": "object"}},
    {"name": "fail", "description": "Fails.", "inputSchema": {"type": "object"}},
    {"name": "odd", "description": "Answers nonsense.", "inputSchema": {"type": "object"}},
    {"name": "refuse", "description": "Refuses.", "inputSchema": {"type": "object"}},
]
listening: list[Any] = []
held: list[Any] = []
"""Calls of `more` that wait: the next list is refused, and the next `say` ends them."""


def seen(what: str) -> int:
    """Note it, on the disk; how often it was noted."""
    with (FOLDER / "seen").open("a") as file:
        file.write(f"{what}\n")
    return noted().count(what)


def noted() -> list[str]:
    """What was noted so far."""
    return (FOLDER / "seen").read_text().splitlines()


def put(**message: Any) -> None:
    """One message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(words: str, *, wrong: bool = False) -> dict[str, Any]:
    """A result of words."""
    return {"content": [{"type": "text", "text": words}], "isError": wrong}


def painted(colour: str) -> dict[str, Any]:
    """A result with a picture."""
    from angelia.testing.model.pictures import one_colour

    data = base64.b64encode(one_colour(colour)).decode()
    return {"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}


def changed() -> None:
    """Another tool is there."""
    tools.append({"name": "extra", "description": "New.", "inputSchema": {"type": "object"}})
    if ERA == "old":
        put(method="notifications/tools/list_changed")
    for number in listening:
        put(method="notifications/tools/list_changed", params={"_meta": {SUBSCRIPTION: number}})


def called(params: dict[str, Any]) -> dict[str, Any] | None:
    """What a call comes to; nothing if it is never answered."""
    name, words = params["name"], str(params.get("arguments", {}).get("words", ""))
    match name:
        case "say":
            while held and "refused a list" in noted():
                put(id=held.pop(), result=text("brought"))
            return text(words)
        case "note":
            return text(f"noted {seen(words)}")
        case "picture":
            return painted(words)
        case "steps":
            for step in (1, 2):
                token = params["_meta"]["progressToken"]
                about = {"progressToken": token, "progress": step, "total": 2, "message": f"part {step}"}
                put(method="notifications/progress", params=about)
            return text("worked")
        case "die":
            seen("died")
            sys.stderr.write(f"out of ink, token {os.environ.get('BARE_TOKEN')}\n")
            sys.stderr.flush()
            os._exit(3)
        case "wait":
            seen("waits")
            return None
        case "more":
            changed()
            return text("brought")
        case "odd":
            return {"content": 3}
        case "token":
            return text(f"it is {os.environ.get('BARE_TOKEN', 'none')}")
        case _:
            return text("no paper", wrong=True)


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request."""
    able = {"tools": {"listChanged": True}}
    match method:
        case "initialize":
            return {"protocolVersion": VERSION, "capabilities": able, "serverInfo": {"name": "bare", "version": "1"}}
        case "server/discover":
            return {"supportedVersions": [VERSION], "capabilities": able}
        case "tools/list":
            half = len(tools) // 2
            first, rest = {"tools": tools[:half], "nextCursor": "rest"}, {"tools": tools[half:]}
            return rest if params.get("cursor") else first
        case _:
            return called(params)


def handle(message: dict[str, Any]) -> None:
    """One message of the other side."""
    method, params, number = message.get("method", ""), message.get("params") or {}, message.get("id")
    if number is None:
        seen(method)
    elif method == "initialize":
        seen("roots are known" if "roots" in params["capabilities"] else "no roots are known")
    if number is None:
        pass
    elif ERA == "new" and method == "initialize":
        data = {"supported": [VERSION], "requested": params["protocolVersion"]}
        put(id=number, error={"code": -32022, "message": "too old", "data": data})
    elif ERA == "old" and method == "server/discover":
        os._exit(4)  # as some do that know nothing of it
    elif method == "tools/call" and params["name"] == "refuse":
        put(id=number, error={"code": -32602, "message": "no such paper"})
    elif method == "tools/call" and params["name"] == "more" and params.get("arguments"):
        held.append(number)
        changed()
    elif method == "tools/list" and held and "refused a list" not in noted():
        seen("refused a list")
        put(id=number, error={"code": -32603, "message": "busy"})
    elif method == "subscriptions/listen":
        listening.append(number)
        about = {"notifications": params["notifications"], "_meta": {SUBSCRIPTION: number}}
        put(method="notifications/subscriptions/acknowledged", params=about)
    elif (result := answer(method, params)) is not None:
        more = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"} if ERA == "new" else {}
        put(id=number, result=result | more)


seen(f"began in {os.getcwd()}")  # noqa: PTH109 - as it is
sys.stdout.write("Welcome to the bare server, which prints where it should not.\n")
for line in sys.stdin:
    handle(json.loads(line))
