"""Why a note is believed: the message it rests on, what else was in view, and what became of it, all from the log."""

from datetime import tzinfo

from angelia.core import entry as e
from angelia.core.content import Media, Text
from angelia.core.errors import NotFound
from angelia.core.ids import short
from angelia.core.moment import when
from angelia.core.principal import ANGELIA, OWNER, Principal
from angelia.core.text import shorten
from angelia.core.unambiguous import unambiguous, unambiguous_line
from angelia.service.notes.sources import last_message, source_line, words_of
from angelia.store.log.transcript import Transcript
from angelia.store.tables.notes import Notes, StoredNote

_MOST_SHOWN = 600
"""Characters of each source; the conversation has the whole."""

HEAD = ("NOTE", "STATE", "KIND", "ABOUT", "SINCE", "TEXT")


def note_row(note: StoredNote, zone: tzinfo | None = None) -> tuple[str, ...]:
    """A note as a row of the table with that head."""
    about = "the person" if note.scope is e.NoteScope.PERSON else f"{note.scope} {note.about}"
    whose = "" if note.owner == OWNER else f" ({note.owner})"
    state = f"replaced by {note.replaced_by}" if note.replaced_by else note.state
    return (str(note.number), state, note.what.value, about + whose, when(note.at, zone), unambiguous_line(note.text))


async def explained(transcript: Transcript, note: StoredNote, zone: tzinfo | None = None) -> list[str]:
    """Everything that is known of a note, in lines."""
    entries = await transcript.entries(note.conversation)
    proposed = entries[note.seq - 1].fact
    if not isinstance(proposed, e.NoteProposed):
        raise NotFound(
            f"Note {note.number} is not where it was.", then="`angelia store rebuild` makes the table again."
        )
    number, state, what, about, since, text = note_row(note, zone)
    lines = [f"note {number} · {what} · {about} · {state}", f"  {text}", ""]
    first = entries[proposed.outside[0] - 1].fact if proposed.outside else None
    if isinstance(first, e.Imported) and not proposed.call:
        read = f"Read on {since} in {source_line(entries, proposed.outside[0], note.owner)}."
        return [*lines, f"{read} Nobody said it here: it counts once you keep it.", *_settled(entries, note, zone)]
    where = f"in the conversation {short(note.conversation)} (`angelia show {short(note.conversation)}`)"
    if proposed.by != ANGELIA:
        return [*lines, f"Written by {proposed.by} on {since}, {where}.", *_settled(entries, note, zone)]
    lines.append(f"Noted by the model on {since}, {where}. What was said last before it:")
    if said := last_message(entries, note.seq):
        assert isinstance(said.fact, e.Opening)
        lines += [f"  {said.fact.sender}, {when(said.at, zone)}:", *_quoted(_said(said.fact))]
    if proposed.outside:
        lines.append("Words from elsewhere that were in view then, newest first:")
    for seq in reversed(proposed.outside):
        lines += [f"  {source_line(entries, seq, note.owner)}", *_quoted(words_of(entries, seq))]
    return [*lines, *_settled(entries, note, zone)]


async def history(
    transcript: Transcript, notes: Notes, viewer: Principal, note: StoredNote, zone: tzinfo | None = None
) -> list[str]:
    """A note and those that it took the place of, newest first, each with all that was done to it."""
    lines: list[str] = []
    one: StoredNote | None = note
    while one is not None:
        entries = await transcript.entries(one.conversation)
        by = entries[one.seq - 1].fact
        who = by.by if isinstance(by, e.NoteProposed) else ANGELIA
        lines += [f"note {one.number}: {unambiguous_line(one.text)}", f"  {when(one.at, zone)}  proposed by {who}"]
        lines += _settled(entries, one, zone)
        one = await notes.find(viewer, one.replaces) if one.replaces else None
    return lines


def _settled(entries: list[e.Entry], note: StoredNote, zone: tzinfo | None) -> list[str]:
    found = [one for one in entries if isinstance(one.fact, e.NoteKept | e.NoteDropped)]
    lines = []
    for entry in found:
        match entry.fact:
            case e.NoteKept(number=note.number, by=by):
                lines.append(f"  {when(entry.at, zone)}  kept by {by}")
            case e.NoteDropped(number=note.number, by=by):
                lines.append(f"  {when(entry.at, zone)}  dropped by {by}")
            case _:
                continue
    return [*lines, f"  replaced by note {note.replaced_by}"] if note.replaced_by else lines


def _said(fact: e.Opening) -> str:
    return "\n".join(part.text if isinstance(part, Text) else f"[{_name(part)}]" for part in fact.parts)


def _name(part: Media) -> str:
    return part.name or part.media.value


def _quoted(text: str) -> list[str]:
    return [f"  > {line}" for line in unambiguous(shorten(text.expandtabs(4), _MOST_SHOWN)).splitlines()] or [
        "  > (no words)"
    ]
