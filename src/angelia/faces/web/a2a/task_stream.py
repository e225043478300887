"""A task as it goes on: how it stands first, then what is added to its answer, then how it ended.

An event's id is how many characters of the answer have been told with it. So it is the same in every life and for every
reader, and whoever comes again says which was the last (`Last-Event-ID`) and gets the rest, from the log; or all of it
once more, in place of what they have, where that may be words of a reply that was lost with a process.
"""

from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from angelia.core.errors import AngeliaError
from angelia.faces.web.a2a.rpc import CallId, rpc_error, rpc_result
from angelia.faces.web.a2a.task_object import (
    answer_artifact,
    file_artifact,
    place_of,
    state_of,
    task_object,
    task_status,
    words_by_now,
)
from angelia.faces.web.v1.chat_completions import BEAT
from angelia.faces.web.v1.told_words import ToldWords, told_by_now
from angelia.faces.web.v1.turn import Beat, FollowedTurn


async def task_stream(turn: FollowedTurn, call: CallId, origin: str, after: int = 0) -> AsyncGenerator[bytes, None]:
    """What there is of it, and what comes; of the answer what stands after the first `after` characters, or, where
    that is 0, after those that the first event has whole.
    """
    told = ToldWords()
    place = after or len(words_by_now(turn, turn.result()))
    lost = 0 if after else len(told_by_now(turn).lost)
    waiting = bool(turn.waits())
    yield _event(call, {"task": task_object(turn, origin, whole=not after)}, place)
    try:
        async for one in turn.events():
            if isinstance(one, Beat):
                yield BEAT
                continue
            told.heard(one)
            if told.lost[lost:] and place > told.lost[lost]:
                place = 0
            lost = len(told.lost)
            if more := told.told[place:]:
                yield _event(call, _added(turn, more, first=not place), len(told.told))
                place = len(told.told)
            if waiting != (waiting := bool(turn.waits())) and turn.result().ending is None:
                yield _event(
                    call, {"statusUpdate": {**place_of(turn), "status": task_status(turn, turn.result())}}, place
                )
    except AngeliaError as error:
        yield b"data: " + msgspec.json.encode(rpc_error(call, error)) + b"\n\n"
        return
    result = turn.result()
    if state_of(result) == "TASK_STATE_COMPLETED":
        told.rest(result.words, turn.entries)
    if more := told.told[place:]:
        yield _event(call, _added(turn, more, first=not place), len(told.told))
        place = len(told.told)
    for file in result.files:
        update = {**place_of(turn), "artifact": file_artifact(turn, file, origin), "lastChunk": True}
        yield _event(call, {"artifactUpdate": update}, place)
    yield _event(call, {"statusUpdate": {**place_of(turn), "status": task_status(turn, result)}}, place)


def _added(turn: FollowedTurn, words: str, *, first: bool) -> dict[str, Any]:
    return {"artifactUpdate": {**place_of(turn), "artifact": answer_artifact(words), "append": not first}}


def _event(call: CallId, result: dict[str, Any], place: int) -> bytes:
    return f"id: {place}\ndata: ".encode() + msgspec.json.encode(rpc_result(call, result)) + b"\n\n"
