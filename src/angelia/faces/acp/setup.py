"""Configurations of editors that can use Angelia: printed, or put where the editor reads them."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from angelia.core.errors import BadInput

NAME = "Angelia"


class Editor(Struct, frozen=True):
    """Where an editor keeps its configuration beneath the home, what stands there, and what one does then."""

    title: str
    path: str
    entry: Callable[[str], dict[str, Any]]
    then: str


def _plain(command: str) -> dict[str, Any]:
    return {"command": command, "args": ["acp"], "env": {}}


def _custom(command: str) -> dict[str, Any]:
    return {"type": "custom", **_plain(command)}


EDITORS = {
    "zed": Editor(
        "Zed",
        ".config/zed/settings.json",
        _custom,
        "Then choose Angelia in the agent panel's menu for a new thread.",
    ),
    "jetbrains": Editor(
        "JetBrains IDEs",
        ".jetbrains/acp.json",
        _plain,
        "Then choose Angelia among the agents of the AI chat.",
    ),
}
"""Zed: "External Agents"; JetBrains: "Agent Client Protocol" of the AI Assistant's documentation."""

_LUA = """\
-- Angelia as an agent of CodeCompanion. Use it in your configuration:
--   require("codecompanion").setup({{
--     adapters = {{ acp = {{ angelia = require("angelia_acp") }} }},
--     interactions = {{ chat = {{ adapter = "angelia" }} }},
--   }})
return function()
  local helpers = require("codecompanion.adapters.acp.helpers")
  return {{
    name = "angelia",
    formatted_name = "Angelia",
    type = "acp",
    roles = {{ llm = "assistant", user = "user" }},
    commands = {{ default = {{ {command}, "acp" }} }},
    defaults = {{ mcpServers = {{}}, timeout = 20000 }},
    parameters = {{
      protocolVersion = 1,
      clientCapabilities = {{ fs = {{ readTextFile = true, writeTextFile = true }} }},
      clientInfo = {{ name = "CodeCompanion.nvim", version = "1.0.0" }},
    }},
    handlers = {{
      setup = function(self)
        return true
      end,
      auth = function(self)
        return true
      end,
      form_messages = function(self, messages, capabilities)
        return helpers.form_messages(self, messages, capabilities)
      end,
      on_exit = function(self, code) end,
    }},
  }}
end
"""
_LUA_PATH = ".config/nvim/lua/angelia_acp.lua"


def set_up(editor: str, home: Path, *, write: bool) -> str:
    """The configuration of an editor, with where it goes; with `write` it is put there.

    Raises:
        BadInput: the file holds something that cannot be changed without harm; nothing was changed.
    """
    command = own_command()
    if editor == "neovim":
        return _neovim(command, home, write=write)
    known = EDITORS[editor]
    path, entry = home / known.path, known.entry(command)
    if not write:
        shown = json.dumps({"agent_servers": {NAME: entry}}, indent=2)
        return f"{known.title}: put this into {path}:\n\n{shown}\n\n{known.then}"
    _merge(path, entry)
    return f"{known.title}: written to {path}. {known.then}"


def own_command() -> str:
    """The absolute path of the command that runs now: editors do not know the terminal's search path."""
    found = shutil.which("angelia") or str(Path(sys.executable).with_name("angelia"))
    return str(Path(found).absolute())


def _merge(path: Path, entry: dict[str, Any]) -> None:
    """Add or replace our entry, and leave everything else as it is; the old file is kept beside the new one."""
    old = path.read_text("utf-8") if path.exists() else ""
    try:
        tree = json.loads(old) if old.strip() else {}
        servers = tree.setdefault("agent_servers", {})
        servers[NAME] = entry
    except (json.JSONDecodeError, AttributeError, TypeError):
        raise BadInput(
            f"{path} holds comments, or is not an object, so it is not rewritten.",
            then="Without --write the lines are printed; put them there yourself. Nothing was changed.",
        ) from None
    path.parent.mkdir(parents=True, exist_ok=True)
    if old:
        path.with_name(f"{path.name}.before-angelia").write_text(old, "utf-8")
    unfinished = path.with_name(f".{path.name}.part")
    unfinished.write_text(json.dumps(tree, indent=2, ensure_ascii=False) + "\n", "utf-8")
    unfinished.replace(path)


def _neovim(command: str, home: Path, *, write: bool) -> str:
    lua, path = _LUA.format(command=json.dumps(command)), home / _LUA_PATH
    if not write:
        return f"Neovim with CodeCompanion: put this into {path}:\n\n{lua}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(lua, "utf-8")
    return f"Neovim with CodeCompanion: written to {path}. Its first lines say how to use it."
