"""Editors are told how to start Angelia: printed, or written without harming what stands there."""

import json
from pathlib import Path

import pytest

from angelia.core.errors import BadInput
from angelia.faces.acp.setup import set_up

FILES = {
    "zed": ".config/zed/settings.json",
    "jetbrains": ".jetbrains/acp.json",
    "neovim": ".config/nvim/lua/angelia_acp.lua",
}


@pytest.mark.parametrize("editor", FILES)
def test_the_configuration_is_printed_and_nothing_is_written(editor: str, tmp_path: Path) -> None:
    said = set_up(editor, tmp_path, write=False)
    assert FILES[editor] in said
    assert "angelia" in said
    assert '"acp"' in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("editor", ["zed", "jetbrains"])
def test_written_it_stands_beside_what_was_there_and_twice_is_once(editor: str, tmp_path: Path) -> None:
    path = tmp_path / FILES[editor]
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"theme": "Ayu", "agent_servers": {"Other": {"command": "x"}}}))
    for _ in range(2):
        assert str(path) in set_up(editor, tmp_path, write=True)
    tree = json.loads(path.read_text())
    assert (tree["theme"], tree["agent_servers"]["Other"]) == ("Ayu", {"command": "x"})
    ours = tree["agent_servers"]["Angelia"]
    assert (Path(ours["command"]).is_absolute(), ours["args"]) == (True, ["acp"])


@pytest.mark.parametrize("old", ["// my settings\n{}", "[]", '{"agent_servers": 3}', "{"])
def test_what_cannot_be_rewritten_without_harm_is_left_alone(old: str, tmp_path: Path) -> None:
    path = tmp_path / FILES["zed"]
    path.parent.mkdir(parents=True)
    path.write_text(old)
    with pytest.raises(BadInput, match="Nothing was changed"):
        set_up("zed", tmp_path, write=True)
    assert path.read_text() == old


def test_neovim_gets_a_file_of_its_own(tmp_path: Path) -> None:
    set_up("neovim", tmp_path, write=True)
    lua = (tmp_path / FILES["neovim"]).read_text()
    assert 'type = "acp"' in lua
    assert "{{" not in lua
