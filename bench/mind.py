"""Rows about what is remembered, about skills, and about taking over what another agent kept."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from angelia.context.in_view import InViewFold
from angelia.context.prompt.facts import PromptFacts
from angelia.context.prompt.notes import NotesSection
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.entry import NoteKind, NoteScope
from angelia.core.ids import new_conversation
from angelia.core.principal import OWNER
from angelia.service.app import App
from angelia.service.imports.beginning import beginnings
from angelia.service.imports.hermes import HERMES
from angelia.service.imports.home_import import HomeImport
from angelia.service.imports.old_home import OldHome
from angelia.service.imports.taking import ImportTarget
from angelia.service.settings.config import load
from bench.rows import Row, row
from bench.runs import Benchmark

NOTES = 10_000
SKILLS = 50
TIMES = 50
BLOCK_S = 0.002
OLD_CONVERSATIONS, OLD_MESSAGES = 200, 20
"""Those of the home that is imported, and messages in each."""
VIEWED = 10_000
"""Entries of the conversation in which a note is made."""


def rows(bench: Benchmark) -> Iterator[Row]:
    """Notes, then skills."""
    yield from asyncio.run(measured(bench.place("mind")))


async def measured(folder: Path) -> Iterator[Row]:
    """In one home."""
    env = {"ANGELIA_HOME": str(folder / "home"), "HOME": str(folder)}
    work = folder / "work"
    work.mkdir()
    for number in range(SKILLS):
        _skill(work / ".agents" / "skills" / f"skill-{number}", number)
    app = await App.open(load(folder / "home", env), env)
    found = [await _block(app, work), *await _skills(app, work), *_taint(), *await _imported(app, folder)]
    await app.close()
    return iter(found)


async def _block(app: App, work: Path) -> Row:
    """The section as it is made at the beginning of a conversation."""
    name = new_conversation()
    await app.transcript.append(name, [e.ConversationOpened("terminal", str(work))])
    for number in range(1, NOTES + 1, 2_000):
        await app.transcript.append(name, [fact for at in range(number, number + 2_000) for fact in _note(at)])

    begun = [app.conversations.begin(door="terminal", workspace=work) for _ in range(TIMES)]

    async def built() -> None:
        notes = app.conversations.notes(begun.pop())
        assert notes
        shown, left_out = await notes.in_prompt()
        text = NotesSection().text(PromptFacts(str(work), "", "", "", noted=shown, noted_elsewhere=left_out))
        assert len(shown) + left_out == NOTES
        assert text

    return row(f"the prompt's section of {NOTES:,} notes", "ms", await _times(built), BLOCK_S)


async def _skills(app: App, work: Path) -> list[Row]:
    skills = app.skills
    for one in await skills.look(OWNER, work):
        await skills.pin(OWNER, one.skill)

    async def looked() -> None:
        assert len(await skills.look(OWNER, work)) == SKILLS

    conversation = app.conversations.skills(app.conversations.begin(door="terminal", workspace=work))
    await conversation.look()

    async def opened() -> None:
        await conversation.open("skill-7")

    return [
        row(f"a turn's look at {SKILLS} skills that were seen", "ms", await _times(looked)),
        row("a skill read anew and compared with what was seen", "ms", await _times(opened)),
    ]


def _taint() -> list[Row]:
    """Whose words a note was made beside: asked of the whole log for the first note, and of what came since."""
    said = [e.Entry(seq, 0, e.UserSaid((Text(f"Message number {seq}.\nAnd one more line."),))) for seq in range(VIEWED)]
    first, later = list[float](), list[float]()
    for _ in range(TIMES):
        fold = InViewFold(OWNER)
        for times, log in ((first, said[:-2]), (later, said)):
            start = time.perf_counter()
            fold.advance(log)
            assert fold.outside == ()
            times.append(time.perf_counter() - start)
    return [
        row(f"what of {VIEWED:,} messages is from elsewhere", "ms", first),
        row("the same for the next note", "ms", later),
    ]


async def _imported(app: App, folder: Path) -> list[Row]:
    old = folder / "old"
    (old / "sessions").mkdir(parents=True)
    for number in range(OLD_CONVERSATIONS):
        lines = (
            {
                "role": "user" if at % 2 == 0 else "assistant",
                "content": f"Word {number * 31 + at} of a long talk. " * 10,
            }
            for at in range(OLD_MESSAGES)
        )
        (old / "sessions" / f"{number}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    target = ImportTarget(
        home=app.loaded.home,
        transcript=app.transcript,
        db=app.db,
        notes=app.notes,
        blobs=app.blobs,
        intake=app.intake,
        secrets=app.secrets,
        audit=app.audit,
        opened=beginnings(app.loaded, folder / "work"),
        redact=app.redaction.text,
    )
    seconds = []
    for expected in (OLD_CONVERSATIONS, 0):
        start = time.perf_counter()
        account = await HomeImport(HERMES, OldHome(old, app.clock()), target).run()
        seconds.append(time.perf_counter() - start)
        assert account.conversations == expected
    count = f"{OLD_CONVERSATIONS * OLD_MESSAGES:,} messages in {OLD_CONVERSATIONS} conversations"
    return [
        row(f"{count} imported", "s", seconds[0]),
        row("the same again, in which nothing is new", "s", seconds[1]),
    ]


async def _times(act: Callable[[], Awaitable[None]]) -> list[float]:
    times = []
    for _ in range(TIMES):
        start = time.perf_counter()
        await act()
        times.append(time.perf_counter() - start)
    return times


def _note(number: int) -> tuple[e.AnyFact, ...]:
    text = f"Fact number {number}: what is in drawer {number * 7919 % 10_007} of the long cupboard behind the door."
    return e.NoteProposed(number, NoteScope.PERSON, "", NoteKind.FACT, text, OWNER), e.NoteKept(number, OWNER)


def _skill(folder: Path, number: int) -> None:
    folder.mkdir(parents=True)
    head = f"---\nname: {folder.name}\ndescription: Does task {number}, and when it is done says so.\n---\n"
    (folder / "SKILL.md").write_text(head + f"Step {number}.\n" * 200)
    (folder / "check.sh").write_text("#!/bin/sh\nexit 0\n" * 50)
