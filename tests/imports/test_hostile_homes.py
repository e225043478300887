"""Old homes that somebody prepared, or that broke: it is told, nothing of ours is lost, and nothing is obeyed."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from angelia.core.errors import BadInput
from angelia.core.principal import OWNER
from angelia.service.imports.account import FileVerdict, ImportAccount
from angelia.service.imports.old_home import OldHome
from tests.imports.old_homes import BOAT, HOMES, SKILL, hermes_with_database, lines, write
from tests.imports.test_imported_homes import NOW, as_it_lies, imported, opened, stored

pytestmark = pytest.mark.anyio


def why(account: ImportAccount, path: str) -> str:
    """What is said of one file."""
    return next(f"{file.verdict}: {file.why}" for file in account.files if file.path == path)


async def test_links_fifos_and_closed_folders_are_named_and_not_followed(tmp_path: Path) -> None:
    old, outside = tmp_path / "old", tmp_path / "outside"
    hermes_with_database(old)
    write(outside, {"MEMORY.md": "Planted.\n", "passwd": "root\n"})
    (old / "memories/MEMORY.md").unlink()
    (old / "memories/MEMORY.md").symlink_to(outside / "MEMORY.md")
    (old / "skills/evil").symlink_to(outside)
    os.mkfifo(old / "cron/pipe")
    (old / "sessions/loop").symlink_to(old)
    async with opened(tmp_path) as app:
        account = await imported(app, "hermes", old)
        assert "Planted." not in str(await app.notes.list(OWNER))
    assert "links are not followed" in why(account, "memories/MEMORY.md")
    assert "links are not followed" in why(account, "skills/evil")
    assert "links are not followed" in why(account, "sessions/loop")
    assert "no end" in why(account, "cron/pipe")


async def test_a_folder_that_became_a_link_meanwhile_is_not_read(tmp_path: Path) -> None:
    old, outside = tmp_path / "old", tmp_path / "outside"
    write(old, {"memories/USER.md": "Likes tea.\n", "memories/MEMORY.md": "x\n"})
    write(outside, {"USER.md": "Planted.\n"})
    home = OldHome(old, NOW)
    assert home.text("memories/USER.md") == "Likes tea.\n"
    (old / "memories").rename(tmp_path / "away")
    (old / "memories").symlink_to(outside)
    with pytest.raises(Exception, match="cannot be opened"):
        home.text("memories/USER.md")


@pytest.mark.parametrize("damage", ["cut", "noise in the middle", "no database", "empty", "other tables"])
async def test_a_damaged_database_is_told_and_the_rest_is_taken(damage: str, tmp_path: Path) -> None:
    old = tmp_path / "old"
    hermes_with_database(old)
    path = old / "state.db"
    whole = path.read_bytes()
    match damage:
        case "cut":
            path.write_bytes(whole[: len(whole) // 2])
        case "noise in the middle":
            path.write_bytes(whole[:8192] + os.urandom(8192) + whole[16384:])
        case "no database":
            path.write_text("hello")
        case "empty":
            path.write_bytes(b"")
        case _:
            path.unlink()
            with closing(sqlite3.connect(path)) as db:
                db.execute("CREATE TABLE sessions (x)")
    async with opened(tmp_path) as app:
        account = await imported(app, "hermes", old)
        assert len(await app.notes.list(OWNER)) == 4
        assert account.conversations >= 1  # the one of the files
    assert why(account, "state.db").startswith(("unknown: ", "taken: "))
    assert "damaged" in why(account, "state.db") or "no " in why(account, "state.db")


async def test_a_database_that_somebody_holds_is_read_from_a_copy_with_its_log(tmp_path: Path) -> None:
    old = tmp_path / "old"
    hermes_with_database(old)
    with closing(sqlite3.connect(old / "state.db", isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(
            "INSERT INTO messages (session_id, role, content, timestamp)"
            " SELECT id, 'user', 'In the log.', 1 FROM sessions"
        )
        db.execute("BEGIN EXCLUSIVE")
        before = as_it_lies(old)
        async with opened(tmp_path) as app:
            await imported(app, "hermes", old)
            assert "In the log." in str(await stored(app))
        assert as_it_lies(old) == before


async def test_broken_lines_are_counted_and_the_others_taken(tmp_path: Path) -> None:
    deep = "[" * 100_000
    said = lines({"type": "user", "message": {"role": "user", "content": BOAT}})
    bad = f'{said}not json\n{deep}\n"text"\n{said}\xff\n'
    write(
        tmp_path / "old",
        {"projects/p/a.jsonl": bad.encode("latin-1"), "projects/p/b.jsonl": "{", "projects/p/c.jsonl": ""},
    )
    async with opened(tmp_path) as app:
        account = await imported(app, "claude", tmp_path / "old")
    assert why(account, "projects/p/a.jsonl") == (
        "taken: 1 conversation, 2 messages; not taken: 4 lines are no JSON objects (the first is line 2)"
    )
    assert "1 line is no JSON object" in why(account, "projects/p/b.jsonl")


async def test_wrong_types_everywhere_are_no_fault(tmp_path: Path) -> None:
    strange: list[object] = [None, 1, [], {}, "x", [[]], True]
    said = [{"type": kind, "message": one, "timestamp": one} for kind in ("user", "assistant") for one in strange]
    said += [{"type": "user", "message": {"role": "user", "content": one}} for one in strange]
    said += [{"type": "assistant", "message": {"content": [{"type": "tool_use", "input": one}]}} for one in strange]
    jobs = {"jobs": [*strange, *({"prompt": "x", "schedule": one, "id": one} for one in strange)]}
    write(tmp_path / "claude", {"projects/p/a.jsonl": lines(*said), ".credentials.json": "[" * 50_000})
    write(
        tmp_path / "hermes", {"cron/jobs.json": json.dumps(jobs), "auth.json": "null", "memories/USER.md": b"\xff\x00"}
    )
    write(
        tmp_path / "openclaw",
        {
            "cron/jobs.json": json.dumps({"jobs": [{"payload": {"text": "x"}, "schedule": one} for one in strange]}),
            "agents/main/sessions/a.jsonl": lines(*({"type": "message", "message": one} for one in strange)),
            "agents/main/sessions/sessions.json": json.dumps({"a": strange, "b": None}),
        },
    )
    for agent in ("claude", "hermes", "openclaw"):
        async with opened(tmp_path / "ours" / agent) as app:
            account = await imported(app, agent, tmp_path / agent)
            assert len(account.files) == sum(path.is_file() for path in (tmp_path / agent).rglob("*"))


async def test_names_that_lead_elsewhere_or_hide_are_names(tmp_path: Path) -> None:
    name = "\x1b]0;gone\x07\u202e.md"
    write(
        tmp_path / "old",
        {
            "memories/USER.md": f"\x1b[2J Likes tea.\n§\n{' '.join(f'long{n}' for n in range(150))}\n",
            f"logs/{name}": "x",
            "skills/..%2f..%2fescape/SKILL.md": SKILL.format(name="../../escape"),
            "skills/-rf/SKILL.md": SKILL.format(name="-rf"),
            "sessions/..jsonl": lines({"role": "user", "content": BOAT}),
        },
    )
    async with opened(tmp_path) as app:
        account = await imported(app, "hermes", tmp_path / "old")
        notes = await app.notes.list(OWNER)
    assert len(notes) == 4
    assert all(len(note.text) <= 400 for note in notes)
    assert not any("\x1b" in file.path or "\u202e" in file.path for file in account.files)
    assert not (tmp_path / "home/skills").exists() or not [*(tmp_path / "home/skills").iterdir()]
    assert "breaks the rules" in why(account, "skills/-rf/SKILL.md")


async def test_too_much_is_told(tmp_path: Path) -> None:
    write(
        tmp_path / "old",
        {
            "memories/MEMORY.md": "\n§\n".join(f"Fact {n}." for n in range(300)),
            "cron/jobs.json": b" " * 16_000_001,
            "sessions/a.jsonl": lines({"role": "user", "content": BOAT}),
        },
    )
    async with opened(tmp_path) as app:
        account = await imported(app, "hermes", tmp_path / "old")
        assert await app.notes.list(OWNER) == []
    assert why(account, "memories/MEMORY.md") == (
        "left: not taken: 300 notes would be in it, and 200 are the most: shorten a copy of it"
    )
    assert why(account, "cron/jobs.json") == "unknown: not taken: it has more than 16,000,000 bytes"


async def test_what_nobody_knows_is_unknown_and_another_folder_is_refused(tmp_path: Path) -> None:
    hermes_with_database(tmp_path / "old")
    write(tmp_path / "old", {"quantum/entangled.qbit": "x"})
    write(tmp_path / "other", {"letter.txt": "x"})
    async with opened(tmp_path) as app:
        account = await imported(app, "hermes", tmp_path / "old")
        assert [file.path for file in account.files if file.verdict is FileVerdict.UNKNOWN] == [
            "quantum/entangled.qbit"
        ]
        with pytest.raises(BadInput, match="does not look like a home of Hermes Agent"):
            await imported(app, "hermes", tmp_path / "other")
        with pytest.raises(BadInput, match="no folder"):
            await imported(app, "hermes", tmp_path / "nowhere")


def test_each_layout_is_of_an_agent_with_three() -> None:
    agents = [agent for agent, _ in HOMES.values()]
    assert {agent: agents.count(agent) for agent in agents} == {"hermes": 3, "openclaw": 3, "claude": 3}
