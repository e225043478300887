"""Takes over a file of notes: each is proposed, and waits for the person's yes."""

from hashlib import sha256
from pathlib import Path

from angelia.core import entry as e
from angelia.core.counts import counted
from angelia.core.entry import NoteScope
from angelia.core.principal import ANGELIA, OWNER
from angelia.core.text import clean
from angelia.service.files.instruction_files import repository_of
from angelia.service.imports.port import OldNotes
from angelia.service.imports.taking import ImportTarget, KnownItem, LeftItem, TakenFrom, TakenItem, TakingOutcome
from angelia.service.notes.scopes import git_origin
from angelia.store.tables.notes import Holds

MOST_NOTES = 200
"""Notes of one file; nobody looks through more."""
IMPORT = "import"
"""The door of conversations in which nothing was said: they hold notes that were imported."""


async def take_notes(target: ImportTarget, file: TakenFrom, found: OldNotes, original: str) -> TakingOutcome:
    """Propose the notes that are not known; `original` is the whole file, which is kept with them.

    Raises:
        StoreError: it could not be stored; nothing of it was.
    """
    about = _about(target, found.folder)
    conversation = file.conversation(file.file)
    texts = [*dict.fromkeys(clean(target.redact(one)) for one in found.texts)]
    if not texts:
        return LeftItem("there is no note in it")
    if len(texts) > MOST_NOTES:
        return LeftItem(
            f"{counted(len(texts), 'note')} would be in it, and {MOST_NOTES} are the most: shorten a copy of it"
        )
    while True:  # somebody else may have taken the numbers
        # Looked at before the notes are: another run that takes them in between is then seen here or refused there.
        imported = await target.imports(conversation)
        before = await target.notes.of_conversation(conversation)
        known = {one.text.casefold() for one in (*before, *await target.notes.at([about], ("kept", "waits")))}
        fresh = [one for one in texts if one.casefold() not in known]
        if not fresh:
            return KnownItem()
        if target.dry:
            return TakenItem("note", len(fresh))
        entries = await target.transcript.entries(conversation) if imported else []
        opened = [] if imported else [target.opened(IMPORT, OWNER, found.folder)]
        kept = await target.blobs.put(target.redact(clean(original)).encode(), mime="text/markdown")
        count = (imported[-1].count if imported else 0) + len(fresh)
        digest = sha256(original.encode("utf-8", "replace")).hexdigest()
        here = e.Imported(file.agent, clean(file.file), clean(file.file), count, digest, kept)
        at, number = len(entries) + len(opened) + 1, await target.notes.next_number()
        proposed = [
            e.NoteProposed(number + n, about.scope, about.about, found.kind, text, ANGELIA, outside=(at,))
            for n, text in enumerate(fresh)
        ]
        if await target.transcript.append(conversation, [*opened, here, *proposed]):
            return TakenItem("note", len(fresh))


def _about(target: ImportTarget, folder: str) -> Holds:
    if not folder:
        return Holds(NoteScope.PERSON, "", OWNER)
    here = Path(folder)
    if not here.is_absolute() or not here.is_dir():
        return Holds(NoteScope.PROJECT, clean(folder), OWNER)
    root = repository_of(here, target.home)
    return Holds(NoteScope.PROJECT, git_origin(root) or str(root), OWNER)
