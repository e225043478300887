"""What Angelia starts outside of every sandbox begins where no model lays anything, and runs nothing of its folder."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from angelia.beginning import FOLDER, empty_folder, persons_home
from angelia.core import entry as e
from angelia.core.content import CallStatus
from angelia.core.entry import HookOutcome
from angelia.faces.cli.checkup.check_result import CheckState
from angelia.faces.cli.doctor import look_through
from angelia.faces.cli.mcp import look_at_server
from angelia.models.catalog.credentials import key_from_command
from angelia.models.port import Credential
from angelia.models.program import run_program
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.acp.editor import Editor, first
from tests.mcp.reached import seen
from tests.promise.inside import conversation
from tests.promise.lives import ROOT, Place

pytestmark = pytest.mark.anyio

REPLIES = [call("bare__say", {"words": "here"}), say("Done.")]
BY_NAME = (sys.executable, "-m", "tests.mcp.bare", "old")
COMMAND = str(Path(sys.executable).with_name("angelia"))
VARIABLES = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}


def plant(workspace: Path) -> Path:
    """What a model would write: modules that a Python finds first where it begins. What they make if they are run."""
    marker = workspace / "ran"
    for module in ("tests/__init__.py", "json.py", "guard.py"):
        (workspace / module).parent.mkdir(exist_ok=True)
        (workspace / module).write_text(f"open({str(marker)!r}, 'w').close()\nraise SystemExit(9)\n")
    return marker


def settings(notes: Path, **more: object) -> list[str]:
    """A server of the settings that is named as a module, and notes what it sees."""
    told = {"command": [*BY_NAME, str(notes)], "allow": True, "env": VARIABLES, **more}
    rows = [f"mcp.servers.bare.{key}={json.dumps(value)}" for key, value in told.items() if key != "env"]
    return [*rows, f"mcp.servers.bare.env.PYTHONPATH={VARIABLES['PYTHONPATH']}", "mcp.patience=60.0"]


Begun = Callable[[Place, Path], Awaitable[None]]


async def in_a_conversation(place: Place, notes: Path) -> None:
    """The server of the settings is begun with the first message."""
    place.sets = tuple(settings(notes))
    async with conversation(place) as talk:
        await talk.say("Say it.")
        await talk.ending()
        assert [one.status for one in talk.facts(e.ToolFinished)] == [CallStatus.OK]


async def by_mcp_test(place: Place, notes: Path) -> None:
    """The person tries it, and is in the folder of the project."""
    place.sets = tuple(settings(notes))
    before = Path.cwd()
    os.chdir(place.workspace)
    try:
        async with conversation(place, driven=False) as talk:
            lines, well = await look_at_server(talk.app, "bare")
    finally:
        os.chdir(before)
    assert well, lines


async def by_an_editor(place: Place, notes: Path) -> None:
    """An editor names it for its session, and the person says yes."""
    pairs = [{"name": name, "value": value} for name, value in VARIABLES.items()]
    named = {"name": "bare", "command": BY_NAME[0], "args": [*BY_NAME[1:], str(notes)], "env": pairs}
    yes = {"session/request_permission": lambda _: {"outcome": {"outcome": "selected", "optionId": "conversation"}}}
    async with Editor(place, yes) as editor:
        await editor.hello()
        made = await editor.ask("session/new", cwd=str(place.workspace), mcpServers=[named])
        await editor.until(lambda editor: editor.asked)
        assert await editor.prompt(str(made["sessionId"]), "Say it.") == "end_turn"
        assert "Connected: 11 tools." in str(editor.updates)


@pytest.mark.parametrize("begun", [in_a_conversation, by_mcp_test, by_an_editor])
async def test_a_server_runs_nothing_of_the_folder_whoever_begins_it(begun: Begun, tmp_path: Path) -> None:
    async with ModelServer(by_replies(REPLIES)) as server:
        place = first(server, tmp_path, sets=("mcp.patience=60.0",))
        marker = plant(place.workspace)
        (notes := tmp_path / "notes").mkdir()
        await begun(place, notes)
    assert not marker.exists()
    assert f"began in {place.home / FOLDER}" in seen(notes)


@pytest.mark.parametrize(("cwd", "begins"), [(".", "."), ("inner", "inner"), ("~", "../person")])
async def test_a_server_begins_where_the_person_said(
    cwd: str, begins: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelServer(by_replies(REPLIES)) as server:
        place = Place(tmp_path, server)
        monkeypatch.setenv("HOME", str(tmp_path / "person"))
        (place.workspace / "inner").mkdir()
        (notes := tmp_path / "notes").mkdir()
        place.sets = tuple(settings(notes, cwd=cwd))
        async with conversation(place) as talk:
            await talk.say("Say it.")
            await talk.ending()
    assert f"began in {(place.workspace / begins).resolve()}" in seen(notes)


async def test_of_a_folder_elsewhere_a_server_here_is_told_nothing_and_none_is_taken_for_it(tmp_path: Path) -> None:
    """Some show the model all that lies in the folder that they are told of: it is not the person's home."""
    async with ModelServer(by_replies([])) as server:
        for cwd in ("", "inner"):
            place = Place(tmp_path / f"x{cwd}", server, sets=settings(tmp_path, cwd=cwd))
            async with conversation(place, driven=False) as talk:
                session = talk.app.conversations.begin(
                    door="terminal", workspace=place.workspace, sandbox="ssh:elsewhere"
                )
                servers = talk.app.conversations.servers(session, talk.app.mcp_sources)
                servers.begin()
                await servers.settled()
                news = str(servers.news())
                await servers.close()
    assert seen(tmp_path) == [
        f"began in {tmp_path / 'x' / 'home' / FOLDER}",
        *["no roots are known"],
        "notifications/initialized",
    ]
    assert (
        'mcp.servers.bare.cwd is "inner", within the folder of the conversation, which is not on this machine' in news
    )


def test_what_was_left_in_the_empty_folder_is_moved_aside_before_anybody_begins_there(tmp_path: Path) -> None:
    place = Path(empty_folder(tmp_path / "home"))
    assert stat.S_IMODE(place.stat().st_mode) == 0o500
    place.chmod(0o700)
    (place / "node_modules").mkdir()
    assert empty_folder(tmp_path / "home") == str(place)
    assert list(place.iterdir()) == []
    assert stat.S_IMODE(place.stat().st_mode) == 0o500
    assert [one.name for one in (tmp_path / "home/quarantine").glob("*/*")] == ["node_modules"]


async def test_command_lines_of_the_settings_run_nothing_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys, what listens, speaks and paints, and hooks: begun by whoever is in the folder of the project."""
    async with ModelServer(by_replies([call("write", {"path": "cup", "content": "tea"}), say("Done.")])) as server:
        place = Place(tmp_path, server)
        monkeypatch.setenv("HOME", str(tmp_path / "person"))
        marker = plant(place.workspace)
        (tmp_path / "person/guard.py").write_text("import os; print(os.getcwd())")
        guard = f"{sys.executable} -m guard"
        monkeypatch.chdir(place.workspace)
        assert await key_from_command("x", guard) == Credential("key command", str(tmp_path / "person"))
        assert await run_program((sys.executable, "-m", "guard"), b"", "listens") == f"{tmp_path / 'person'}\n".encode()
        place.sets = ("hooks.look.at=before-call", f"hooks.look.command={guard} >&2; exit 2")
        async with conversation(place) as talk:
            await talk.say("make tea")
            await talk.ending()
            [ran] = talk.facts(e.HookRan)
    assert (ran.came, ran.why) == (HookOutcome.REFUSED, str(tmp_path / "person"))
    assert not marker.exists()


@pytest.mark.parametrize(("cwd", "begins"), [(".", "workspace"), ("inner", "workspace/inner"), ("~", "person")])
async def test_a_hook_begins_where_the_person_said(
    cwd: str, begins: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelServer(by_replies([call("write", {"path": "cup", "content": "tea"}), say("Done.")])) as server:
        place = Place(tmp_path, server)
        monkeypatch.setenv("HOME", str(tmp_path / "person"))
        (place.workspace / "inner").mkdir()
        place.sets = ("hooks.look.at=before-call", "hooks.look.command=pwd >&2; exit 2", f"hooks.look.cwd={cwd}")
        async with conversation(place) as talk:
            await talk.say("make tea")
            await talk.ending()
            [ran] = talk.facts(e.HookRan)
    assert ran.why == str(tmp_path / begins)


def test_who_has_no_home_begins_at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/nonexistent")
    assert persons_home() == "/"


@pytest.mark.parametrize(("way", "path"), [(("-m", "angelia"), ""), (("-P", "-m", "angelia"), ":"), ((COMMAND,), ":")])
def test_what_is_imported_late_is_none_of_the_folder_in_which_angelia_was_begun(
    way: tuple[str, ...], path: str, tmp_path: Path
) -> None:
    """What lies there when Python begins, it may take itself; a model writes later, and much is imported late."""
    for module in ("click", "json", "msgspec", "wave"):
        (tmp_path / f"{module}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": path + VARIABLES["PYTHONPATH"]}
    words = [sys.executable, *way, "--version"]
    said = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, check=True, text=True).stdout
    assert said.startswith("angelia ")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("PYTHONPATH", ":/more", "it has an empty entry: the folder in which you are"),
        ("PATH", "/usr/bin:.:bin", "it has ., bin: the folder in which you are"),
        ("PYTHONPATH", "/more", ""),
        ("PYTHONPATH", "", ""),
    ],
)
async def test_doctor_says_which_variable_names_the_folder_in_which_one_is(
    name: str, value: str, says: str, tmp_path: Path
) -> None:
    async with ModelServer(by_replies([])) as server:
        place = Place(tmp_path, server)
        place.env = {**place.env, name: value}
        async with conversation(place, driven=False) as talk:
            found = [one async for one in look_through(talk.app, offline=True) if one.about == name]
    assert [(one.state, one.seen[: len(says)]) for one in found] == ([(CheckState.BROKEN, says)] if says else [])
