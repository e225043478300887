"""The files that a final reply names: each becomes a call of `send_file`, run before the turn is closed; pure.

A file that is refused is told to the model once, and to the person in the end. A picture by its URL that cannot be
sent stays the link that it is, and nobody is troubled.
"""

from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from angelia.context.known_urls import known_urls
from angelia.context.media_lines import NamedFile, files_named
from angelia.core import entry as e
from angelia.core.content import CallStatus, Text, ToolCall
from angelia.core.failure import Failure, FailureKind
from angelia.core.ids import CallId, named_call_id
from angelia.engine.calls import calls_of
from angelia.engine.reply_text import said_text, words_of

TOOL = "send_file"


class Unsent(Struct, frozen=True):
    """A file that was named and does not go out. `why` is empty for a picture that stays a link."""

    call: CallId
    path: str
    why: str = ""


class Files(Struct, frozen=True):
    """`calls` are for the files that the last reply names, `unsent` is what could not be sent of the whole turn."""

    calls: tuple[ToolCall, ...] = ()
    unsent: tuple[Unsent, ...] = ()

    @property
    def refused(self) -> tuple[Unsent, ...]:
        """Those of the last reply of which the model is told."""
        mine = {call.id for call in self.calls}
        return tuple(file for file in self.unsent if file.call in mine and file.why)


def named_by(log: Sequence[e.Entry], begun: Sequence[int], said: e.AnyFact, asked: int) -> list[e.FilesNamed]:
    """What a reply to the request `asked` names, if it is a final one; `begun` are the replies that it continues.

    Pictures are shown only by URLs that stood in the conversation before: a reply cannot leak by being rendered.
    """
    if not isinstance(said, e.ModelSaid) or said.stop in (e.StopReason.LENGTH, e.StopReason.PAUSE) or calls_of(said):
        return []
    named = files_named(said_text(log, begun) + words_of(said))
    known = known_urls(log) if any(file.kind == "picture" for file in named) else frozenset()
    files = tuple(
        e.FileNamed(place, _call(file, asked, place))
        for place, file in enumerate(named)
        if file.kind != "picture" or file.path in known
    )
    return [e.FilesNamed(files)] if files else []


def _call(file: NamedFile, asked: int, place: int) -> ToolCall:
    given = {"path": file.path, "as_": file.kind, "caption": file.caption}
    plain = {"as_": "auto", "caption": ""}
    arguments = {key: value for key, value in given.items() if plain.get(key) != value}
    return ToolCall(named_call_id(asked, place), TOOL, msgspec.json.encode(arguments).decode())


def file_finished(files: Files, finished: e.ToolFinished, *, last: bool) -> tuple[Files, Failure | None]:
    """One call further, and the failure if its file was refused; `last` says that it was the last one of its reply.

    Where a reply brings as many files as had been refused before, and all of them go out, it has mended these.
    """
    if finished.status is not CallStatus.OK:
        call = next(call for call in files.calls if call.id == finished.call)
        files = replace(files, unsent=(*files.unsent, _unsent(call, finished)))
    if files.refused:
        return files, Failure(FailureKind.FILE_REFUSED, said=told_to_model(files))
    lines = [call for call in files.calls if not _is_picture(call)]
    missing = [file for file in files.unsent if file.why]
    if last and len(lines) >= len(missing):
        files = replace(files, unsent=tuple(file for file in files.unsent if not file.why))
    return files, None


def _unsent(call: ToolCall, finished: e.ToolFinished) -> Unsent:
    path = _given(call).get("path", "")
    if _is_picture(call):
        return Unsent(call.id, path)
    said = " ".join(part.text for part in finished.parts if isinstance(part, Text)).strip()
    return Unsent(call.id, path, said or f"It ended as {finished.status}.")


def _is_picture(call: ToolCall) -> bool:
    return _given(call).get("as_") == "picture"


def _given(call: ToolCall) -> dict[str, str]:
    return msgspec.json.decode(call.arguments, type=dict[str, str])


def told_to_model(files: Files) -> str:
    """What the model is told of refused files, so that it can mend its answer."""
    listed = "\n".join(f"- MEDIA:{file.path}: {file.why}" for file in files.refused)
    return (
        f"Files that your answer names could not be sent:\n{listed}\nThe rest of the answer stands and is delivered, "
        "so do not repeat it. Name a file again in a corrected MEDIA: line, or tell the person what is missing."
    )


def note(files: Files) -> str:
    """What the person reads of files that were not sent, each once; empty when there are none."""
    return "\n".join(dict.fromkeys(f"{file.path} was not sent: {file.why}" for file in files.unsent if file.why))
