"""What runs in our own process is nothing that a model wrote: it works in no folder of the path, and only reads it."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from angelia import Agent
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.local.confinement import Share
from angelia.sandboxes.own_code import own_code
from angelia.sandboxes.port import AccessRefused, Command
from angelia.sandboxes.shared.bound_folders import BoundFolders
from angelia.sandboxes.workspace import unfit
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from angelia.testing.sandboxes.acts import place as put
from angelia.testing.sandboxes.acts import said
from tests.promise.lives import ROOT

from .conftest import Open, Person

pytestmark = pytest.mark.anyio

PROGRAM = """
import asyncio, sys
from angelia import Agent

async def main():
    async with Agent(model="openai-chat:m", home=sys.argv[1], workspace=sys.argv[2]) as agent:
        print(await agent.ask("Go on."))

asyncio.run(main())
"""
PLANTS = [
    call("write", {"path": "csv.py", "content": "open('ran', 'w').close()"}),
    call("shell", {"command": "cp csv.py wcwidth.py; cp csv.py colorsys.py; echo planted"}),
    *(call("edit", {"path": "csv.py", "old": "ran", "new": "ran"}), call("find", {"pattern": "*.py"}), say("Done.")),
]


async def _run(folder: Path, url: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Python with these words, in the folder of a program."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder.parent), "PYTHONPATH": str(ROOT / "src")}
    return await asyncio.to_thread(
        subprocess.run, [sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False,
        env={**env, "OPENAI_API_KEY": "x", "OPENAI_BASE_URL": url},
    )  # fmt: skip


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "bot.py").write_text(PROGRAM)
    return tmp_path / "work"


@pytest.mark.real("bwrap")
async def test_a_program_whose_folder_is_its_agents_is_refused_unless_it_imports_nothing_from_there(work: Path) -> None:
    """The folder of a script is the first on its path, but for `python -P`; a folder beneath is as good as any."""
    (work / "garden").mkdir()
    home = str(work.parent / "home")
    async with ModelServer([*PLANTS, *PLANTS]) as server:
        refused = await _run(work, server.base_url, "bot.py", home, ".")
        assert "Python imports from this folder" in refused.stderr
        assert server.requests == []
        for words in (("bot.py", home, "garden"), ("-P", "bot.py", home, ".")):
            ran = await _run(work, server.base_url, *words)
            assert ran.stdout == "Done.\n", ran.stderr
    assert (work / "csv.py").exists()
    assert (work / "colorsys.py").exists()
    assert not (work / "ran").exists()


async def test_an_agent_without_a_workspace_has_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever its program was started."""
    async with ModelServer([call("write", {"path": "a.txt", "content": "x"}), say("Done.")]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        async with Agent(model="openai-chat:m", home=tmp_path / "home") as agent:
            await agent.ask("Go on.")
    assert (tmp_path / "home-work" / "python" / "a.txt").read_text() == "x"
    assert (tmp_path / "home-work" / "python").stat().st_mode & 0o077 == 0


async def test_a_conversation_is_not_gone_on_with_where_its_folder_is_imported_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work := tmp_path / "work").mkdir()
    async with ModelServer([say("Hello."), say("Never.")]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        async with Agent(model="openai-chat:m", home=tmp_path / "home", workspace=work) as agent:
            begun = (await agent.ask("Hello.")).conversation
            monkeypatch.syspath_prepend(str(work))
            with pytest.raises(AccessRefused, match="Python imports from this folder"):
                await agent.ask("Go on.", conversation=begun)
        assert len(server.requests) == 1


@pytest.mark.parametrize("entry", ["", ".", "../work", "not/yet/../..", "there/../missing"])
def test_a_folder_of_the_path_is_no_workspace_however_it_is_named(
    entry: str, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is not there yet would be made by whoever works where it would lie."""
    (work / "there").mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr(sys, "path", [entry, *sys.path])
    assert unfit(work, work.parent / "home").startswith("Python imports from this folder")
    assert unfit(work / "there", work.parent / "home") == ""


def test_what_of_the_path_lies_beneath_is_found_where_it_lies(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("lib/inner", "other"):
        (work / folder).mkdir(parents=True)
    (work.parent / "outside").mkdir()
    (work / "link").symlink_to("other")
    (work / "lib/inside").symlink_to("inner")
    (work / "away").symlink_to(work.parent / "outside")
    clean = [*sys.path]
    for entries, found in {
        ("lib", "lib/inner"): ("lib",),
        ("lib/inner/missing",): ("lib/inner",),
        ("lib", "lib/inside"): ("lib",),
        ("other",): ("other",),
        ("link",): ("",),
        ("away",): ("",),
        ("lib", "away/missing"): ("",),
    }.items():
        monkeypatch.setattr(sys, "path", [*(str(work / entry) for entry in entries), *clean])
        assert own_code(work) == tuple(work / name for name in found), entries


@pytest.mark.real("bwrap")
async def test_what_angelia_runs_from_is_only_read_in_the_folder(
    guarded: Open, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = person.work / ".venv/lib/python3/site-packages"
    packages.mkdir(parents=True)
    (packages / "late.py").write_text("as it was")
    monkeypatch.setattr(sys, "prefix", str(person.work / ".venv"))
    sandbox = guarded()
    inside = ".venv/lib/python3/site-packages"
    for attack in (
        f"echo evil > {inside}/late.py",
        f"echo evil > {inside}/new.py",
        f"rm {inside}/late.py",
        "mv .venv other && mkdir -p .venv",
        "rm -rf .venv",
        f"ln -sf /tmp/evil {inside}/late.py",
        f"chmod 777 {inside}/late.py",
    ):
        _, end = await said(sandbox, Command(shell=f"({attack}) && true"))
        assert end.status != 0, attack
    with pytest.raises(AccessRefused, match="Angelia runs from it"):
        await put(sandbox, f"{inside}/late.py", b"evil")
    assert [(one.name, one.read_text()) for one in packages.iterdir()] == [("late.py", "as it was")]
    assert "Angelia runs from .venv, which is read-only" in str((await sandbox.describe()).notes)
    _, end = await said(sandbox, Command(shell="echo fine > notes && mkdir -p other/lib && echo fine > other/lib/x"))
    assert end.status == 0


def test_what_angelia_runs_from_is_bound_into_containers_to_be_read(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    (person.work / ".venv").mkdir()
    monkeypatch.setattr(sys, "prefix", str(person.work / ".venv"))
    folders = BoundFolders(SandboxContext("c", str(person.work), person.own, person.own / "run"), "docker")
    assert Share(person.work / ".venv") in folders.guarded()
