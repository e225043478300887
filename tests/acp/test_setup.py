"""Editors are told how to start Angelia: printed, or written without harming what stands there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from angelia.core.errors import BadInput
from angelia.faces.acp.jsonc import plain
from angelia.faces.acp.setup import set_up
from tests.promise.lives import PYTHON

FILES = {
    "zed": ".config/zed/settings.json",
    "jetbrains": ".jetbrains/acp.json",
    "neovim": ".config/nvim/lua/angelia_acp.lua",
}
FRESH = """\
// Zed settings
//
// For information on how to configure Zed, see the Zed
// documentation: https://zed.dev/docs/configuring-zed
{
  "agent": {
    "dock": "right",
  },
  "ui_font_size": 16,
  "theme": {
    "mode": "system",
    "dark": "One Dark",
  },
}
"""
"""As Zed itself begins its file: assets/settings/initial_user_settings.json of zed-industries/zed, shortened."""


def file_of(editor: str, home: Path, text: str = "") -> Path:
    """The editor's file, with a text in it if one is given."""
    path = home / FILES[editor]
    path.parent.mkdir(parents=True, exist_ok=True)
    if text:
        path.write_text(text)
    return path


@pytest.mark.parametrize("editor", FILES)
def test_the_configuration_is_printed_and_nothing_is_written(editor: str, tmp_path: Path) -> None:
    said = set_up(editor, tmp_path, {}, write=False)
    assert FILES[editor] in said
    assert "angelia" in said
    assert '"acp"' in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("editor", ["zed", "jetbrains"])
def test_written_it_stands_beside_what_was_there_and_twice_is_once(editor: str, tmp_path: Path) -> None:
    before = json.dumps({"theme": "Ayu", "agent_servers": {"Other": {"command": "x"}}})
    path = file_of(editor, tmp_path, before)
    path.chmod(0o600)
    for _ in range(2):
        assert str(path) in set_up(editor, tmp_path, {}, write=True)
    tree = json.loads(path.read_text())
    assert (tree["theme"], tree["agent_servers"]["Other"]) == ("Ayu", {"command": "x"})
    ours = tree["agent_servers"]["Angelia"]
    assert (Path(ours["command"]).is_absolute(), ours["args"]) == (True, ["acp"])
    kept = path.with_name(f"{path.name}.before-angelia")
    assert (kept.read_text(), path.stat().st_mode & 0o777) == (before, 0o600)
    assert sorted(path.parent.iterdir()) == sorted([path, kept])


def test_by_the_command_zeds_own_first_file_keeps_its_comments_and_commas(tmp_path: Path) -> None:
    path = file_of("zed", tmp_path, FRESH)
    env = {**os.environ, "HOME": str(tmp_path)} | {"XDG_CONFIG_HOME": "", "ANGELIA_HOME": str(tmp_path / "home")}
    words = [*PYTHON, "acp", "--setup", "zed", "--write"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"written to {path}" in done.stdout
    text = path.read_text()
    opening = FRESH.index("{\n") + 1
    assert text.startswith(FRESH[:opening])
    assert text.endswith(FRESH[opening:])
    tree = json.loads(plain(text))
    assert tree["agent_servers"]["Angelia"]["args"] == ["acp"]
    assert tree["theme"] == {"mode": "system", "dark": "One Dark"}


def test_what_a_person_added_to_our_entry_stays_and_the_command_is_the_one_that_runs(tmp_path: Path) -> None:
    own = '{"command": "/old/angelia", "args": ["acp", "--model", "m"], "env": {"A": "b"}}'
    path = file_of("jetbrains", tmp_path, f'{{"agent_servers": {{"Angelia": {own}}}}}')
    set_up("jetbrains", tmp_path, {}, write=True)
    ours = json.loads(path.read_text())["agent_servers"]["Angelia"]
    assert (ours["args"], ours["env"]) == (["acp", "--model", "m"], {"A": "b"})
    assert ours["command"] != "/old/angelia"


@pytest.mark.parametrize(
    ("old", "why"),
    [
        ("[]", "not an object"),
        ('{"agent_servers": 3}', "`agent_servers` is not an object"),
        ("// mine\n{\n", "Line 3 is not as JSON has it"),
        ('{"a": 1,, }', "Line 1 is not as JSON has it"),
    ],
)
def test_what_cannot_be_understood_is_left_alone_and_it_is_said_what_to_put_where(
    old: str, why: str, tmp_path: Path
) -> None:
    path = file_of("zed", tmp_path, old)
    with pytest.raises(BadInput, match=why) as refused:
        set_up("zed", tmp_path, {}, write=True)
    assert str(path) in refused.value.what
    assert '"agent_servers": {\n    "Angelia"' in refused.value.then
    assert path.read_text() == old
    assert list(path.parent.iterdir()) == [path]


def test_a_link_stays_one_and_a_folder_in_its_place_is_named(tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.json"
    kept.write_text("{}")
    file_of("zed", tmp_path).symlink_to(kept)
    set_up("zed", tmp_path, {}, write=True)
    assert (tmp_path / FILES["zed"]).is_symlink()
    assert "Angelia" in kept.read_text()
    file_of("jetbrains", tmp_path).mkdir()
    with pytest.raises(BadInput, match="Is a directory"):
        set_up("jetbrains", tmp_path, {}, write=True)


@pytest.mark.parametrize(
    ("editor", "platform", "named", "where"),
    [
        ("zed", "linux", "/else/where", "/else/where/zed/settings.json"),
        ("zed", "linux", "rela/tive", "/home/ann/.config/zed/settings.json"),
        ("zed", "darwin", "/else/where", "/home/ann/.config/zed/settings.json"),
        ("neovim", "darwin", "/else/where", "/else/where/nvim/lua/angelia_acp.lua"),
        ("jetbrains", "linux", "/else/where", "/home/ann/.jetbrains/acp.json"),
    ],
)
def test_where_it_goes_follows_the_editor(
    monkeypatch: pytest.MonkeyPatch, editor: str, platform: str, named: str, where: str
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    said = set_up(editor, Path("/home/ann"), {"XDG_CONFIG_HOME": named}, write=False)
    assert f" {where}:\n" in said


def test_neovim_gets_a_file_of_its_own_in_which_pictures_are_offered(tmp_path: Path) -> None:
    path = file_of("neovim", tmp_path, "-- mine\n")
    set_up("neovim", tmp_path, {}, write=True)
    lua = path.read_text()
    assert 'type = "acp"' in lua
    assert "opts = { vision = true }" in lua
    assert "{{" not in lua
    assert path.with_name("angelia_acp.lua.before-angelia").read_text() == "-- mine\n"


def test_the_editor_starts_the_copy_that_wrote_it_in_the_home_that_was_set_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "bin/angelia"
    other.parent.mkdir()
    other.touch(0o755)
    monkeypatch.setenv("PATH", f"{other.parent}{os.pathsep}{os.environ['PATH']}")
    set_up("zed", tmp_path, {"ANGELIA_HOME": "/srv/a home"}, write=True)
    ours = json.loads((tmp_path / FILES["zed"]).read_text())["agent_servers"]["Angelia"]
    assert ours["env"] == {"ANGELIA_HOME": "/srv/a home"}
    assert ours["command"] == str(Path(sys.prefix, "bin/angelia"))
    lua = set_up("neovim", tmp_path, {"ANGELIA_HOME": "/srv/a home"}, write=False)
    assert f'default = {{ "env", "ANGELIA_HOME=/srv/a home", "{sys.prefix}/bin/angelia", "acp" }}' in lua
