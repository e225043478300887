"""A whole exchange between editor and agent as a dialogue that people can read.

    → session/prompt "Write."
    ← agent_message_chunk "I write."
    ← tool_call write a.txt (edit, pending)
    ⇐ end_turn

`→` and `←` are what is sent, `⇐` is an answer of the agent, `⇒` one of the editor.
"""

from typing import Any

from tests.acp.editor import Editor


def dialogue(editor: Editor) -> str:
    """Everything that went over the wire, one line each; text that arrived in pieces is one line."""
    lines: list[tuple[str, str]] = []
    asked: dict[tuple[str, Any], str] = {}
    quiet = {message["id"] for ours, message in editor.wire if not ours and message.get("method") == "terminal/output"}
    for ours, message in editor.wire:
        if message.get("id") in quiet and (ours is ("method" not in message)):
            continue  # how often a terminal is looked at is left to chance
        kind, words = _line(message, ours=ours, asked=asked)
        joins = kind.endswith("_chunk") and lines and lines[-1][0] == f"{kind} {_id(message)}"
        if joins:
            lines[-1] = (lines[-1][0], lines[-1][1] + words)
        else:
            lines.append((f"{kind} {_id(message)}", words))
    told = [_shown(kind, words) for kind, words in lines]
    return _plain("\n".join(told), editor) + "\n"


def _shown(kind: str, words: str) -> str:
    name = kind.partition(" ")[0]
    arrow, _, what = name.partition("|")
    said = _quoted(words) if what.endswith("_chunk") else words
    return " ".join(part for part in (arrow, what, said) if part)


def _line(message: dict[str, Any], *, ours: bool, asked: dict[tuple[str, Any], str]) -> tuple[str, str]:
    if "method" not in message:
        return ("⇒|" if ours else "⇐|"), _answer(message, asked.get(("agent" if ours else "editor", message["id"]), ""))
    if "id" in message:
        asked["editor" if ours else "agent", message["id"]] = message["method"]
    arrow, params = "→" if ours else "←", message.get("params", {})
    if message["method"] == "session/update":
        update = params["update"]
        return f"{arrow}|{update['sessionUpdate']}", _update(update)
    return f"{arrow}|{message['method']}", _params(message["method"], params)


def _id(message: dict[str, Any]) -> str:
    return str(message.get("params", {}).get("update", {}).get("messageId", ""))


def _update(update: dict[str, Any]) -> str:
    match update["sessionUpdate"]:
        case "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk":
            return _block(update["content"])
        case "tool_call":
            return f"{update['title']} ({update.get('kind', 'other')}, {update.get('status', 'pending')})"
        case "tool_call_update":
            return ", ".join([update.get("status", ""), *(_content(one) for one in update.get("content", []))])
        case "plan":
            return ", ".join(f"{one['content']} ({one['status']})" for one in update["entries"])
        case "available_commands_update":
            return ", ".join(one["name"] for one in update["availableCommands"])
        case "session_info_update":
            return _quoted(update["title"])
        case "current_mode_update":
            return str(update["currentModeId"])
        case _:
            return ""


def _content(content: dict[str, Any]) -> str:
    if content["type"] == "diff":
        return f"diff of {content['path']}"
    if content["type"] == "terminal":
        return f"terminal {content['terminalId']}"
    return _quoted(_block(content["content"]))


def _block(block: dict[str, Any]) -> str:
    match block["type"]:
        case "text":
            return str(block["text"])
        case "resource":
            return f"<{block['resource']['uri']}>"
        case "resource_link":
            return f"<{block['name']}>"
        case kind:
            return f"<{kind} {block['mimeType']}>"


def _params(method: str, params: dict[str, Any]) -> str:
    match method:
        case "session/prompt":
            return " ".join(_quoted(_block(block)) for block in params["prompt"])
        case "session/request_permission":
            options = ", ".join(f"{one['name']} ({one['kind']})" for one in params["options"])
            return f"{params['toolCall']['title']}: {options}"
        case "elicitation/create":
            return f"{params['message']} {', '.join(params['requestedSchema']['properties'])}"
        case _:
            known = {"sessionId", "cwd", "mcpServers", "clientCapabilities", "env", "outputByteLimit"}
            told = {name: str(value).replace("\n", "\\n") for name, value in params.items() if name not in known}
            return ", ".join(f"{name}={value}" for name, value in told.items())


def _answer(message: dict[str, Any], method: str) -> str:
    if "error" in message:
        return f"error {message['error']['code']}: {message['error']['message']}"
    result = message["result"] or {}
    match method:
        case "session/prompt":
            return str(result["stopReason"])
        case "session/request_permission":
            return " ".join(str(value) for value in result["outcome"].values())
        case "elicitation/create":
            return f"{result['action']} {result.get('content', '')}".rstrip()
        case "session/list":
            return f"{len(result['sessions'])} sessions"
        case _:
            return f"{method}: done"


def _quoted(text: str) -> str:
    return '"' + text.replace("\n", "\\n") + '"'


def _plain(text: str, editor: Editor) -> str:
    """Without what differs from run to run."""
    text = text.replace(str(editor.place.workspace), "WORKSPACE")
    for number, session in enumerate(dict.fromkeys(one["sessionId"] for one in editor.updates), 1):
        text = text.replace(session, f"SESSION-{number}")
    return text
