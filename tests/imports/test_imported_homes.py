"""Homes of three agents, in the layouts of three versions each: all of it is accounted for, and nothing is doubled."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER, Principal
from angelia.service.app import App
from angelia.service.imports.account import FileVerdict, ImportAccount
from angelia.service.imports.agents import AGENTS
from angelia.service.imports.beginning import beginnings
from angelia.service.imports.home_import import HomeImport
from angelia.service.imports.old_home import OldHome
from angelia.service.imports.taking import ImportTarget
from angelia.service.settings.config import load
from angelia.store.log.ranked_search import Within, ranked_search
from tests.imports.old_homes import HOMES, KEY, grown_hermes

pytestmark = pytest.mark.anyio

NOW = 1_790_000_000_000
THEN = {1_772_360_000_000, 1_772_360_010_500, 1_769_940_000_000, 1_769_940_005_000}
"""When something was said in the home of Hermes with a database."""


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[App]:
    """A home of ours."""
    env = {"HOME": str(folder / "person"), "ANGELIA_HOME": str(folder / "home")}
    app = await App.open(load(folder / "home", env, [], {}), env)
    try:
        yield app
    finally:
        await app.close()


async def imported(
    app: App, agent: str, old: Path, *, me: frozenset[str] = frozenset(), people: bool = False, dry: bool = False
) -> ImportAccount:
    """One run of it; conversations work in `workspace` beside our home."""
    work = app.loaded.home.parent / "workspace"
    work.mkdir(exist_ok=True)
    target = ImportTarget(
        home=app.loaded.home,
        transcript=app.transcript,
        db=app.db,
        notes=app.notes,
        blobs=app.blobs,
        opened=beginnings(app.loaded, work),
        redact=app.redaction.text,
        mine=me,
        people=people,
        dry=dry,
    )
    return await HomeImport(AGENTS[agent], OldHome(old, NOW), target).run()


async def stored(app: App) -> dict[ConversationId, list[e.Entry]]:
    """Every log there is."""
    query = "SELECT id FROM conversations ORDER BY id"
    names = await app.db.read(lambda connection: connection.execute(query).fetchall())
    return {name: await app.transcript.entries(name) for (name,) in names}


def as_it_lies(old: Path) -> dict[str, tuple[int, str]]:
    """Every file with when it was written and what is in it."""
    return {
        str(path.relative_to(old)): (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in sorted(old.rglob("*"))
        if path.is_file()
    }


def facts(logs: dict[ConversationId, list[e.Entry]], kind: type[e.Fact]) -> list[e.Fact]:
    """Those of one kind."""
    return [entry.fact for log in logs.values() for entry in log if isinstance(entry.fact, kind)]


@pytest.mark.parametrize("layout", HOMES)
async def test_every_file_is_accounted_for_and_the_old_home_stays_as_it_was(layout: str, tmp_path: Path) -> None:
    agent, make = HOMES[layout]
    old = tmp_path / "old"
    make(old)
    before = as_it_lies(old)
    async with opened(tmp_path) as app:
        account = await imported(app, agent, old, people=True)
    assert [file.path for file in account.files] == sorted(before)
    assert [file for file in account.files if file.verdict is FileVerdict.UNKNOWN] == []
    assert as_it_lies(old) == before


@pytest.mark.parametrize("layout", HOMES)
async def test_what_was_said_there_is_found_here_and_no_key_is(layout: str, tmp_path: Path) -> None:
    agent, make = HOMES[layout]
    make(tmp_path / "old")
    async with opened(tmp_path) as app:
        account = await imported(app, agent, tmp_path / "old")
        found = await ranked_search(app.db, Within(OWNER), "what is the boat called", 5)
        logs = await stored(app)
    assert "Halcyon" in str(found.hits)
    assert account.conversations >= 1
    assert all(log[1].fact.source == agent for log in logs.values() if isinstance(log[1].fact, e.Imported))
    assert not any(KEY.encode() in path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file())


@pytest.mark.parametrize("layout", HOMES)
async def test_a_second_run_takes_nothing_and_a_dry_one_says_what_the_first_did(layout: str, tmp_path: Path) -> None:
    agent, make = HOMES[layout]
    make(tmp_path / "old")
    async with opened(tmp_path) as app:
        dry = await imported(app, agent, tmp_path / "old", dry=True)
        assert await stored(app) == {}
        first = await imported(app, agent, tmp_path / "old")
        logs = await stored(app)
        again = await imported(app, agent, tmp_path / "old")
        assert await stored(app) == logs
    assert [file.path for file in again.files] == [file.path for file in first.files]
    assert (again.conversations, again.waiting, again.unseen, again.paused) == (0, 0, 0, 0)
    assert dry.files == first.files


async def test_notes_wait_skills_are_unseen_and_schedules_are_paused(tmp_path: Path) -> None:
    agent, make = HOMES["hermes with profiles"]
    make(tmp_path / "old")
    async with opened(tmp_path) as app:
        account = await imported(app, agent, tmp_path / "old")
        notes = await app.notes.list(OWNER)
        assert {note.state for note in notes} == {"waits"}
        assert {note.text for note in notes} >= {"Likes tea.", "Never eats fish.", "The office is in Bonn."}
        judged = await app.skills.look(OWNER, None)
        assert [(one.skill.name, one.unseen) for one in judged] == [("packing", True)]
        assert (tmp_path / "home/skills/packing/references/list.md").read_text() == "Socks.\n"
        schedules = await app.schedules.visible(OWNER)
        assert {one.state for one in schedules} == {e.ScheduleState.PAUSED}
        assert all("hermes cron pause" in one.why for one in schedules)
    assert (account.waiting, account.unseen, account.paused) == (5, 1, 2)
    assert account.timers == ["“job e5”: hermes cron pause e5", "“job d4”: hermes cron pause d4"]
    assert set(account.keys) == {"OPENROUTER_API_KEY", "TELEGRAM_BOT_TOKEN", "access_token"}


@pytest.mark.parametrize("layout", ["hermes with a database", "openclaw with files", "openclaw with a database"])
async def test_conversations_of_other_people_are_theirs_or_left(layout: str, tmp_path: Path) -> None:
    agent, make = HOMES[layout]
    make(tmp_path / "old")
    ann = Principal("telegram", "4711")
    async with opened(tmp_path / "left") as app:
        account = await imported(app, agent, tmp_path / "old")
        assert account.people == {"telegram:4711"}
        assert not await app.transcript.conversations(OWNER, owner=ann)
    async with opened(tmp_path / "theirs") as app:
        await imported(app, agent, tmp_path / "old", people=True)
        (theirs,) = await app.transcript.conversations(OWNER, owner=ann)
        assert theirs.owner == ann
    async with opened(tmp_path / "mine") as app:
        account = await imported(app, agent, tmp_path / "old", me=frozenset({"telegram:4711"}))
        assert account.people == set()
        assert not await app.transcript.conversations(OWNER, owner=ann)


async def test_an_imported_conversation_is_whole_has_its_own_times_and_waits_for_nobody(tmp_path: Path) -> None:
    agent, make = HOMES["hermes with a database"]
    make(tmp_path / "old")
    async with opened(tmp_path) as app:
        await imported(app, agent, tmp_path / "old")
        for summary in await app.transcript.conversations(OWNER):
            session = await app.conversations.resume(summary.id, door="terminal")
            assert session.at_rest
            assert {entry.at for entry in session.log.entries} <= THEN
            await app.conversations.leave(session)
        assert await app.transcript.newest(OWNER) is None


async def test_what_was_said_there_since_is_added(tmp_path: Path) -> None:
    agent, make = HOMES["hermes with a database"]
    make(tmp_path / "old")
    async with opened(tmp_path) as app:
        await imported(app, agent, tmp_path / "old")
        before = await stored(app)
        grown_hermes(tmp_path / "old")
        account = await imported(app, agent, tmp_path / "old")
        after = await stored(app)
        again = await imported(app, agent, tmp_path / "old")
        assert await stored(app) == after
    longer = [name for name in after if after[name] != before[name]]
    assert [after[name][: len(before[name])] for name in longer] == [before[name] for name in longer]
    assert len(longer) == 1
    assert "She has a new sail." in str(after[longer[0]])
    assert account.conversations == again.conversations == 0


async def test_a_conversation_that_went_on_here_is_not_added_to(tmp_path: Path) -> None:
    agent, make = HOMES["hermes with a database"]
    make(tmp_path / "old")
    async with opened(tmp_path) as app:
        await imported(app, agent, tmp_path / "old")
        for name in await stored(app):
            if (await app.transcript.summary(OWNER, name)).door == "hermes":
                await app.transcript.append(name, [e.UserSaid(parts=(), key=name)])
        before = await stored(app)
        grown_hermes(tmp_path / "old")
        account = await imported(app, agent, tmp_path / "old")
        assert await stored(app) == before
    assert any("went on here since" in file.why for file in account.files)


async def test_two_runs_at_once_double_nothing(tmp_path: Path) -> None:
    agent, make = HOMES["hermes with a database"]
    make(tmp_path / "old")
    async with opened(tmp_path) as app:
        await asyncio.gather(*(imported(app, agent, tmp_path / "old") for _ in range(2)))
        both = await stored(app)
    async with opened(tmp_path / "alone") as app:
        await imported(app, agent, tmp_path / "old")
        alone = await stored(app)
    assert {name: len(log) for name, log in both.items()} == {name: len(log) for name, log in alone.items()}
