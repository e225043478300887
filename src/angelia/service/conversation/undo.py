"""Taking back what the calls of a turn changed: which turns there are, what it would do, and the doing.

A turn is named by its number in the conversation. What was taken back can be taken back in turn.
"""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import (
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.counts import counted
from angelia.core.errors import BadInput
from angelia.core.ids import ConversationId
from angelia.core.principal import Principal
from angelia.core.text import clean, one_line, shorten
from angelia.sandboxes.guard.guard import guard_of
from angelia.sandboxes.undo.mirror import Mirror
from angelia.sandboxes.undo.plan import PlannedPath, TakingBack, UndoPlan, undo_plan
from angelia.sandboxes.undo.restore import Restored, WorkspaceNow, carry_out
from angelia.sandboxes.undo.states import FileState, FolderState, LinkState, NothingThere
from angelia.sandboxes.undo.step import StepJournal, WasThere
from angelia.sandboxes.undo.store import FoundStep, UndoStore
from angelia.service.conversation.session import Session
from angelia.service.conversation.undo_services import UndoPreview, UndoServices
from angelia.service.conversation.undo_steps import FolderSteps, steps_of
from angelia.store.presence import is_alive

TAKING_BACK = "undo"
"""Stands for the call in the journal of taking something back."""

BACK = "back"
"""Names, in place of a turn, what was taken back last."""

_MOST_PATHS, _MOST_LINES, _MOST_LINES_EACH = 200, 400, 40
_LARGEST_SHOWN = 200_000
_TITLE = 60


class UndoableTurn(Struct, frozen=True):
    """A turn whose calls changed something that can be taken back. `at` is Unix milliseconds."""

    number: int
    at: int
    title: str
    steps: tuple[FoundStep, ...]


async def undoable_turns(undo: UndoServices, session: Session) -> list[UndoableTurn]:
    """The turns that can be taken back, the latest last."""
    return _by_turn(session, await steps_of(undo.store, undo.transcript, session.conversation, session.log.entries))


async def preview(undo: UndoServices, session: Session, which: str) -> UndoPreview:
    """What taking back would do. `which` is a turn's number, `back`, or empty for the latest turn.

    Raises:
        BadInput: there is no such turn, or nothing can be taken back now; says why.
    """
    turn, steps, others = await _chosen(undo, session, which)
    async with _place(undo, session, steps) as place:
        found = await asyncio.to_thread(_previewed, place, turn, steps, others)
    return replace(found, lines=tuple(undo.redact(line) for line in found.lines))


async def take_back(undo: UndoServices, session: Session, shown: UndoPreview, *, by: Principal) -> str:
    """Do what was shown, and what became of it in words.

    Raises:
        BadInput: it is not what was shown any more, or cannot be done now.
        HeldElsewhere: a turn runs.
    """
    # With the lease nobody drives the conversation meanwhile.
    lease, _, _ = await undo.transcript.take_up(session.conversation, "`undo`", len(session.log.entries), 0)
    try:
        return await _taken(undo, session, shown, by)
    finally:
        await lease.release()


async def _taken(undo: UndoServices, session: Session, shown: UndoPreview, by: Principal) -> str:
    turn, steps, others = await _chosen(undo, session, str(shown.turn) if shown.turn else BACK)
    async with _place(undo, session, steps) as place:
        now = await asyncio.to_thread(_previewed, place, turn, steps, others)
        if now.digest != shown.digest:
            raise BadInput(
                "Something was changed since this was shown, so nothing was done.", then="Look at it once more."
            )
        restored, name, notes = await _carried_out(undo.store, session.conversation, place, (steps, others))
    left = (*(f"{clean(path)}: {why}" for path, why in (*_left(restored), *restored.failed)), *notes)
    fact = e.FilesTakenBack(by, turn, tuple(step.name for step in steps), name, len(restored.done), left)
    what = f"what turn {turn} had changed" if turn else "what had been taken back last"
    told = f"The person took back {what}: {_as_before(len(restored.done), ' of the workspace')} before."
    await session.record(fact, e.SystemSaid("\n".join([f"{told} Read files again before you rely on them.", *notes])))
    return "\n".join([_outcome(restored), *notes])


async def _chosen(undo: UndoServices, session: Session, which: str) -> tuple[int, list[FoundStep], list[FoundStep]]:
    """The turn's number (0 for what was taken back last), its journals, and the others."""
    await session.catch_up()
    running = [begun for begun in session.behind if is_alive(undo.alive, begun.life)]
    if running:
        raise BadInput(
            f"Of what calls began, {counted(len(running), 'thing')} still may change files.",
            then="Have them ended first, or leave the conversation and come back.",
        )
    found = await steps_of(undo.store, undo.transcript, session.conversation, session.log.entries)
    if any(step.alive for step in found.steps):
        raise BadInput("A command of this conversation still runs.", then="Try again when it has ended.")
    done = _taken_back(session)
    if which == BACK:
        number, steps = 0, _last_taken_back(found.own, done)
    else:
        number, steps = _turn_of(_by_turn(session, found), which, done)
    names = {step.name for step in steps}
    return number, steps, [step for step in found.steps if step.name not in names]


def _turn_of(turns: Sequence[UndoableTurn], which: str, done: set[str]) -> tuple[int, list[FoundStep]]:
    listed = ", ".join(str(turn.number) for turn in turns[-10:])
    there = f"These can be taken back: {listed}." if turns else "No turn has changed a file here."
    if which and not which.isdigit():
        raise BadInput(f"“{one_line(clean(which), 40)}” is no turn.", there)
    open_turns = [turn for turn in turns if not {step.name for step in turn.steps} <= done]
    fitting = [turn for turn in turns if turn.number == int(which)] if which else open_turns[-1:]
    if not fitting:
        raise BadInput(
            f"Turn {which} has changed nothing that is kept." if which else "There is nothing to take back.",
            f"{there} What a turn changes is kept for some days, up to a bound (the settings undo.*).",
        )
    return fitting[0].number, list(fitting[0].steps)


def _last_taken_back(found: Sequence[FoundStep], done: set[str]) -> list[FoundStep]:
    own = [step for step in found if step.begun.call == TAKING_BACK and step.name not in done]
    if not own:
        raise BadInput("Nothing was taken back that could be put back.")
    return own[-1:]


def _taken_back(session: Session) -> set[str]:
    """Journals that are taken back, and were not put back since."""
    done: set[str] = set()
    for entry in session.log.entries:
        if isinstance(entry.fact, e.FilesTakenBack):
            done |= set(entry.fact.steps)
            if entry.fact.turn == 0:
                done -= _steps_of(session, entry.fact.steps)
    return done


def _steps_of(session: Session, undone: Sequence[str]) -> set[str]:
    facts = [entry.fact for entry in session.log.entries if isinstance(entry.fact, e.FilesTakenBack)]
    return {step for fact in facts if fact.step in undone for step in fact.steps}


def _by_turn(session: Session, found: FolderSteps) -> list[UndoableTurn]:
    calls: dict[str, int] = {}
    helpers: dict[ConversationId, int] = {}
    began: list[tuple[int, str]] = []
    number = 1
    for entry in session.log.entries:
        match entry.fact:
            case e.ToolStarted(call=call):
                calls[call] = number
            case e.WorkStarted(child=e.Child(id=child)):
                helpers[child] = number
            case e.Opening(parts=parts) if len(began) < number:
                began.append((entry.at, " ".join(part.text for part in parts if isinstance(part, Text))))
            case e.TurnClosed():
                number += 1
                began += [(entry.at, "")] * (number - 1 - len(began))
            case _:
                pass
    turns: dict[int, list[FoundStep]] = {}
    for step in found.steps:
        if step.begun.call != TAKING_BACK:
            helper = found.by.get(step.name)
            of = helpers[helper] if helper else calls.get(step.begun.call, number)
            turns.setdefault(of, []).append(step)
    titles = {at: (moment, shorten(one_line(title), _TITLE)) for at, (moment, title) in enumerate(began, 1)}
    return [
        UndoableTurn(at, *titles.get(at, (steps[0].begun.at, "")), tuple(steps)) for at, steps in sorted(turns.items())
    ]


class _Place(Struct, frozen=True):
    """The folder in which something is taken back; `mirror` if the workspace is elsewhere, and `unknown` what of it
    could not be copied, with the reason.
    """

    folder: Path
    mirror: Mirror | None = None
    unknown: Mapping[str, str] = {}


@asynccontextmanager
async def _place(undo: UndoServices, session: Session, steps: Sequence[FoundStep]) -> AsyncIterator[_Place]:
    async with undo.elsewhere(session) as mirror:
        if mirror is None:
            yield _Place(Path(session.workspace))
            return
        noted = {record.path for step in steps for record in step.records if isinstance(record, WasThere)}
        yield _Place(mirror.folder, mirror, await mirror.fetch(noted))


@contextmanager
def _present(place: _Place) -> Iterator[WorkspaceNow]:
    try:
        present = WorkspaceNow(place.folder)
    except OSError as error:
        shown = one_line(str(place.folder), 100)
        raise BadInput(f"The workspace {shown} is not there: {error.strerror}.") from error
    try:
        yield present
    finally:
        present.close()


def _previewed(place: _Place, turn: int, steps: list[FoundStep], others: list[FoundStep]) -> UndoPreview:
    with _present(place) as present:
        plan = undo_plan(steps, others, present, place.unknown)
        lines = tuple(_shown(plan, present))
    whole = "\n".join([repr((one.path, one.act, one.before, one.now)) for one in plan.paths])
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return UndoPreview(turn, lines, digest, not plan.paths)


async def _carried_out(
    store: UndoStore,
    conversation: ConversationId,
    place: _Place,
    chosen: tuple[list[FoundStep], list[FoundStep]],
) -> tuple[Restored, str, list[str]]:
    """What became of it, the name of its journal, and what the guard took back of it in turn."""

    def here() -> tuple[Restored, StepJournal, list[str]]:
        with _present(place) as present, _guarded(store, place) as notes:
            plan = undo_plan(*chosen, present, place.unknown)
            step = store.begin(conversation, place.folder, TAKING_BACK)
            try:
                return carry_out(plan, step), step, notes
            except BaseException:
                step.end()
                raise

    restored, step, notes = await asyncio.to_thread(here)
    try:
        if place.mirror is not None:
            failed = await place.mirror.put((*restored.done, *restored.beside))
            done = tuple(path for path in restored.done if path not in failed)
            restored = Restored(done, restored.beside, (*restored.failed, *failed.items()))
        return restored, step.folder.stem, notes
    finally:
        await asyncio.to_thread(step.end)


def _guarded(store: UndoStore, place: _Place) -> AbstractContextManager[list[str]]:
    """What was kept may have been left by a command just before; elsewhere nobody looks at what commands leave."""
    return nullcontext([]) if place.mirror else guard_of(place.folder, store.home).restoring()


def _left(restored: Restored) -> Iterator[tuple[str, str]]:
    for path in restored.beside:
        yield path, "put beside what was changed since"


def _as_before(count: int, where: str = "") -> str:
    """How many paths are as they were.

    >>> _as_before(1), _as_before(2, " of the workspace")
    ('1 path is as it was', '2 paths of the workspace are as they were')
    """
    return f"1 path{where} is as it was" if count == 1 else f"{count} paths{where} are as they were"


def _outcome(restored: Restored) -> str:
    said = [f"{_as_before(len(restored.done))}."]
    said += [f"Put beside what was changed since: {', '.join(map(clean, restored.beside))}."] if restored.beside else []
    said += [f"NOT taken back: {clean(path)} ({why})." for path, why in restored.failed]
    return "\n".join([*said, f"/undo {BACK} puts it back as it was a moment ago."])


_WORDS = {
    TakingBack.RESTORE: "gets back what it was",
    TakingBack.REMOVE: "goes: it was not there",
    TakingBack.BESIDE: "stays, and what it was is put beside it",
    TakingBack.LEAVE: "stays as it is",
    TakingBack.UNABLE: "CANNOT be taken back",
}


def _shown(plan: UndoPlan, present: WorkspaceNow) -> Iterator[str]:
    if plan.unsure:
        yield "Angelia was killed during this turn: what you changed before its next start counts as the turn's."
    left = _MOST_LINES
    for one in plan.paths[:_MOST_PATHS]:
        why = f" ({one.why})" if one.why else ""
        slash = "/" if isinstance(one.before, FolderState) or isinstance(one.now, FolderState) else ""
        yield f"{one_line(clean(one.path), 200)}{slash}: {_WORDS[one.act]}{why}"
        if one.act is TakingBack.RESTORE and left > 0:
            lines = _diff(one, present)
            yield from (f"    {line}" for line in lines)
            left -= len(lines)
    if (more := len(plan.paths) - _MOST_PATHS) > 0:
        yield f"… and {more} more"


def _diff(one: PlannedPath, present: WorkspaceNow) -> list[str]:
    """How the file changes by being put back, if it is text of a size to be shown."""
    if not isinstance(one.before, FileState):
        return [f"link to {one_line(clean(one.before.target), 200)}"] if isinstance(one.before, LinkState) else []
    if one.holds and one.holds != one.path:
        return [f"from {one_line(clean(one.holds), 200)}"]
    old, new = _text_now(one, present), _text_before(one)
    if one.holds or old is None or new is None:
        return [f"{one.before.size:,} bytes"]
    from difflib import unified_diff

    found = unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=2)
    lines = [shorten(clean(line), 200) for line in found][2:]
    rest = len(lines) - _MOST_LINES_EACH
    return [*lines[:_MOST_LINES_EACH], *([f"… ({counted(rest, 'more line')})"] if rest > 0 else [])]


def _text_before(one: PlannedPath) -> str | None:
    if one.content is None:
        return ""
    if one.content.stat().st_size > _LARGEST_SHOWN:
        return None
    try:
        return _as_text(one.content.read_bytes())
    except PermissionError:
        return None  # it has the mode that it had; only taking back changes that


def _text_now(one: PlannedPath, present: WorkspaceNow) -> str | None:
    if isinstance(one.now, NothingThere):
        return ""
    if not isinstance(one.now, FileState) or one.now.size > _LARGEST_SHOWN:
        return None
    try:
        with present.opened(one.path) as handle, open(handle, "rb", closefd=False) as file:
            return _as_text(file.read(_LARGEST_SHOWN))
    except OSError:
        return None  # it may not be read, or is gone by now


def _as_text(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if re.search(r"\x00", text) else text
