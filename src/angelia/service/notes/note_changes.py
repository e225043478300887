"""What a person does to a note, from wherever: it is appended to the log in which the note came about.

A conversation that is deleted takes the whole life of its notes with it, and a note that one of them had replaced
counts again.
"""

from angelia.core import entry as e
from angelia.core.errors import BadInput, NotFound
from angelia.core.principal import Principal
from angelia.core.text import clean
from angelia.core.unambiguous import unambiguous_line
from angelia.store.log.transcript import Transcript
from angelia.store.tables.notes import Notes, StoredNote
from angelia.tools.notes.remember import MOST_CHARACTERS


async def note_of(notes: Notes, viewer: Principal, number: int) -> StoredNote:
    """The note of that number, if they may see it.

    Raises:
        NotFound: there is none.
    """
    if found := await notes.find(viewer, number):
        return found
    raise NotFound(f"There is no note {number}.", then="`angelia notes list` lists them.")


async def keep(transcript: Transcript, note: StoredNote, by: Principal) -> str:
    """Let a note count, for the first time or again; what is said of it.

    Raises:
        BadInput: another one takes its place.
    """
    if note.replaced_by:
        raise BadInput(
            f"Note {note.number} does not count, since note {note.replaced_by} takes its place.",
            then=f"/notes keep does nothing here; drop note {note.replaced_by}, and this one counts again.",
        )
    await transcript.append(note.conversation, [e.NoteKept(note.number, by)])
    replaced = f" It takes the place of note {note.replaces}." if note.replaces else ""
    return (
        f"Note {note.number} counts: {unambiguous_line(note.text)}{replaced} "
        "Conversations that are open have it in their prompt after their next fold."
    )


async def drop(transcript: Transcript, note: StoredNote, by: Principal) -> str:
    """Let a note count no more; what is said of it."""
    await transcript.append(note.conversation, [e.NoteDropped(note.number, by)])
    again = (
        f" Note {note.replaces}, which it had replaced, counts again." if note.replaces and note.state == "kept" else ""
    )
    back = f"`angelia notes keep {note.number}`, or /notes keep {note.number} in a conversation, brings it back."
    return f"Note {note.number} is dropped: {unambiguous_line(note.text)}{again} {back}"


async def edit(transcript: Transcript, notes: Notes, note: StoredNote, text: str, by: Principal) -> str:
    """Put a note of the person's own words in the place of another; what is said of it.

    Raises:
        BadInput: there are no words, or too many.
    """
    words = clean(" ".join(text.split()))
    if not words or len(words) > MOST_CHARACTERS:
        raise BadInput(f"A note has 1 to {MOST_CHARACTERS} characters, and this has {len(words):,}.")
    if words == note.text:
        return f"Note {note.number} says that already."
    while True:  # somebody else may have taken the number
        number = await notes.next_number()
        proposed = e.NoteProposed(number, note.scope, note.about, note.what, words, by, replaces=note.number)
        if await transcript.append(note.conversation, [proposed, e.NoteKept(number, by)]):
            return f"Note {number} takes the place of note {note.number}: {unambiguous_line(words)}"
