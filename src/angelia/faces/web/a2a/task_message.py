"""What another agent says: the parts of its message as content of ours, and how it wants to be answered."""

import json
from typing import Any

from msgspec import UNSET, Struct, UnsetType, field

from angelia.core.content import Content, Text
from angelia.core.errors import BadInput
from angelia.core.text import clean
from angelia.faces.web.a2a.push_configs import PushConfig
from angelia.faces.web.a2a.rpc import CONTENT_TYPE, CallRefused
from angelia.faces.web.v1.intake import media_from_base64, name_of_mime
from angelia.store.media.measure import Intake

_MOST_ID = 128
_WORDS = frozenset({"text", "text/plain", "text/markdown", "text/*", "*/*"})


class MessagePart(Struct, rename="camel"):
    """One part: text, bytes in base64, an address or data."""

    text: str | UnsetType = UNSET
    raw: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    data: Any = UNSET
    filename: str = ""
    media_type: str = ""


class TaskMessage(Struct, rename="camel"):
    """A message. With a task it goes on with that, with a context it begins a further task there."""

    message_id: str = ""
    context_id: str = ""
    task_id: str = ""
    role: str = "ROLE_USER"
    parts: list[MessagePart] = field(default_factory=list)


class SendConfiguration(Struct, rename="camel"):
    """How it is to be answered."""

    accepted_output_modes: list[str] = field(default_factory=list)
    history_length: int | None = None
    return_immediately: bool = False
    task_push_notification_config: PushConfig | None = None


class SendRequest(Struct, rename="camel"):
    """The parameters of `SendMessage` and `SendStreamingMessage`."""

    message: TaskMessage
    configuration: SendConfiguration = field(default_factory=SendConfiguration)


def require_possible(asked: SendRequest) -> None:
    """Nothing is asked for that would silently not be had.

    Raises:
        CallRefused, BadInput: something is; says what.
    """
    modes = asked.configuration.accepted_output_modes
    if modes and not _WORDS.intersection(one.partition(";")[0].strip().lower() for one in modes):
        raise CallRefused(CONTENT_TYPE, f"Answers are words, and {', '.join(modes)[:200]} are wanted.")
    if not 0 < len(asked.message.message_id) <= _MOST_ID:
        raise BadInput(f"`messageId` has {len(asked.message.message_id)} characters, expected 1 to {_MOST_ID}.")
    if asked.message.role != "ROLE_USER":
        raise BadInput(f"`role` is {asked.message.role[:40]!r}, expected 'ROLE_USER'.")


async def content_of(message: TaskMessage, intake: Intake) -> list[Content]:
    """What it says.

    Raises:
        BadInput, ApiRefused: a part cannot be taken; says which.
    """
    return [await _content(part, f"message.parts[{at}]", intake) for at, part in enumerate(message.parts)]


async def _content(part: MessagePart, where: str, intake: Intake) -> Content:
    given = [name for name in ("text", "raw", "url", "data") if getattr(part, name) is not UNSET]
    if len(given) != 1:
        raise BadInput(f"{where} has {' and '.join(given) or 'none'} of text, raw, url and data.", "Expected one.")
    if isinstance(part.text, str):
        return Text(clean(part.text))
    if isinstance(part.raw, str):
        return await media_from_base64(intake, part.raw, part.filename or name_of_mime(part.media_type), where)
    if isinstance(part.url, str):
        raise BadInput(f"{where} is an address.", "Nothing is fetched for another agent.", "Send the bytes, as `raw`.")
    return Text(clean(json.dumps(part.data, ensure_ascii=False)))
