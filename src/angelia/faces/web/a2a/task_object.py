"""A turn as a task: how it stands, what it has come to, and what began it, all of it from the log."""

import datetime as dt
from typing import Any, Literal

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Content, Text
from angelia.core.sentences import sentence_in_chat
from angelia.faces.web.v1.chat_completions import failed
from angelia.faces.web.v1.files import file_id
from angelia.faces.web.v1.response_request import conversation_name
from angelia.faces.web.v1.told_words import told_by_now
from angelia.faces.web.v1.turn import FileForProgram, FollowedTurn, StoredTurn, TurnResult
from angelia.faces.web.v1.turn_place import TurnPlace
from angelia.faces.web.v1.turns import key_of

LoggedTurn = FollowedTurn | StoredTurn
TaskState = Literal[
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_REJECTED",
]

ANSWER = "answer"
"""The artifact that holds the words; each file is one of its own."""

_KIND = "task"
WAITS = "It waits for the yes of the person whose agent this is."


def task_id(turn: LoggedTurn) -> str:
    """The id by which other agents know a turn: where it stands in the log."""
    return TurnPlace(turn.conversation, turn.seq).named(_KIND)


def place_of(turn: LoggedTurn) -> dict[str, Any]:
    """Which task an update is of."""
    return {"taskId": task_id(turn), "contextId": conversation_name(turn.conversation)}


def state_of(result: TurnResult) -> TaskState:
    """How a turn stands, in the protocol's words."""
    match result.ending:
        case None:
            return "TASK_STATE_WORKING"
        case end.Cancelled():
            return "TASK_STATE_CANCELED"
        case end.Refused():
            return "TASK_STATE_REJECTED"
        case end.StepLimit() | end.BudgetSpent() | end.ReplyCutOff():
            return "TASK_STATE_FAILED"
        case _:
            return "TASK_STATE_FAILED" if failed(result) else "TASK_STATE_COMPLETED"


def task_status(turn: LoggedTurn, result: TurnResult) -> dict[str, Any]:
    """The state, since when, and why, where there is no answer or it waits for somebody."""
    state = state_of(result)
    status: dict[str, Any] = {"state": state, "timestamp": _time(result.ended or result.at)}
    why = ""
    if result.ending is not None and state != "TASK_STATE_COMPLETED":
        why = sentence_in_chat(result.ending)
    elif result.ending is None and turn.waits():
        why = WAITS
    if why:
        own = {"messageId": f"{task_id(turn)}_status", "role": "ROLE_AGENT", "parts": [{"text": why}]}
        status["message"] = own | place_of(turn)
    return status


def words_by_now(turn: LoggedTurn, result: TurnResult) -> str:
    """The words of the answer, as far as they are stored."""
    told = told_by_now(turn)
    if result.ending is not None and state_of(result) == "TASK_STATE_COMPLETED":
        told.rest(result.words, turn.entries)
    return told.told


def answer_artifact(words: str) -> dict[str, Any]:
    """Some words of the answer."""
    return {"artifactId": ANSWER, "name": "Answer", "parts": [{"text": words, "mediaType": "text/markdown"}]}


def file_artifact(turn: LoggedTurn, file: FileForProgram, origin: str) -> dict[str, Any]:
    """A file, which is had by the same key from where it says."""
    own = file_id(turn.conversation, file)
    part = {"url": f"{origin}/v1/files/{own}/content", "filename": file.media.name, "mediaType": file.media.blob.mime}
    return {"artifactId": own, "name": file.media.name, "parts": [part]}


def task_object(turn: LoggedTurn, origin: str, history: int | None = None, *, whole: bool = True) -> dict[str, Any]:
    """A task as it stands. `history` is how many messages of the past are wanted at most, None for all. Without
    `whole` what it has come to is left out.
    """
    result = turn.result()
    task: dict[str, Any] = {
        "id": task_id(turn),
        "contextId": conversation_name(turn.conversation),
        "status": task_status(turn, result),
    }
    if history != 0:
        task["history"] = [_message(turn)]
    if whole:
        words = words_by_now(turn, result)
        artifacts = [answer_artifact(words)] if words else []
        task["artifacts"] = artifacts + [file_artifact(turn, one, origin) for one in result.files]
    return task


def message_key(key: str, message: str) -> str:
    """What the message of a key is stored under, so that a repeat of it is absorbed."""
    return f"{key}:a2a:{message}"


def _message(turn: LoggedTurn) -> dict[str, Any]:
    """The message that began it."""
    entry = turn.entries[turn.seq - 1]
    parts = entry.fact.parts if isinstance(entry.fact, e.UserSaid) else ()
    own = key_of(entry).partition(":")[2].removeprefix("a2a:")
    return {"messageId": own, "role": "ROLE_USER", "parts": [{"text": _said(one)} for one in parts]} | place_of(turn)


def _said(part: Content) -> str:
    return part.text if isinstance(part, Text) else f"[{part.name or 'file'}, {part.blob.size:,} bytes]"


def _time(at: int) -> str:
    return dt.datetime.fromtimestamp(at / 1000, dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
