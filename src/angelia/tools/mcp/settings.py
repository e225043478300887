"""What a person may choose about servers of the Model Context Protocol."""

from typing import Literal

from msgspec import Struct, field

from angelia.core.amounts import Amount, PositiveAmount


class ServerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """One server: a `command` that is started, or a `url` that is reached by `transport`.

    Values of `env` and `headers` may hold `${NAME}` (an environment variable), `${file:PATH}` (the first line of a
    file that only you can read) and `${command:LINE}` (the first line that a command prints); these are secrets.
    `where` is whose program it is: one of this machine, outside of every confinement, or one in the conversation's
    sandbox, with what commands there see and no network, unless its `reach` is the network. `cwd` is where it begins,
    from the root or within the conversation's folder (`.` is that itself); left out, one of the sandbox begins there,
    and one of this machine in an empty folder. `allow` lets its tools be used unasked. A call that is silent for
    `seconds` is given up.
    """

    command: tuple[str, ...] = ()
    url: str = ""
    transport: Literal["http", "sse"] = "http"
    env: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    cwd: str = ""
    where: Literal["machine", "sandbox"] = "machine"
    reach: Literal["confined", "network"] = "confined"
    allow: bool = False
    seconds: PositiveAmount = 300.0


class McpSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Servers that bring tools, by name. A turn waits at most `patience` seconds for those that still connect."""

    patience: Amount = 10.0
    servers: dict[str, ServerSettings] = field(default_factory=dict)
