"""The notes of one conversation: what it may see and add to, and what is in its prompt."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from angelia.context.in_view import InViewFold
from angelia.context.prompt.facts import ShownNote
from angelia.context.prompt.notes import fitting, note_line
from angelia.core import entry as e
from angelia.core.content import ToolCall
from angelia.core.counts import counted
from angelia.core.entry import NoteKind, NoteScope
from angelia.core.errors import BadInput
from angelia.core.ids import CallId
from angelia.core.principal import ANGELIA
from angelia.core.text import clean
from angelia.core.unambiguous import unambiguous_line
from angelia.service.conversation.session import Session
from angelia.service.notes.scopes import scopes_of
from angelia.store.tables.notes import Holds, Notes, StoredNote, in_one_of
from angelia.tools.notes.access import NoteTaken

MOST_OUTSIDE = 20
"""Entries with words from elsewhere that a note names: the newest."""
MOST_WAITING = 20
"""Notes of a scope that wait for the person; no more are taken until some were looked at."""
_MOST_LOOKED_AT = 100
"""Notes of a scope that are tried for the prompt: 82 of a single letter have room."""


class NoteSources(Struct, frozen=True):
    """What every conversation's notes are made with. `home` is Angelia's own; `redact` hides known secrets."""

    notes: Notes
    home: Path
    redact: Callable[[str], str]
    enabled: bool


class ConversationNotes:
    """See `tools.port.NotesAccess`; and what the prompt holds, the same from one fold to the next."""

    def __init__(self, session: Session, sources: NoteSources) -> None:
        self._session = session
        self._sources = sources
        self._view = InViewFold(session.owner)
        self._due: tuple[ShownNote, ...] | None = None
        self._left_out = 0

    @property
    def scopes(self) -> tuple[Holds, ...]:
        """Where its notes hold."""
        return scopes_of(self._session, self._sources.home)

    # -- what the model does ------------------------------------------------------------------------------------

    async def remember(self, call: CallId, text: str, scope: NoteScope, what: NoteKind, replaces: int) -> NoteTaken:
        """See `NotesAccess`."""
        if earlier := self._made_by(call):
            return self.told(earlier, waits=not self._was_kept(earlier.number))
        words = self._sources.redact(clean(" ".join(text.split())))
        about = self._scope(scope)
        if same := await self._sources.notes.same(about, words):
            return NoteTaken(f"That is known already, as note {same.number}.")
        replaced = await self._replaced(replaces, about)
        stands = replaced.number if replaced else 0
        outside = self._outside(call)
        waits = bool(outside) or (replaced is not None and replaced.settled_by != str(ANGELIA))
        if waits and len(await self._sources.notes.at([about], ("waits",))) >= MOST_WAITING:
            full = f"{MOST_WAITING} notes wait"
            return NoteTaken(
                f"Nothing was noted: {full} for the person's yes already. They are told.",
                f"Nothing was noted, since {full} for your yes already: `angelia notes` lists them.\n"
                f"  {unambiguous_line(words)}",
            )
        while True:  # somebody else may have taken the number
            number = await self._sources.notes.next_number()
            proposed = e.NoteProposed(
                number, scope, about.about, what, words, ANGELIA, call, outside[-MOST_OUTSIDE:], stands
            )
            kept = [] if waits else [e.NoteKept(number, ANGELIA)]
            if await self._session.log.append(proposed, *kept):
                return self.told(proposed, waits=waits)

    async def recall(self, query: str, most: int) -> str:
        """See `NotesAccess`."""
        found = await self._sources.notes.at(self.scopes)
        words = [word.casefold() for word in re.findall(r"\w+", query)]
        ranked = sorted(found, key=lambda note: (-_in_common(words, note.text), -note.number))
        near = [note for note in ranked if _in_common(words, note.text)][:most]
        looked = f"looked at {counted(len(found), 'note')} that count here"
        if not near:
            return f"None holds a word of “{query}”: {looked}."
        return "\n".join([*(note_line(shown(note)) for note in near), f"({looked}.)"])

    # -- what the prompt holds ----------------------------------------------------------------------------------

    async def in_prompt(self) -> tuple[tuple[ShownNote, ...], int]:
        """The notes that the prompt holds, and how many have no room: chosen at the beginning and after each fold."""
        frozen, folded = self._frozen()
        if self._session.turn.setup is not None and not folded:
            self._due = None
            found = await self._sources.notes.numbered(self.scopes, frozen.numbers) if frozen.numbers else []
            return tuple(map(shown, found)), frozen.left_out
        newest, count = await self._sources.notes.newest(self.scopes, _MOST_LOOKED_AT)
        self._due = fitting(map(shown, newest))
        self._left_out = count - len(self._due)
        return self._due, self._left_out

    def shown_now(self) -> list[e.AnyFact]:
        """The facts of a choice that the prompt holds from now on: which notes; after a fold the rules once more."""
        if self._due is None:
            return []
        folded = self._frozen()[1]
        rules = [note.text for note in self._due if note.what == NoteKind.RULE and folded]
        chosen = [e.NotesShown(tuple(note.number for note in self._due), self._left_out)]
        said = [e.SystemSaid("\n".join(("The person's rules still hold:", *(f"- {rule}" for rule in rules))))]
        return [*(chosen if self._due or folded else ()), *(said if rules else ())]

    def _frozen(self) -> tuple[e.NotesShown, bool]:
        """What was chosen last, and whether the view was folded since."""
        folded = False
        for entry in reversed(self._session.log.entries):
            if isinstance(entry.fact, e.NotesShown):
                return entry.fact, folded
            folded = folded or (isinstance(entry.fact, e.ViewMoved) and bool(entry.fact.summary))
        return e.NotesShown(()), folded

    # -- how a note comes about ---------------------------------------------------------------------------------

    def _scope(self, scope: NoteScope) -> Holds:
        for one in self.scopes:
            if one.scope is scope:
                return one
        here = ", ".join(f"`{one.scope}`" for one in self.scopes) or "none"
        raise BadInput(f"There is no scope `{scope}` here, and nothing was noted.", then=f"Scopes here: {here}.")

    async def _replaced(self, number: int, about: Holds) -> StoredNote | None:
        """The note that stands where the one of that number stood: a prompt that is older still names that."""
        if not number:
            return None
        found = next(iter(await self._sources.notes.numbered(self.scopes, (number,))), None)
        while found and found.replaced_by:  # by a later one of the same scope
            found = next(iter(await self._sources.notes.numbered(self.scopes, (found.replaced_by,))), None)
        if found is None or not in_one_of(found, (about,)):
            raise BadInput(
                f"There is no note {number} of the scope `{about.scope}` here, and nothing was noted.",
                then="`recall` finds notes with their numbers.",
            )
        return found

    def _outside(self, call: CallId) -> tuple[int, ...]:
        """The entries with words from elsewhere that stood in the request which made the call."""
        entries = self._session.log.entries
        self._view.advance(entries)
        until = next((entry.seq for entry in reversed(entries) if _makes(entry.fact, call)), len(entries) + 1)
        return tuple(seq for seq in self._view.outside if seq < until)

    def _made_by(self, call: CallId) -> e.NoteProposed | None:
        facts = (entry.fact for entry in reversed(self._session.log.entries))
        return next((fact for fact in facts if isinstance(fact, e.NoteProposed) and fact.call == call), None)

    def _was_kept(self, number: int) -> bool:
        facts = (entry.fact for entry in self._session.log.entries)
        return any(isinstance(fact, e.NoteKept) and fact.number == number for fact in facts)

    def told(self, note: e.NoteProposed, *, waits: bool) -> NoteTaken:
        """What model and person are told of a note that was proposed."""
        number = note.number
        if not waits:
            told = f"remembered: {unambiguous_line(note.text)}  /forget {number}"
            return NoteTaken(f"Noted, as note {number}; the person is told.", told)
        if not note.outside:
            why = f"it would take the place of note {note.replaces}, which is the person's own"
        else:
            from angelia.service.notes.sources import source_line

            source = source_line(self._session.log.entries, note.outside[-1], self._session.owner)
            more = f" and {len(note.outside) - 1} more" if len(note.outside) > 1 else ""
            why = f"words from elsewhere were in view: {source}{more}"
        return NoteTaken(
            f"Note {number} waits for the person's yes, since {why}. It does not count before.",
            f"A note waits for your yes, since {why}.\n  {unambiguous_line(note.text)}\n"
            f"  /notes keep {number}  ·  /forget {number}",
        )


def shown(note: StoredNote) -> ShownNote:
    """A note as the prompt shows it."""
    day = datetime.fromtimestamp(note.at / 1000, UTC).strftime("%Y-%m-%d")
    return ShownNote(note.number, note.scope.value, note.what.value, note.text, day)


def _makes(fact: e.AnyFact, call: CallId) -> bool:
    return isinstance(fact, e.ModelSaid) and any(isinstance(part, ToolCall) and part.id == call for part in fact.parts)


def _in_common(words: Sequence[str], text: str) -> int:
    """How many of the words begin one of the text's, or stand within it where words are not parted by spaces."""
    folded = text.casefold()
    begins = (re.search(rf"\b{re.escape(word[:8])}", folded) for word in words)
    return sum(
        bool(found) or (not word.isascii() and word in folded) for found, word in zip(begins, words, strict=True)
    )
