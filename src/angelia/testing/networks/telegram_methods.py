"""What each method of the Bot API does in the fake Telegram."""

from collections.abc import Callable, Mapping
from typing import Any

from angelia.channels.capabilities import Kind
from angelia.channels.outgoing import Button
from angelia.core.entry import Address
from angelia.testing.channels.network import ArrivedMessage, Sample
from angelia.testing.networks.telegram_forms import Uploaded
from angelia.testing.networks.telegram_markup import seen
from angelia.testing.networks.telegram_schema import BotApiError
from angelia.testing.networks.telegram_world import BOT, TOPIC, TelegramWorld, media_fields

REACTIONS = frozenset("👍👎❤🔥🎉🤔😱👀🙏👌")
"""Some of those that there are ("ReactionTypeEmoji")."""

DOWNLOAD = 20 << 20

_SENDS = {
    "sendPhoto": Kind.PHOTO,
    "sendAnimation": Kind.ANIMATION,
    "sendVoice": Kind.VOICE,
    "sendAudio": Kind.AUDIO,
    "sendVideo": Kind.VIDEO,
    "sendDocument": Kind.DOCUMENT,
}
_PHOTOS = (b"\xff\xd8\xff", b"\x89PNG", b"RIFF")
_BEGINS = {
    Kind.ANIMATION: (b"GIF8",),
    Kind.VOICE: (b"OggS",),
    Kind.AUDIO: (b"ID3", b"\xff\xfb"),
    Kind.VIDEO: (b"\0\0\0\x18ftyp",),
}


class Bot:
    """The bot's side: `calls` has a function for every method that is not about the way news come."""

    def __init__(self, world: TelegramWorld) -> None:
        self._world = world
        self.calls: Mapping[str, Callable[[dict[str, Any], dict[str, Uploaded]], Any]] = {
            "getMe": lambda args, files: BOT,
            "setMyCommands": self._set_commands,
            "sendMessage": self._send_message,
            "sendMessageDraft": self._send_draft,
            **{method: self._sender(method) for method in _SENDS},
            "sendMediaGroup": self._send_group,
            "editMessageText": self._edit_text,
            "editMessageCaption": self._edit_caption,
            "deleteMessage": self._delete,
            "setMessageReaction": self._react,
            "sendChatAction": self._act,
            "answerCallbackQuery": self._answer,
            "getFile": self._get_file,
        }

    def _set_commands(self, args: dict[str, Any], files: dict[str, Uploaded]) -> bool:
        self._world.menu = args["commands"]
        return True

    def _send_message(self, args: dict[str, Any], files: dict[str, Uploaded]) -> dict[str, Any]:
        where = self._place(args)
        text = seen(args["text"], args.get("parse_mode", ""), 4096, "message")
        if not text:
            raise BotApiError(400, "Bad Request: message text is empty")
        message = self._world.post(where, BOT, text=text, **_markup(args), **self._reply(where, args))
        self._arrive("sendMessage", Kind.TEXT, message)
        return message

    def _send_draft(self, args: dict[str, Any], files: dict[str, Uploaded]) -> bool:
        where, number = self._place({**args, "chat_id": str(args["chat_id"])}), args["draft_id"]
        if self._world.chat(where.chat)["type"] != "private":
            raise BotApiError(400, "Bad Request: TEXTDRAFT_PEER_INVALID")
        if not number:
            raise BotApiError(400, "Bad Request: draft_id must be non-zero")
        text = seen(args.get("text", ""), args.get("parse_mode", ""), 4096, "message")
        self._world.draft(where, number, text)
        self._world.arrived.append(
            ArrivedMessage("sendMessageDraft", Kind.DRAFT, where.chat, str(number), where.thread, text)
        )
        return True

    def _sender(self, method: str) -> Callable[[dict[str, Any], dict[str, Uploaded]], dict[str, Any]]:
        kind = _SENDS[method]

        def send(args: dict[str, Any], files: dict[str, Uploaded]) -> dict[str, Any]:
            where, file = self._place(args), self._file(kind, files[kind.value], args)
            caption = _caption(args)
            reply, markup = self._reply(where, args), _markup(args)
            fields = media_fields(file.kind.value, self._world.store(file.data), file)
            message = self._world.post(where, BOT, **fields, **caption, **markup, **reply)
            self._arrive(method, file.kind, message, file)
            return message

        return send

    def _send_group(self, args: dict[str, Any], files: dict[str, Uploaded]) -> list[dict[str, Any]]:
        where, parts = self._place(args), args["media"]
        if not 2 <= len(parts) <= 10:
            raise BotApiError(400, "Bad Request: expected from 2 to 10 media in an album")
        whole = [self._file(Kind(one["type"]), files[one["media"].removeprefix("attach://")], {}) for one in parts]
        captions, reply = [_caption(one) for one in parts], self._reply(where, args)
        album, messages = f"album-{len(self._world.messages)}", []
        for file, caption in zip(whole, captions, strict=True):
            fields = media_fields(file.kind.value, self._world.store(file.data), file)
            messages.append(self._world.post(where, BOT, **fields, **caption, **reply, media_group_id=album))
            self._arrive("sendMediaGroup", file.kind, messages[-1], file)
        return messages

    def _edit_text(self, args: dict[str, Any], files: dict[str, Uploaded]) -> dict[str, Any]:
        return self._edit(args, "text", seen(args["text"], args.get("parse_mode", ""), 4096, "message"))

    def _edit_caption(self, args: dict[str, Any], files: dict[str, Uploaded]) -> dict[str, Any]:
        return self._edit(args, "caption", _caption(args).get("caption", ""))

    def _edit(self, args: dict[str, Any], field: str, text: str) -> dict[str, Any]:
        old = self._ours(args, "message to edit not found")
        if field == "text" and "text" not in old:
            raise BotApiError(400, "Bad Request: there is no text in the message to edit")
        new = {name: value for name, value in old.items() if name != "reply_markup"} | {field: text} | _markup(args)
        if new == old:
            said = (
                "Bad Request: message is not modified: specified new message content and reply markup "
                "are exactly the same as a current content and reply markup of the message"
            )
            raise BotApiError(400, said)
        old.clear()
        old.update(new)
        self._arrive("editMessageText" if field == "text" else "editMessageCaption", Kind.EDIT, old)
        return old

    def _delete(self, args: dict[str, Any], files: dict[str, Uploaded]) -> bool:
        message = self._ours(args, "message to delete not found")
        del self._world.messages[args["chat_id"], message["message_id"]]
        self._arrive("deleteMessage", Kind.DELETE, {**message, "text": ""})
        return True

    def _react(self, args: dict[str, Any], files: dict[str, Uploaded]) -> bool:
        message = self._ours(args, "message to react not found")
        emoji = "".join(one["emoji"] for one in args.get("reaction", []))
        if emoji and emoji not in REACTIONS:
            raise BotApiError(400, "Bad Request: REACTION_INVALID")
        self._arrive("setMessageReaction", Kind.REACTION, {**message, "text": emoji})
        return True

    def _act(self, args: dict[str, Any], files: dict[str, Uploaded]) -> bool:
        where = self._place(args)
        if args["action"] != "typing":
            raise BotApiError(400, "Bad Request: wrong parameter action in request")
        self._world.arrived.append(ArrivedMessage("sendChatAction", Kind.TYPING, where.chat, thread=where.thread))
        return True

    def _answer(self, args: dict[str, Any], files: dict[str, Uploaded]) -> bool:
        if len(text := args.get("text", "")) > 200:
            raise BotApiError(400, "Bad Request: MESSAGE_TOO_LONG")
        self._world.answers.append((args["callback_query_id"], text))
        return True

    def _get_file(self, args: dict[str, Any], files: dict[str, Uploaded]) -> dict[str, Any]:
        number = args["file_id"]
        if number not in self._world.files:
            raise BotApiError(400, "Bad Request: invalid file_id")
        place = f"documents/{number}"
        if self._world.folder:
            place = str(self._world.folder / number)
            if self._world.folder.is_dir():
                (self._world.folder / number).write_bytes(self._world.files[number])
        elif len(self._world.files[number]) > DOWNLOAD:
            raise BotApiError(400, "Bad Request: file is too big")
        return {"file_id": number, "file_unique_id": f"unique-{number}", "file_path": place}

    def _place(self, args: Mapping[str, Any]) -> Address:
        self._world.chat(args["chat_id"])
        thread = str(args.get("message_thread_id", ""))
        if thread and (args["chat_id"], thread) != (TOPIC.chat, TOPIC.thread):
            raise BotApiError(400, "Bad Request: message thread not found")
        return Address("", args["chat_id"], thread)

    def _reply(self, where: Address, args: Mapping[str, Any]) -> dict[str, Any]:
        if "reply_parameters" not in args:
            return {}
        asked = args["reply_parameters"]
        answered = self._world.messages.get((where.chat, asked["message_id"]))
        if answered is None and not asked.get("allow_sending_without_reply"):
            raise BotApiError(400, "Bad Request: message to be replied not found")
        return {"reply_to_message": dict(answered)} if answered else {}

    def _ours(self, args: Mapping[str, Any], missing: str) -> dict[str, Any]:
        self._world.chat(args["chat_id"])
        message = self._world.messages.get((args["chat_id"], args["message_id"]))
        if message is None:
            raise BotApiError(400, f"Bad Request: {missing}")
        return message

    def _file(self, kind: Kind, uploaded: Uploaded, args: Mapping[str, Any]) -> Sample:
        """A file, as the kind that the server makes of its bytes."""
        data = uploaded.data
        if not data:
            raise BotApiError(400, "Bad Request: file must be non-empty")
        if len(data) > self._world.limits[kind]:
            raise BotApiError(413, "Request Entity Too Large")
        if kind is Kind.PHOTO and not data.startswith(_PHOTOS):
            raise BotApiError(400, "Bad Request: IMAGE_PROCESS_FAILED")
        if kind is not Kind.PHOTO and not args.get("disable_content_type_detection"):
            kind = next((one for one, begins in _BEGINS.items() if data.startswith(begins)), Kind.DOCUMENT)
        return Sample(kind, "" if kind in (Kind.PHOTO, Kind.VOICE) else uploaded.name, uploaded.mime, data)

    def _arrive(self, method: str, kind: Kind, message: Mapping[str, Any], file: Sample | None = None) -> None:
        keys = message.get("reply_markup", {}).get("inline_keyboard", [])
        self._world.arrived.append(
            ArrivedMessage(
                method,
                kind,
                str(message["chat"]["id"]),
                str(message["message_id"]),
                str(message.get("message_thread_id", "")),
                message.get("text", message.get("caption", "")),
                file.name if file else "",
                file.mime if file else "",
                file.data if file else b"",
                str(message.get("reply_to_message", {}).get("message_id", "")),
                message.get("media_group_id", ""),
                tuple(Button(key["text"], key["callback_data"]) for row in keys for key in row),
            )
        )


def _caption(args: Mapping[str, Any]) -> dict[str, str]:
    caption = seen(args.get("caption", ""), args.get("parse_mode", ""), 1024, "message caption")
    return {"caption": caption} if caption else {}


def _markup(args: Mapping[str, Any]) -> dict[str, Any]:
    """Buttons, as the server takes them ("InlineKeyboardButton", `callback_data`: 1-64 bytes)."""
    if "reply_markup" not in args:
        return {}
    for row in args["reply_markup"]["inline_keyboard"]:
        for key in row:
            if not 1 <= len(key["callback_data"].encode()) <= 64:
                raise BotApiError(400, "Bad Request: BUTTON_DATA_INVALID")
    return {"reply_markup": args["reply_markup"]}
