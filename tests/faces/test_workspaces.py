"""Where a conversation works that was begun in a home: in a folder of its own, from every door."""

import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.entry import Address
from angelia.core.errors import AngeliaError
from angelia.policy.approvers import owner_at
from angelia.sandboxes.port import AccessRefused
from angelia.service.app import App
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.service.settings.config import load
from angelia.testing.model.answerers import instant
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.acp.editor import Editor, Refused, first
from tests.faces.angelia import CTRL_D, Place, serving


def at_home(place: Place) -> Place:
    """The same place, entered at the person's home."""
    return replace(place, work=place.home.parent)


@pytest.mark.real("bwrap")
def test_a_question_asked_in_a_home_works_in_a_folder_made_for_it(tmp_path: Path) -> None:
    evil = call("shell", {"command": "echo evil >> .bashrc; mkdir -p .config/autostart; pwd > where"})
    steps = [evil + call("write", {"path": "note", "content": "x"}), say("Done.")]
    with serving(tmp_path, steps) as place:
        ended = at_home(place).ask("go")
        assert (ended.code, ended.out) == (0, "Done.\n"), ended.err
        assert f"works in {tmp_path / 'Angelia'}" in ended.err
        assert not {".bashrc", ".config", "where", "note"} & {path.name for path in tmp_path.iterdir()}
        assert (tmp_path / "Angelia/where").read_text().strip() == str(tmp_path / "Angelia")
        assert stat.S_IMODE((tmp_path / "Angelia").stat().st_mode) == 0o700


@pytest.mark.parametrize("named", ["~", "~/..", "/", "~/.config", "~/home", "~/home/outbox"])
def test_a_home_that_is_named_is_refused_and_what_to_do_is_said(place: Place, named: str) -> None:
    folder = Path(named.replace("~", str(place.home.parent)))
    folder.mkdir(parents=True, exist_ok=True)
    ended = place.ask("-C", str(folder), "go")
    assert ended.code == 1
    assert "cannot be a workspace" in ended.err
    assert "Name a folder of your project" in ended.err
    assert "no conversation" in place.run("sessions").out.casefold() or not place.run("sessions").out


def test_a_conversation_begun_in_a_home_says_where_it_works(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Good morning.")]) as place, at_home(place).chat() as terminal:
        terminal.sees("/new FOLDER")
        terminal.sees("/help")
        terminal.press(CTRL_D)
        assert terminal.ends() == 0
        assert (tmp_path / "Angelia").is_dir()


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "Angelia").write_text("a file")
    with serving(tmp_path, [say("Good morning.")]) as place:
        ended = at_home(place).ask("go")
        assert ended.code == 1
        assert "cannot be made" in ended.err


@pytest.mark.anyio
async def test_an_editor_that_names_a_home_is_told_what_to_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelServer(instant) as server, Editor(first(server, tmp_path)) as editor:
        await editor.hello()
        monkeypatch.setenv("HOME", str(editor.place.workspace))
        with pytest.raises(Refused, match="cannot be a workspace") as refused:
            await editor.new()
        assert "Name a folder of your project" in str(refused.value)


@pytest.mark.anyio
async def test_no_door_begins_or_goes_on_in_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    app = await App.open(load(tmp_path / "own", {}, ["model=openai-chat:test"]), {"OPENAI_API_KEY": "sk-test"})
    try:
        for door in ("terminal", "telegram", "acp"):
            for folder in (Path.home(), tmp_path, tmp_path / "own", Path("/")):
                with pytest.raises(AccessRefused):
                    app.conversations.begin(door=door, workspace=folder)
        session = app.conversations.begin(door="terminal", workspace=tmp_path / "work")
        with pytest.raises(AccessRefused):
            await app.conversations.rebegin(session, Path.home(), "local")
        await session.say([Text("hello")], address=TERMINAL)
        monkeypatch.setenv("HOME", str(tmp_path / "work"))  # it was begun where nobody lived yet
        with pytest.raises(AngeliaError, match="cannot be a workspace"):
            await app.conversations.employ(session, "openai-chat:test", approvers=owner_at(Address("terminal")))
        assert isinstance(session.log.entries[0].fact, e.ConversationOpened)
    finally:
        await app.close()
