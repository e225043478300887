"""Homes of three agents, in the layouts of three versions each: all of it is accounted for, and nothing is doubled."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from angelia.core import entry as e
from angelia.core.content import Media, MediaKind
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER, Principal
from angelia.service.app import App
from angelia.service.imports.account import FileVerdict, ImportAccount
from angelia.service.imports.agents import AGENTS
from angelia.service.imports.beginning import beginnings
from angelia.service.imports.home_import import HomeImport
from angelia.service.imports.old_home import OldHome
from angelia.service.imports.taking import ImportTarget
from angelia.service.secrets.store import KeptSecret
from angelia.service.settings.config import load
from angelia.store.log.ranked_search import Within, ranked_search
from angelia.store.tables.notes import Holds, Notes, StoredNote
from angelia.testing.model.pictures import one_colour
from tests.imports.old_homes import HOMES, KEY, PICTURED, grown_hermes

pytestmark = pytest.mark.anyio

F = TypeVar("F", bound=e.Fact)
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
    app: App,
    agent: str,
    old: Path,
    *,
    me: frozenset[str] = frozenset(),
    people: bool = False,
    dry: bool = False,
    notes: Notes | None = None,
) -> ImportAccount:
    """One run of it; conversations work in `workspace` beside our home."""
    work = app.loaded.home.parent / "workspace"
    work.mkdir(exist_ok=True)
    target = ImportTarget(
        home=app.loaded.home,
        transcript=app.transcript,
        db=app.db,
        notes=notes or app.notes,
        blobs=app.blobs,
        intake=app.intake,
        secrets=app.secrets,
        audit=app.audit,
        opened=beginnings(app.loaded, work),
        redact=app.redaction.text,
        mine=me,
        people=people,
        dry=dry,
    )
    return await HomeImport(AGENTS[agent], OldHome(old, NOW), target).run()


async def stored(app: App) -> dict[ConversationId, list[e.Entry]]:
    """Every log there is, but for the record of what was done to the home."""
    query = "SELECT id FROM conversations WHERE door <> 'audit' ORDER BY id"
    names = await app.db.read(lambda connection: connection.execute(query).fetchall())
    return {name: await app.transcript.entries(name) for (name,) in names}


def as_it_lies(old: Path) -> dict[str, tuple[int, str]]:
    """Every file with when it was written and what is in it."""
    return {
        str(path.relative_to(old)): (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in sorted(old.rglob("*"))
        if path.is_file()
    }


def facts(logs: dict[ConversationId, list[e.Entry]], kind: type[F]) -> list[F]:
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
    whole = {path: path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file()}
    assert {path.name for path, data in whole.items() if KEY.encode() in data} <= {"secrets.json"}


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


KEYS = {
    "hermes with files": {"hermes/OPENROUTER_API_KEY", "hermes/TELEGRAM_BOT_TOKEN"},
    "hermes with profiles": {"hermes/OPENROUTER_API_KEY", "hermes/TELEGRAM_BOT_TOKEN"},
    "clawdbot": {"openclaw/token"},
    "openclaw with files": {"openclaw/models.apiKey", "openclaw/profiles.a.key"},
    "openclaw with a database": {"openclaw/secrets.botToken", "openclaw/openai.apiKey"},
    "claude code 2.1": set[str](),
}


@pytest.mark.parametrize("layout", KEYS)
async def test_keys_are_kept_by_handle_and_logins_are_left(layout: str, tmp_path: Path) -> None:
    agent, make = HOMES[layout]
    make(tmp_path / "old")
    async with opened(tmp_path) as app:
        account = await imported(app, agent, tmp_path / "old")
        kept = app.secrets.kept()
        assert set(kept) == set(account.keys) == KEYS[layout]
        assert {one.origins for one in kept.values()} <= {()}, "no site is given one"
        assert all([await app.secrets.value(handle) == KEY for handle in kept if "TELEGRAM" not in handle])
    told = "\n".join(file.why for file in account.files)
    assert KEY not in told
    logins = ("hermes with profiles", "openclaw with files", "claude code 2.1")
    assert ("logins, which two programs cannot share" in told) == (layout in logins)


async def test_a_secret_that_is_here_stays_as_it_is(tmp_path: Path) -> None:
    agent, make = HOMES["hermes with files"]
    make(tmp_path / "old")
    async with opened(tmp_path) as app:
        app.secrets.add("hermes/OPENROUTER_API_KEY", KeptSecret(value="mine-and-no-other"))
        account = await imported(app, agent, tmp_path / "old")
        assert account.keys == ["hermes/TELEGRAM_BOT_TOKEN"]
        assert await app.secrets.value("hermes/OPENROUTER_API_KEY") == "mine-and-no-other"
        [row] = [file for file in account.files if file.path == ".env"]
        assert "1 key; not taken: another secret is kept as hermes/OPENROUTER_API_KEY" in row.why


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


async def test_what_another_run_takes_while_this_one_looks_is_not_doubled(tmp_path: Path) -> None:
    agent, make = HOMES["hermes with a database"]
    make(tmp_path / "old")
    async with opened(tmp_path) as app:

        class Slow(Notes):
            """Another run goes by between its answer and what is made of it."""

            async def at(self, scopes: Sequence[Holds], states: Sequence[str] = ("kept",)) -> list[StoredNote]:
                found = await super().at(scopes, states)
                await imported(app, agent, tmp_path / "old")
                return found

        await imported(app, agent, tmp_path / "old", notes=Slow(app.db))
        notes = [one.text for one in await app.notes.list(OWNER)]
    assert notes
    assert len(notes) == len(set(notes))


@pytest.mark.parametrize("agent", PICTURED)
async def test_pictures_come_with_what_they_were_shown_with_and_what_is_none_is_told(
    agent: str, tmp_path: Path
) -> None:
    PICTURED[agent](tmp_path / "old", one_colour("red"), one_colour("blue"))
    async with opened(tmp_path) as app:
        account = await imported(app, agent, tmp_path / "old")
        logs = await stored(app)
        said = [part for one in facts(logs, e.UserSaid) for part in one.parts if isinstance(part, Media)]
        came = [part for one in facts(logs, e.ToolFinished) for part in one.parts if isinstance(part, Media)]
        shown = [*said, *came]
        assert [await app.blobs.get(part.blob.sha256) for part in shown] == [one_colour("red"), one_colour("blue")]
        assert {part.media for part in shown} == {MediaKind.IMAGE}
    assert len(said) == 1
    [told] = [file.why for file in account.files if "picture" in file.why]
    assert "2 pictures" in told
    assert "not taken: a picture that is none" in told


async def test_a_subagent_becomes_a_preset_that_counts_once_its_comment_is_taken_away(tmp_path: Path) -> None:
    agent, make = HOMES["claude code 2.1"]
    make(tmp_path / "old")
    config = tmp_path / "home" / "config.toml"
    async with opened(tmp_path) as app:
        config.write_text("# mine\n")
        account = await imported(app, agent, tmp_path / "old")
        written = config.read_text()
        again = await imported(app, agent, tmp_path / "old")
    assert (account.helpers, again.helpers) == (1, 0)
    assert config.read_text() == written
    assert written.startswith("# mine\n\n# From claude, agents/reviewer.md. Read it, then take the # away:\n")
    assert all(line.startswith("#") for line in written.splitlines() if line), "nothing of it counts unread"
    section = written.partition("take the # away:\n")[2]
    config.write_text("".join(f"{line.removeprefix('#').removeprefix(' ')}\n" for line in section.splitlines()))
    preset = load(tmp_path / "home", {"HOME": str(tmp_path)}, [], {}).config.helpers["reviewer"]
    assert preset.description == "Use after a change. Examples: <example>user: done</example>"
    assert preset.instructions.strip().startswith('You review.\n\n    a \\ and """ ')
    assert "\u202e" not in preset.instructions
    assert preset.tools == ("find", "process", "read", "shell")
