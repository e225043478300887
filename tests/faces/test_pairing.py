"""Who is let in from the terminal is let in as somebody: you yourself, or a guest, and what they may do is said."""

import asyncio
import sys
from pathlib import Path

import pexpect
import pytest

from angelia.core.person_role import PersonRole
from angelia.core.principal import OWNER, Principal
from angelia.service.app import App
from angelia.service.people.admission import an
from angelia.service.settings.config import load
from tests.faces.angelia import SECONDS, Place

ESCAPING = "Ann\n\x1b[2J\u202e" + "x" * 100


def waiting(place: Place) -> str:
    """The code of somebody who asks."""

    async def ask() -> str:
        app = await App.open(load(place.home, {}, (), {}))
        code = await app.admission.pairings.ask(Principal("telegram", "4711"), ESCAPING)
        await app.close()
        assert isinstance(code, str)
        return code

    return asyncio.run(ask())


def role_of(place: Place) -> str:
    """As what somebody was let in; empty for nobody."""

    async def look() -> str:
        app = await App.open(load(place.home, {}, (), {}))
        found = await app.admission.pairings.list(OWNER)
        await app.close()
        return next((one.role for one in found), "")

    return asyncio.run(look())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A home with a channel that has no owner."""
    found = Place(tmp_path / "home", tmp_path / "work")
    for folder in (found.home, found.work):
        folder.mkdir()
    (found.home / "config.toml").write_text('[channels.telegram]\nkind = "telegram"\n')
    return found


@pytest.mark.parametrize("role", PersonRole)
def test_what_somebody_will_be_able_to_do_is_said(place: Place, role: PersonRole) -> None:
    ended = place.run("pair", "approve", waiting(place), "--as", role)
    assert ended.code == 0, ended.err
    assert f"As {an(role)} they may" in ended.out
    assert role_of(place) == role
    assert "\x1b" not in ended.out + place.run("pair").out
    assert "“Ann␤␛[2J⟨U+202E⟩" in ended.out


def test_the_first_is_not_let_in_before_it_is_said_as_whom(place: Place) -> None:
    code = waiting(place)
    ended = place.run("pair", "approve", code)
    assert ended.code != 0
    assert "Is that you, or somebody else?" in ended.err
    assert role_of(place) == ""
    assert place.run("pair", "approve", code, "--as", "guest").code == 0


def test_where_there_is_an_owner_nobody_is_asked_about_the_next(place: Place) -> None:
    (place.home / "config.toml").write_text('[channels.telegram]\nkind = "telegram"\nowners = ["1"]\n')
    assert place.run("pair", "approve", waiting(place)).code == 0
    assert role_of(place) == PersonRole.GUEST


@pytest.mark.parametrize(("answer", "role"), [("you", PersonRole.OWNER), ("else", PersonRole.GUEST)])
def test_at_a_terminal_the_first_is_asked_about(place: Place, answer: str, role: PersonRole) -> None:
    argv = ["-m", "angelia", "pair", "approve", waiting(place)]
    environment = place.environment({"NO_COLOR": "1"})
    child = pexpect.spawn(sys.executable, argv, env=environment, encoding="utf-8", timeout=SECONDS)
    child.expect_exact("Is that you, or somebody else?")
    child.sendline(answer)
    child.expect(pexpect.EOF)
    assert role_of(place) == role


def test_a_role_is_changed_and_listed_unless_the_settings_say_another(place: Place) -> None:
    assert place.run("pair", "approve", waiting(place), "--as", "guest").code == 0
    assert place.run("people").out.split() == ["telegram:4711", "no", "conversation", "guest"]
    changed = place.run("people", "role", "telegram:4711", "admin")
    assert "telegram:4711 is an admin from now on." in changed.out, changed.err
    assert place.run("people").out.split()[-1] == role_of(place) == PersonRole.ADMIN
    with (place.home / "config.toml").open("a") as settings:
        settings.write('[people."telegram:4711"]\nrole = "member"\n')
    refused = place.run("people", "role", "telegram:4711", "guest")
    assert refused.code == 2
    assert "The settings say that telegram:4711 is a member, which counts." in refused.err
    assert place.run("people").out.split()[-1] == "member"


def test_a_person_of_the_settings_who_is_nobody_is_told(place: Place) -> None:
    (place.home / "config.toml").write_text('[people.ann]\nrole = "member"\n')
    assert "“ann” names nobody: an id of ann is missing." in place.run("people").err
