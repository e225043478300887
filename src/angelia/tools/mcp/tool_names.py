"""Names under which tools of servers are offered: unique, and legal with every provider."""

import hashlib
import re
from collections.abc import Collection

MOST = 64
"""Characters that every provider takes (OpenAI, "Function calling"; Anthropic, "Define tools")."""

_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]+")


def tool_name(server: str, tool: str, taken: Collection[str] = ()) -> str:
    """`server__tool`; what had to be changed to make it legal, short or unique leaves a mark of the two names.

    >>> tool_name("files", "read"), tool_name("my files", "read")
    ('files__read', 'my_files__read')
    >>> tool_name("files", "read", {"files__read"})
    'files__read_93d677'
    """
    name = f"{_legal(server) or 'server'}__{_legal(tool) or 'tool'}"
    if len(name) <= MOST and name not in taken:
        return name
    mark = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "replace")).hexdigest()[:6]
    return f"{name[: MOST - 7]}_{mark}"


def _legal(name: str) -> str:
    return _ILLEGAL.sub("_", name).strip("_")
