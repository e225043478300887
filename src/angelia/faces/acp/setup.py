"""Configurations of editors that can use Angelia: printed, or put where the editor reads them."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from angelia.core.errors import BadInput
from angelia.faces.acp.jsonc import put_in
from angelia.installation import PACKAGE, installation
from angelia.service.settings.config import home_folder

NAME = "Angelia"


def _settings(home: Path, environ: Mapping[str, str]) -> Path:
    """The person's folder of settings: a relative name in the variable counts for nothing (XDG Base Directory)."""
    named = Path(environ.get("XDG_CONFIG_HOME", ""))
    return named if named.is_absolute() else home / ".config"


def _of_zed(home: Path, environ: Mapping[str, str]) -> Path:
    return _settings(home, {} if sys.platform == "darwin" else environ) / "zed" / "settings.json"


def _of_jetbrains(home: Path, _: Mapping[str, str]) -> Path:
    return home / ".jetbrains" / "acp.json"


def _of_neovim(home: Path, environ: Mapping[str, str]) -> Path:
    return _settings(home, environ) / "nvim" / "lua" / "angelia_acp.lua"


class Editor(Struct, frozen=True):
    """Where an editor keeps its configuration, what stands there, and what one does then."""

    title: str
    path: Callable[[Path, Mapping[str, str]], Path]
    entry: Callable[[str, Mapping[str, str]], dict[str, Any]]
    then: str


def _plain(command: str, env: Mapping[str, str]) -> dict[str, Any]:
    return {"command": command, "args": ["acp"], "env": env}


def _custom(command: str, env: Mapping[str, str]) -> dict[str, Any]:
    return {"type": "custom", **_plain(command, env)}


EDITORS = {
    "zed": Editor("Zed", _of_zed, _custom, "Then choose Angelia in the agent panel's menu for a new thread."),
    "jetbrains": Editor(
        "JetBrains IDEs", _of_jetbrains, _plain, "Then choose Angelia among the agents of the AI chat."
    ),
}
"""Zed: "External Agents", and "Configuring Zed" for the variable, which counts on Linux alone; JetBrains: "Agent Client
Protocol" of the AI Assistant's documentation."""

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
    opts = {{ vision = true }}, -- without it, /image is not offered
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


def set_up(editor: str, home: Path, environ: Mapping[str, str], *, write: bool) -> str:
    """The configuration of an editor, with where it goes; with `write` it is put there.

    Raises:
        BadInput: the file holds something that cannot be changed without harm, or cannot be written; nothing was
            changed, and `then` says what to put where.
    """
    command, env = own_command(), _own_home(environ)
    if editor == "neovim":
        return _neovim(command, env, _of_neovim(home, environ), write=write)
    known = EDITORS[editor]
    path, wanted = known.path(home, environ), {"agent_servers": {NAME: known.entry(command, env)}}
    shown = json.dumps(wanted, indent=2)
    if not write:
        return f"{known.title}: put this into {path}:\n\n{shown}\n\n{known.then}"
    try:
        _merge(path, wanted)
    except BadInput as odd:
        raise BadInput(
            f"{path} is left as it is: {odd.what}", then=f"Put this into it yourself:\n\n{shown}\n\n{known.then}"
        ) from None
    return f"{known.title}: written to {path}. {known.then}"


def own_command() -> str:
    """The absolute path of the command that runs now, and after an update: editors do not know the terminal's search
    path, on which another copy may come first.
    """
    own = installation().python.with_name(PACKAGE)
    found = None if own.exists() else shutil.which(PACKAGE)
    return str(Path(found or own).absolute())


def _own_home(environ: Mapping[str, str]) -> dict[str, str]:
    """The home that was set here: an editor that a desktop starts does not know the variables of a shell."""
    return {"ANGELIA_HOME": str(home_folder(environ))} if environ.get("ANGELIA_HOME") else {}


def _merge(path: Path, wanted: Mapping[str, Any]) -> None:
    """Put our entry in, and leave everything else as it is; the old file is kept beside the new one."""
    try:
        old = path.read_bytes() if path.exists() else b""
        new = put_in(old.decode("utf-8"), wanted).encode()
        if new != old:
            _replace(path, new, old)
    except UnicodeDecodeError:
        raise BadInput("It is not in UTF-8.") from None
    except OSError as error:
        raise BadInput(f"{error.strerror or error}.") from None


def _replace(path: Path, new: bytes, old: bytes) -> None:
    """The whole new text or the whole old one, whatever happens; a link stays one, and its target is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if old:
        path.with_name(f"{path.name}.before-angelia").write_bytes(old)
    target = path.resolve()
    unfinished = target.with_name(f".{target.name}.part")
    try:
        with unfinished.open("wb") as file:
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
        if old:
            shutil.copymode(target, unfinished)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def _neovim(command: str, env: Mapping[str, str], path: Path, *, write: bool) -> str:
    words = ["env", *(f"{name}={value}" for name, value in env.items()), command] if env else [command]
    lua = _LUA.format(command=", ".join(json.dumps(word, ensure_ascii=False) for word in words))
    if not write:
        return f"Neovim with CodeCompanion: put this into {path}:\n\n{lua}"
    try:
        old = path.read_bytes() if path.exists() else b""
        if lua.encode() != old:
            _replace(path, lua.encode(), old)
    except OSError as error:
        raise BadInput(
            f"{path} is left as it is: {error.strerror or error}.", then=f"Put this there:\n\n{lua}"
        ) from None
    return f"Neovim with CodeCompanion: written to {path}. Its first lines say how to use it."
