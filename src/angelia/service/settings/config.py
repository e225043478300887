"""Every setting, where its value came from, and a clear sentence for the one that is wrong."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from angelia.channels.settings import Secret
from angelia.core.errors import ConfigError
from angelia.sandboxes.undo.store import UndoSettings
from angelia.service.places.presets import SandboxSettings, lay_over
from angelia.tools.mcp.settings import McpSettings


class Caps(Struct, frozen=True, forbid_unknown_fields=True):
    """Hard caps; 0 means none. Money is US dollars, time is seconds. The day is UTC's.

    `patience` is how long an outage of the model is outlived before a turn ends: -1 for 300 s in chats, where nobody
    looks at a screen, and 8 s elsewhere. A wait longer than `longest_wait` is put off while there is a fallback.
    `cut_pause` comes before a reply that was cut is asked again, and doubles each time.
    """

    max_steps: int = 90
    max_tokens: int = 0
    max_cost: float = 0.0
    max_seconds: int = 0
    day_tokens: int = 0
    day_cost: float = 0.0
    patience: int = -1
    longest_wait: int = 120
    cut_pause: float = 0.5


class ContextSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`share` of the window may be filled; `reserve` tokens are kept for the answer; 0 `max_output` is the model's.

    `summariser` is the model that folds long conversations, empty for the same, `none` for an outline without one;
    it has `summary_seconds`. `cache_hour` keeps prompt caches for an hour instead of minutes, at a price.
    `instructions` are your own, for every conversation; with `folder_instructions` the model follows the `AGENTS.md` of
    the folder it works in, once you trust it.
    """

    share: float = 0.8
    reserve: int = 8192
    max_output: int = 0
    cache_hour: bool = False
    instructions: str = ""
    folder_instructions: bool = True
    summariser: str = ""
    summary_seconds: float = 120.0


class PolicySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`mode`: plan (read only), ask (before each change), edit (inside the workspace freely), autonomous.

    `allow_ranges` are private networks that `fetch` and commands with the network may reach, as CIDR.
    """

    mode: Literal["plan", "ask", "edit", "autonomous"] = "edit"
    allow_ranges: tuple[str, ...] = ()


class TimeoutSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds: to connect, to the first byte of a reply, and of silence between its bytes."""

    connect: float = 10.0
    first_byte: float = 600.0
    silence: float = 120.0


class FileSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`max_bytes` of one attachment, `max_sent_bytes` of a file that is sent to you.

    `outbox` is the folder into which the terminal puts files that are sent to you. `picture_metadata` says whether
    place, device and the like are taken out of pictures before they go to a model or a chat (`strip`, or `keep`); what
    is stored, and what is sent as a file, stays as it is.
    """

    max_bytes: int = 100_000_000
    max_sent_bytes: int = 2_000_000_000
    outbox: str = ""
    picture_metadata: Literal["strip", "keep"] = "strip"


class GatewaySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`listen` is the address for webhooks, health and links, such as 127.0.0.1:8787; empty listens nowhere.

    `token` is where the token for `/health` is read from; without one there is no such page. `links` is the public
    address that leads there, such as https://files.example.org: files that a chat network does not take go as links,
    good for `link_hours`, to be had by whoever has the link. Empty makes no links.
    """

    listen: str = ""
    token: Secret | None = None
    links: str = ""
    link_hours: int = 72


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole configuration. `model` and `fallback` are written `vendor:name`; an empty model means: find one.

    `describer` puts pictures into words for a model that takes none. `transcriber` writes down recordings for one that
    hears nothing: `vendor:name`, `local` (Whisper on this machine), or `command:LINE` with `{file}` in it.

    `vendors` are rows of your own, laid over those in `models/catalog/vendors.toml`; `key_command`, `key_file` and
    `key_variable` in a row say where more of its keys come from. `channels` are the chat networks of the gateway, each
    a section whose settings its channel knows.
    """

    model: str = ""
    fallback: tuple[str, ...] = ()
    describer: str = ""
    transcriber: str = ""
    effort: Literal["", "low", "medium", "high"] = ""
    limits: Caps = Caps()
    context: ContextSettings = ContextSettings()
    sandbox: SandboxSettings = SandboxSettings()
    policy: PolicySettings = PolicySettings()
    timeouts: TimeoutSettings = TimeoutSettings()
    files: FileSettings = FileSettings()
    undo: UndoSettings = UndoSettings()
    mcp: McpSettings = McpSettings()
    remedies: dict[str, dict[str, int]] = field(default_factory=dict)
    vendors: dict[str, dict[str, Any]] = field(default_factory=dict)
    channels: dict[str, dict[str, Any]] = field(default_factory=dict)
    gateway: GatewaySettings = GatewaySettings()


class Loaded(Struct, frozen=True):
    """A configuration with its home and the origin of every value that is not a default (by dotted key)."""

    home: Path
    config: Config
    origins: Mapping[str, str]


ENVIRONMENT = {
    "ANGELIA_MODEL": "model",
    "ANGELIA_SANDBOX": "sandbox.spec",
    "ANGELIA_CONFINE": "sandbox.confine",
    "ANGELIA_MODE": "policy.mode",
}
"""Environment variables that are settings."""


def home_folder(environment: Mapping[str, str] | None = None) -> Path:
    """`ANGELIA_HOME`, else `~/.angelia`."""
    env = os.environ if environment is None else environment
    return Path(env.get("ANGELIA_HOME") or "~/.angelia").expanduser().absolute()


def load(
    home: Path,
    environment: Mapping[str, str],
    sets: Sequence[str] = (),
    flags: Mapping[str, Any] | None = None,
) -> Loaded:
    """Read `config.toml` in `home`; the environment wins over it, `--set key=value` over that, flags over all.

    Raises:
        ConfigError: names the file, line and key, what stands there and what was expected.
    """
    tree: dict[str, Any] = {}
    origins: dict[str, str] = {}
    path = home / "config.toml"
    text = _read(path)
    if text:
        tree = _parse(path, text)
        origins.update({key: f"{path}, line {_line_of(text, key)}" for key in _leaves(tree)})
    for name, key in ENVIRONMENT.items():
        if environment.get(name):
            _put(tree, key, environment[name])
            origins[key] = f"environment variable {name}"
    for item in sets:
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"--set takes key=value, and got {item!r}.", then="Example: --set limits.max_steps=20")
        _put(tree, key.strip(), _value(value.strip()))
        origins[key.strip()] = f"--set {item}"
    for key, value in (flags or {}).items():
        if value is not None:
            _put(tree, key, value)
            origins[key] = f"--{key.rpartition('.')[2].replace('_', '-')}"
    if isinstance(tree.get("sandbox"), dict):
        lay_over(tree["sandbox"])
    return Loaded(home, _convert(tree, origins, path), origins)


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.", then="Mend the file, or move it away.") from error


def _parse(path: Path, text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"line (\d+)", str(error))
        line = where.group(1) if where else str(text.count("\n") + 1)
        stands = text.splitlines()[int(line) - 1].strip() if int(line) <= text.count("\n") + 1 and text else ""
        key = stands.partition("=")[0].strip() or "the end of the file"
        raise ConfigError(
            f"{path}, line {line}, at {key!r}: this is not TOML ({error}).",
            why='Expected lines such as model = "openai:gpt-5" or [limits].',
            then="Mend the line; nothing was changed.",
        ) from error


def _convert(tree: dict[str, Any], origins: Mapping[str, str], path: Path) -> Config:
    try:
        return msgspec.convert(tree, Config)
    except msgspec.ValidationError as error:
        key, problem = _key_in(str(error))
        origin = origins.get(key) or next((o for k, o in origins.items() if k.startswith(key)), str(path))
        raise ConfigError(
            f"{origin}: the setting {key!r} is wrong: {problem}.",
            then="`angelia config` lists every setting with its default.",
        ) from error


def _key_in(message: str) -> tuple[str, str]:
    """The dotted key that msgspec's message speaks of, and what it says about it."""
    problem, _, where = message.partition(" - at `$")
    key = where.rstrip("`").lstrip(".").replace("[...]", "")
    unknown = re.search(r"unknown field `(\w+)`", problem)
    if unknown:
        key = f"{key}.{unknown.group(1)}".lstrip(".")
        problem = "there is no setting of this name"
    return key, problem[:1].lower() + problem[1:]


def _put(tree: dict[str, Any], key: str, value: Any) -> None:
    *folders, last = key.split(".")
    for folder in folders:
        below = tree.setdefault(folder, {})
        if not isinstance(below, dict):
            raise ConfigError(f"The setting {key!r} does not exist: {folder!r} is a value, not a group.")
        tree = below
    tree[last] = value


def _value(text: str) -> Any:
    """A `--set` value as TOML would read it; bare words are strings."""
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _leaves(tree: Mapping[str, Any]) -> list[str]:
    return [name for name, _ in _pairs(tree)]


def _pairs(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from _pairs(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _line_of(text: str, key: str) -> int:
    """The line on which a dotted key stands, for people; 1 where it cannot be told."""
    *groups, last = key.split(".")
    group, wanted = "", ".".join(groups)
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line)
        if header:
            group = header.group(1).replace(" ", "").replace('"', "")
        elif (re.match(rf"\s*[\"']?{re.escape(last)}[\"']?\s*=", line) and group == wanted) or re.match(
            rf"\s*{re.escape(key)}\s*=", line
        ):
            return number
    return 1


def listed(loaded: Loaded) -> list[tuple[str, Any, str]]:
    """Every setting as (dotted key, value, origin), defaults included; what could be a secret is left out."""
    from angelia.service.settings.secret_refs import shown_server

    tree = msgspec.to_builtins(loaded.config)
    servers = tree["mcp"]["servers"]
    servers.update({name: shown_server(server) for name, server in servers.items()})
    return [(key, value, loaded.origins.get(key, "default")) for key, value in _pairs(tree)]
