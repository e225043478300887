"""The commands `/notes` and `/forget`: what counts in this conversation, why, and what the person does about it."""

from angelia.core import entry as e
from angelia.core.errors import BadInput
from angelia.service.command_port import CommandPort, CommandReply, CommandTable, CommonResult
from angelia.service.conversation.session import Session
from angelia.service.notes.explanation import HEAD, explained, note_row
from angelia.service.notes.note_changes import drop, keep
from angelia.service.notes.scopes import scopes_of
from angelia.store.tables.notes import Holds, StoredNote

_LISTED = 50
"""Notes that a door lists; `angelia notes list` has all."""
_NONE = "There is no note {} here. /notes lists them."


async def notes(port: CommandPort, words: str) -> CommonResult:
    """List what counts here and what waits, or show or keep one."""
    scopes = _scopes(port)
    if not words:
        found = await port.services.notes.at(scopes, ("kept", "waits"))
        rows = [note_row(note) for note in found[:_LISTED]]
        more = f"{len(found) - _LISTED:,} more: angelia notes list" if len(found) > _LISTED else ""
        none = CommandReply("Nothing is remembered here yet.")
        return CommandTable((HEAD, *rows), more or "/notes show N says why; /forget N drops one.") if rows else none
    verb, _, number = words.partition(" ")
    if verb not in ("show", "keep"):
        raise BadInput(
            f"/notes knows no “{verb}”.", then="/notes show N says why; /notes keep N keeps; /forget N drops."
        )
    note = await _named(port, scopes, number)
    if note is None:
        return CommandReply(_NONE.format(number))
    if verb == "show":
        lines = await explained(port.services.transcript, note)
        return CommandTable(tuple((line,) for line in lines))
    return CommandReply(await keep(port.services.transcript, note, port.person))


async def forget(port: CommandPort, words: str) -> CommandReply:
    """Drop one; a model that has it before it is told."""
    note = await _named(port, _scopes(port), words)
    if note is None:
        return CommandReply(_NONE.format(words))
    said = await drop(port.services.transcript, note, port.person)
    asked = any(isinstance(entry.fact, e.ModelAsked) for entry in _session(port).log.entries)
    told = e.SystemSaid(f"The person has dropped note {note.number} ({note.text}): it does not count any more.")
    return CommandReply(said, (told,) if asked else ())


def _session(port: CommandPort) -> Session:
    if port.session is None:
        raise BadInput("There is no conversation here yet.", then="Write something, and there is one.")
    return port.session


def _scopes(port: CommandPort) -> tuple[Holds, ...]:
    session = _session(port)
    if not session.notes:
        raise BadInput("This conversation neither reads nor writes notes.", then="Another one does: /new")
    return scopes_of(session, port.services.home)


async def _named(port: CommandPort, scopes: tuple[Holds, ...], words: str) -> StoredNote | None:
    number = words.strip().removeprefix("#")
    if not number.isdecimal():
        raise BadInput("Which note?", then="/notes lists them with their numbers.")
    return next(iter(await port.services.notes.numbered(scopes, (int(number),))), None)
