"""Who decided what is shown out of the log, and what was done to the home stands in a log of its own."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.codec import encode
from angelia.core.content import Text
from angelia.core.errors import BadInput
from angelia.core.ids import CallId, ConversationId
from angelia.core.principal import ANGELIA, OWNER, Principal
from angelia.service.app import App
from angelia.service.audit import LOG
from angelia.service.settings.config import load
from angelia.store.log.audit_trail import AuditQuery, Decided, audit_trail
from angelia.store.sql import upkeep
from angelia.store.sql.database import FILE
from tests.faces.angelia import Place

ANN, BEN = Principal("telegram", "4711"), Principal("telegram", "815")
TALK = ConversationId("talk0001")
SETTINGS = '[channels.telegram]\nkind = "telegram"\nowners = ["1"]\n'


async def opened(place: Place) -> App:
    """The home."""
    return await App.open(load(place.home, {}, (), {}))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A home in which the owner said yes once and no once, and Angelia no by itself."""
    found = Place(tmp_path / "home", tmp_path / "work")
    for folder in (found.home, found.work):
        folder.mkdir()
    (found.home / "config.toml").write_text(SETTINGS)

    async def fill() -> None:
        app = await opened(found)
        calls = [CallId(f"c{number}_0") for number in range(3)]
        asked = [e.ApprovalAsked(call, f"May I do {call}?", "d") for call in calls]
        given = e.ApprovalGiven(calls[0], "d", OWNER)
        refused = [e.ApprovalRefused(calls[1], OWNER), e.ApprovalRefused(calls[2], ANGELIA, "Nobody was there.")]
        said = e.UserSaid((Text("go"),))
        await app.transcript.append(TALK, [e.ConversationOpened("terminal", "/w"), said, *asked, given, *refused])
        await app.admission.pairings.ask(ANN, "Ann")
        await app.close()

    asyncio.run(fill())
    return found


def told(place: Place, *words: str) -> list[dict[str, object]]:
    """What `angelia audit` tells."""
    ended = place.run("audit", "--format", "jsonl", *words)
    assert ended.code == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


def test_what_was_done_to_the_home_is_told_whoever_changed_its_files_and_without_values(place: Place) -> None:
    settings = SETTINGS.replace('"1"', '"2"') + "[limits]\nmax_steps = 7\n"
    (place.home / "config.toml").write_text(settings)
    assert place.run("secrets", "add", "site/password", stdin=b"hunter2hunter2").code == 0
    assert place.run("pair", "forget", "telegram", "4711").code == 0
    assert place.run("web", "keys", "add", "ide").code == 0
    assert place.run("delete", TALK, "--yes-really").code == 0
    found = told(place)
    assert [one["did"] for one in found] == [
        "settings changed: channels.telegram.owners, limits.max_steps",
        "keys changed: +secret site/password",
        "shut out telegram:4711",
        "api key added: ide, chat",
        f"conversation erased: {TALK}",
    ]
    assert "hunter2" not in str(found)
    assert {one["by"] for one in found} == {"owner"}


@pytest.mark.parametrize(
    "words",
    [
        ("grants", "revoke", "99"),
        ("web", "keys", "remove", "ide"),
        ("pair", "forget", "telegram", "815"),
        ("people", "role", "telegram:815", "member"),
        ("delete", "nosuch", "--yes-really"),
    ],
)
def test_what_could_not_be_done_is_not_told_as_done(words: tuple[str, ...], place: Place) -> None:
    before = told(place)
    assert place.run(*words).code != 0
    assert told(place) == before


def test_who_made_and_changed_a_schedule_is_told(place: Place) -> None:
    added = place.run("schedule", "add", "every day at 8:00", "Water the beds.")
    assert added.code == 0, added.err
    name = added.out.split()[1].rstrip(":")
    for act in ("pause", "resume", "remove"):
        assert place.run("schedule", act, name).code == 0
    found = told(place)[2:]
    assert [one["did"] for one in found] == [
        f"scheduled: {name}, at 08:00 every day, at terminal",
        "schedule paused",
        "schedule active",
        "schedule ended",
    ]
    assert {one["by"] for one in found} == {"owner"}
    assert "Water" not in str(found), "what is to be done stands in its own log"


def test_answers_are_shown_with_their_questions_narrowed_to_a_person_and_to_a_time(place: Place) -> None:
    assert [(one["did"], one["question"]) for one in told(place)] == [
        ("yes, once", "May I do c0_0?"),
        ("no", "May I do c1_0?"),
    ]
    place.run("pair", "forget", "telegram", "4711")
    assert [one["did"] for one in told(place, "--person", "telegram:4711")] == ["shut out telegram:4711"]
    assert [one["question"] for one in told(place, "--person", "angelia")] == ["May I do c2_0?"]
    assert told(place, "--since", "2999-01-01") == []
    assert "yes, once: May I do c0_0?" in place.run("audit").out


def test_one_that_is_damaged_has_a_line_that_says_so_and_the_others_are_shown(place: Place) -> None:
    with closing(sqlite3.connect(place.home / FILE)) as other:
        other.execute("DROP TRIGGER entries_never_change")
        other.execute("UPDATE entries SET body = x'7b2278' WHERE kind = 'ApprovalGiven'")
        other.commit()
    torn, whole = told(place)
    assert (torn["by"], whole["did"]) == ("", "no")
    assert str(torn["did"]).startswith("cannot be read: Entry 6 of talk0001 cannot be read")
    shown = place.run("audit")
    assert (shown.code, "Entry 6 of talk0001" in shown.out, "May I do c1_0?" in shown.out) == (0, True, True)


@pytest.mark.anyio
async def test_it_follows_what_is_decided_from_now_on_by_whichever_process(place: Place) -> None:
    app, other = await opened(place), await opened(place)
    trail = audit_trail(app.db, AuditQuery())
    assert len(await decided(trail)) == 2
    await other.audit.record(e.AdminAct.SHUT_OUT, OWNER, person=BEN)
    assert [one.fact for one in await decided(trail)] == [e.Administered(e.AdminAct.SHUT_OUT, OWNER, person=BEN)]
    await other.close()
    await app.close()


async def decided(trail: AsyncIterator[list[Decided]]) -> list[Decided]:
    """The next ones that come."""
    while True:
        if page := await anext(trail):
            return page


@pytest.mark.anyio
async def test_the_record_is_no_conversation_is_not_erased_and_shows_what_was_altered(place: Place) -> None:
    app = await opened(place)
    await app.audit.record(e.AdminAct.SHUT_OUT, OWNER, person=ANN)
    assert [one.id for one in await app.transcript.conversations(OWNER)] == [TALK]
    assert await app.transcript.newest(OWNER) == TALK
    with pytest.raises(BadInput, match="not erased"):
        await app.deletion.delete(LOG)
    assert await upkeep.verify(app.db, app.blobs) == []
    await app.db.write(lambda connection: connection.execute("DROP TRIGGER entries_never_change"))
    other = encode(e.Administered(e.AdminAct.SHUT_OUT, OWNER, person=BEN))
    change = "UPDATE entries SET body = ? WHERE conversation = 'audit' AND seq = 2"
    await app.db.write(lambda connection: connection.execute(change, (other,)))
    assert any("audit" in problem for problem in await upkeep.verify(app.db, app.blobs))
    await app.close()
