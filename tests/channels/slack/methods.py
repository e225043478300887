"""The methods of the fake Slack: strict about names, types and limits (docs.slack.dev, "Web API methods")."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from angelia.channels.capabilities import Kind
from angelia.channels.outgoing import Button
from angelia.testing.channels.network import ArrivedMessage
from tests.channels.slack import markup
from tests.channels.slack import world as w

_PAGED = {"cursor", "include_all_metadata", "inclusive", "latest", "limit", "oldest"}
_SAID = {"text", "blocks", "attachments", "markdown_text", "metadata", "parse", "link_names", "reply_broadcast"}

ARGUMENTS: Mapping[str, tuple[set[str], set[str]]] = {
    "auth.test": (set(), set()),
    "apps.connections.open": (set(), set()),
    "users.info": ({"user"}, {"include_locale"}),
    "conversations.open": (set(), {"users", "channel", "return_im", "prevent_creation"}),
    "conversations.history": ({"channel"}, _PAGED),
    "conversations.replies": ({"channel", "ts"}, _PAGED),
    "chat.postMessage": ({"channel"}, _SAID | {"thread_ts", "mrkdwn", "unfurl_links", "unfurl_media", "username"}),
    "chat.update": ({"channel", "ts"}, _SAID | {"file_ids"}),
    "chat.delete": ({"channel", "ts"}, set()),
    "reactions.add": ({"channel", "timestamp", "name"}, set()),
    "files.getUploadURLExternal": ({"filename", "length"}, {"snippet_type", "alt_txt"}),
    "files.completeUploadExternal": ({"files"}, {"channel_id", "channels", "thread_ts", "initial_comment", "blocks"}),
    "files.info": ({"file"}, {"count", "cursor", "limit", "page"}),
}
"""What each method must and may be given."""

_SIGNS = {"+1": "👍", "eyes": "👀"}


class Wrong(Exception):
    """An error of Slack's."""


class Methods:
    """Answers calls; `tell` is given the events that they cause."""

    def __init__(self, world: w.World, tell: Callable[[dict[str, Any]], None]) -> None:
        self.world, self._tell = world, tell
        self.base = ""
        self.uploads: dict[str, tuple[str, int]] = {}
        self.asked: list[str] = []
        self.given: dict[str, dict[str, str]] = {}
        self.wrong: dict[str, str] = {}
        self.hidden = 1
        """How often `files.info` is asked before it says where a file stands."""

    def call(self, method: str, given: dict[str, str]) -> dict[str, Any]:
        """The answer to a call."""
        self.asked.append(method)
        self.given[method] = given
        must, may = ARGUMENTS.get(method, (None, set()))
        try:
            if must is None:
                raise Wrong("unknown_method")
            if method in self.wrong:
                raise Wrong(self.wrong[method])
            if missing := [name for name in must if not given.get(name)]:
                raise Wrong(f"missing_argument: {missing}")
            if unknown := set(given) - must - may:
                raise Wrong(f"invalid_arguments: {unknown}")
            answer: dict[str, Any] = getattr(self, f"_{method.replace('.', '_')}")(given)
        except Wrong as wrong:
            return {"ok": False, "error": str(wrong)}
        return {"ok": True} | answer

    # -- who and where ------------------------------------------------------------------------------------------

    def _auth_test(self, given: dict[str, str]) -> dict[str, Any]:
        return {"user_id": w.US, "bot_id": w.OUR_BOT, "team_id": "T0TEAM", "user": "angelia", "team": "the team"}

    def _users_info(self, given: dict[str, str]) -> dict[str, Any]:
        if given["user"] not in w.NAMES:
            raise Wrong("user_not_found")
        name = w.NAMES[given["user"]]
        return {"user": {"id": given["user"], "name": name, "profile": {"display_name": name, "real_name": name}}}

    def _conversations_open(self, given: dict[str, str]) -> dict[str, Any]:
        if given.get("users") != w.FRIEND:
            raise Wrong("user_not_found")
        return {"channel": {"id": w.DIRECT}}

    def _conversations_history(self, given: dict[str, str]) -> dict[str, Any]:
        """The newest first; without what is said in threads."""
        found = [one for one in self._said(given) if one.get("thread_ts") in (None, one["ts"])]
        return _paged([*reversed(found)], given)

    def _conversations_replies(self, given: dict[str, str]) -> dict[str, Any]:
        """The oldest first, behind what the thread is about."""
        if given["ts"] not in self._chat(given["channel"]):
            raise Wrong("thread_not_found")
        found = [one for one in self._said(given) if one.get("thread_ts") == given["ts"]]
        return _paged([self._chat(given["channel"])[given["ts"]], *found], given)

    def _said(self, given: dict[str, str]) -> list[dict[str, Any]]:
        oldest = given.get("oldest", "0")
        return [one for ts, one in sorted(self._chat(given["channel"]).items()) if ts > oldest]

    def _chat(self, chat: str) -> dict[str, dict[str, Any]]:
        if chat not in self.world.messages:
            raise Wrong("channel_not_found")
        return self.world.messages[chat]

    # -- words --------------------------------------------------------------------------------------------------

    def _chat_postMessage(self, given: dict[str, str]) -> dict[str, Any]:  # noqa: N802 - Slack's name
        chat, blocks = given["channel"], _blocks(given, ("markdown", "rich_text", "actions"))
        if not given.get("text") and not blocks:
            raise Wrong("no_text")
        thread = self._thread(given, chat)
        message = self.world.write(chat, w.US, given.get("text", ""), blocks=blocks, **thread)
        self._arrive(ArrivedMessage("chat.postMessage", Kind.TEXT, chat, message["ts"], **_seen(blocks, thread)))
        self._tell(message | {"channel": chat, "channel_type": "im" if chat[0] == "D" else "channel"})
        return {"ts": message["ts"], "channel": chat, "message": message}

    def _chat_update(self, given: dict[str, str]) -> dict[str, Any]:
        message, blocks = self._ours(given), _blocks(given, ("markdown", "rich_text", "actions"))
        if len(given.get("text", "")) > 4000:
            raise Wrong("msg_too_long")
        message |= {"text": given.get("text", ""), "blocks": blocks}
        self._arrive(ArrivedMessage("chat.update", Kind.EDIT, given["channel"], given["ts"], **_seen(blocks, {})))
        return {"ts": given["ts"], "channel": given["channel"], "text": given.get("text", "")}

    def _chat_delete(self, given: dict[str, str]) -> dict[str, Any]:
        self._ours(given)
        del self._chat(given["channel"])[given["ts"]]
        self._arrive(ArrivedMessage("chat.delete", Kind.DELETE, given["channel"], given["ts"]))
        return {"ts": given["ts"], "channel": given["channel"]}

    def _reactions_add(self, given: dict[str, str]) -> dict[str, Any]:
        if given["timestamp"] not in self._chat(given["channel"]):
            raise Wrong("message_not_found")
        if given["name"] not in _SIGNS:
            raise Wrong("invalid_name")
        sign = _SIGNS[given["name"]]
        self._arrive(ArrivedMessage("reactions.add", Kind.REACTION, given["channel"], given["timestamp"], text=sign))
        return {}

    def _ours(self, given: dict[str, str]) -> dict[str, Any]:
        message = self._chat(given["channel"]).get(given["ts"])
        if message is None:
            raise Wrong("message_not_found")
        if message["user"] != w.US:
            raise Wrong("cant_update_message")
        return message

    def _thread(self, given: dict[str, str], chat: str) -> dict[str, Any]:
        thread = given.get("thread_ts")
        if thread and thread not in self._chat(chat):
            raise Wrong("thread_not_found")
        self._chat(chat)
        return {"thread_ts": thread} if thread else {}

    # -- files --------------------------------------------------------------------------------------------------

    def _files_getUploadURLExternal(self, given: dict[str, str]) -> dict[str, Any]:  # noqa: N802 - Slack's name
        if int(given["length"]) <= 0:
            raise Wrong("missing_argument")
        if int(given["length"]) > self.world.largest:
            raise Wrong("file_upload_size_restricted")
        number = self.world.keep(given["filename"], b"", self.base)["id"]
        self.uploads[number] = (given["filename"], int(given["length"]))
        return {"upload_url": f"{self.base}/upload/v1/{number}", "file_id": number}

    def brought(self, number: str, data: bytes) -> bool:
        """Bytes came to an upload's address."""
        if number not in self.uploads or len(data) != self.uploads[number][1]:
            return False
        self.world.bytes[number] = data
        return True

    def _files_completeUploadExternal(self, given: dict[str, str]) -> dict[str, Any]:  # noqa: N802 - Slack's name
        files, chat = json.loads(given["files"]), given["channel_id"]
        if not 1 <= len(files) <= 10 or any(set(one) - {"id", "title"} for one in files):
            raise Wrong("invalid_arguments")
        if any(not self.world.bytes.get(one["id"]) or one["id"] not in self.uploads for one in files):
            raise Wrong("file_not_found")
        thread, blocks = self._thread(given, chat), _blocks(given, ("rich_text",))
        told = [self.world.files[one["id"]] for one in files]
        message = self.world.write(chat, w.US, "", subtype="file_share", files=told, blocks=blocks, **thread)
        for number, one in enumerate(files):
            self._stands(one, message, chat, number == 0, len(files) > 1)
        self._tell(message | {"channel": chat})
        return {"files": [{"id": one["id"], "title": one.get("title", "")} for one in files]}

    def _stands(self, one: dict[str, str], message: dict[str, Any], chat: str, first: bool, album: bool) -> None:
        name, _ = self.uploads.pop(one["id"])
        file = self.world.files[one["id"]]
        file |= {"title": one.get("title", name), "asked": 0}
        file["shares"] = {"private" if chat[0] == "D" else "public": {chat: [{"ts": message["ts"]}]}}
        kind, data = w.kind_of(name), self.world.bytes[one["id"]]
        more = _seen(message["blocks"] if first else [], message) | {"album": message["ts"] if album else ""}
        called = {"name": file["title"], "mime": file["mimetype"], "data": data}
        self._arrive(ArrivedMessage("files.completeUploadExternal", kind, chat, message["ts"], **called, **more))

    def _files_info(self, given: dict[str, str]) -> dict[str, Any]:
        file = self.world.files.get(given["file"])
        if file is None:
            raise Wrong("file_not_found")
        file["asked"] = file.get("asked", 0) + 1
        return {"file": file if file["asked"] > self.hidden else file | {"shares": {}}}

    def _arrive(self, arrived: ArrivedMessage) -> None:
        self.world.arrived.append(arrived)


def _paged(found: list[dict[str, Any]], given: dict[str, str]) -> dict[str, Any]:
    begin, size = int(given.get("cursor") or 0), int(given.get("limit", 100))
    more = begin + size < len(found)
    following = {"next_cursor": str(begin + size) if more else ""}
    return {"messages": found[begin : begin + size], "has_more": more, "response_metadata": following}


def _seen(blocks: list[dict[str, Any]], message: dict[str, Any]) -> dict[str, Any]:
    pressed = [one for block in blocks if block["type"] == "actions" for one in block["elements"]]
    buttons = tuple(Button(one["text"]["text"], one["value"]) for one in pressed)
    return {"text": markup.shown(blocks), "buttons": buttons, "thread": message.get("thread_ts", "")}


def _blocks(given: dict[str, str], known: tuple[str, ...]) -> list[dict[str, Any]]:
    """Blocks, if they are as they are to be ("Block Kit", each block's "Fields")."""
    blocks: list[dict[str, Any]] = json.loads(given.get("blocks", "[]"))
    if len(blocks) > 50 or any(one["type"] not in known for one in blocks):
        raise Wrong("invalid_blocks")
    written = [one["text"] for one in blocks if one["type"] == "markdown"]
    if any(not text for text in written) or sum(map(len, written)) > 12_000:
        raise Wrong("invalid_blocks")
    plain = [part["text"] for one in blocks if one["type"] == "rich_text" for part in one["elements"][0]["elements"]]
    if any(not text for text in plain) or sum(map(len, (*written, *plain))) > 13_200:
        raise Wrong("msg_blocks_too_long")
    for one in blocks:
        if one["type"] == "actions":
            _actions(one["elements"])
    return blocks


def _actions(elements: list[dict[str, Any]]) -> None:
    """The elements of one actions block ("Button element")."""
    if not 1 <= len(elements) <= 25 or len({one["action_id"] for one in elements}) < len(elements):
        raise Wrong("invalid_blocks")
    for one in elements:
        text = one["text"]
        if one["type"] != "button" or text["type"] != "plain_text" or not 1 <= len(text["text"]) <= 75:
            raise Wrong("invalid_blocks")
        if len(one["value"]) > 2000 or set(one) - {"type", "text", "action_id", "value", "style"}:
            raise Wrong("invalid_blocks")
