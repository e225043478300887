"""Settings of editors and other agents, in JSON or TOML: which name programs that begin once a folder is opened.

Language servers, interpreters, tasks (`runOn`), servers of tools and hooks of sessions begin unasked in a folder that
is trusted (VS Code's Workspace Trust, Zed's worktree trust, Claude Code's `settings.json`).
"""

import re
from collections.abc import Iterator

_NAMES = frozenset(
    {"settings.json", "settings.local.json", "mcp.json", "hooks.json", "config.json", "config.toml"}
    | {"opencode.json", "opencode.jsonc"}
)
"""In a folder of an editor's or agent's own, or in one of its folders."""
_ANYWHERE = frozenset({".mcp.json", "opencode.json", "opencode.jsonc"})
_ENDINGS = (".code-workspace", ".sublime-project")
_STARTS = (
    r"command|cmd|args|arguments|hooks?|.*hook|mcp_?servers?|servers|context_servers|.*path|binary|program|executable"
    r"|.*interpreter|.*shell.*|profiles.*|env|environment|.*helper|statusline|plugins?|tsdk|.*allowautomatictasks"
    r"|enable\w*mcp\w*"
)
_COMMENT = r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*[\s\S]*?\*/'
_TRAILING = r'"(?:\\.|[^"\\])*"|,(?=\s*[}\]])'


def holds_settings(own_folder: bool, name: str) -> bool:
    """Whether a file of this name, in lower case, holds such settings; `own_folder` is whether it lies in one of an
    editor or agent.
    """
    return name in _ANYWHERE or name.endswith(_ENDINGS) or (own_folder and name in _NAMES)


def settings_risks(text: str, *, toml: bool) -> frozenset[str] | None:
    r"""Entries that name programs, each with its value; None for what cannot be read, though an editor may try.

    >>> sorted(settings_risks('{"a": 1, "x": {"command": ["sh", "-c"]}, // said\n}', toml=False) or ())
    ['x.command = ["sh", "-c"]']
    """
    import tomllib

    if not text.strip():
        return frozenset()
    try:
        return frozenset(_starting("", tomllib.loads(text) if toml else _jsonc(text)))
    except (ValueError, RecursionError):
        return None


def _jsonc(text: str) -> object:
    """JSON with comments and commas at ends, as editors read it; an object is its pairs, since names may repeat."""
    import json

    bare = re.sub(_COMMENT, lambda found: found[0] if found[0][0] == '"' else " ", text.removeprefix("\ufeff"))
    whole = re.sub(_TRAILING, lambda found: found[0] if found[0][0] == '"' else "", bare)
    read: object = json.loads(whole, object_pairs_hook=_Pairs)
    return read


class _Pairs(list[tuple[str, object]]):
    """An object's names and values."""


def _starting(path: str, value: object) -> Iterator[str]:
    import json

    pairs = value if isinstance(value, _Pairs) else value.items() if isinstance(value, dict) else None
    if pairs is not None:
        for name, inner in pairs:
            where = f"{path}.{name}" if path else name
            if re.fullmatch(_STARTS, name.rpartition(".")[2].casefold()):
                yield f"{where} = {json.dumps(inner, default=str)}"
            else:
                yield from _starting(where, inner)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _starting(f"{path}[{at}]", inner)
