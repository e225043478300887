"""Every setting, where its value came from, and a clear sentence for the one that is wrong."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from angelia.channels.settings import Secret
from angelia.core.amounts import Amount, Count, Port, PositiveAmount, PositiveCount
from angelia.core.errors import BadInput, ConfigError
from angelia.core.principal import Principal
from angelia.models.pictures.settings import PainterSettings
from angelia.sandboxes.undo.store import UndoSettings
from angelia.service.delegation.settings import ChildPreset, DelegationSettings
from angelia.service.places.presets import SandboxSettings, lay_over
from angelia.service.settings.toml_text import has_wrong_number, origins_in, pairs, parse, put, read_text, value_in
from angelia.tools.mcp.settings import McpSettings
from angelia.tools.web.search_settings import SearchSettings

if TYPE_CHECKING:
    from angelia.service.settings.faults import SettingFault


class Caps(Struct, frozen=True, forbid_unknown_fields=True):
    """Hard caps; 0 means none. Money is US dollars, time is seconds. The day is UTC's.

    `patience` is how long an outage of the model is outlived before a turn ends: -1 for 300 s in chats, where nobody
    looks at a screen, and 8 s elsewhere. A wait longer than `longest_wait` is put off while there is a fallback.
    `cut_pause` comes before a reply that was cut is asked again, and doubles each time. A request during which
    Angelia's process ended `max_crashes` times in a row is not begun again, for it may be what ends it.
    """

    max_steps: Count = 90
    max_tokens: Count = 0
    max_cost: Amount = 0.0
    max_seconds: Count = 0
    day_tokens: Count = 0
    day_cost: Amount = 0.0
    patience: Annotated[int, Meta(ge=-1)] = -1
    longest_wait: Count = 120
    cut_pause: Amount = 0.5
    max_crashes: Count = 3


class ContextSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`share` of the window may be filled; `reserve` tokens are kept for the answer; 0 `max_output` is the model's.

    `summariser` is the model that folds long conversations, empty for the same, `none` for an outline without one;
    it has `summary_seconds`. `cache_hour` keeps prompt caches for an hour instead of minutes, at a price.
    A request carries at most `old_media` bytes of pictures and files that are older than the newest; 0 for any number.
    `instructions` are your own, for every conversation; with `folder_instructions` the model follows the `AGENTS.md` of
    the folder it works in, once you trust it. Without `notes` conversations neither read nor write any.
    `learner` is the model that proposes notes after corrections and folds, empty for none; it looks once a conversation
    has rested for `learn_after` seconds.
    """

    share: Annotated[float, Meta(ge=0.05, le=1)] = 0.8
    reserve: Count = 8192
    old_media: Count = 4_000_000
    max_output: Count = 0
    cache_hour: bool = False
    instructions: str = ""
    folder_instructions: bool = True
    notes: bool = True
    learner: str = ""
    learn_after: Amount = 5.0
    summariser: str = ""
    summary_seconds: PositiveAmount = 120.0


class PolicySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`mode`: plan (read only), ask (before each change), edit (inside the workspace freely), autonomous.

    `allow_ranges` are private networks that `fetch` and commands with the network may reach, as CIDR.
    """

    mode: Literal["plan", "ask", "edit", "autonomous"] = "edit"
    allow_ranges: tuple[str, ...] = ()


class PersonTerms(Struct, frozen=True, forbid_unknown_fields=True):
    """What somebody, or a group of people, may cost in US dollars: `max_cost` one turn, `day_cost` all of a day (UTC's)
    together, 0 for no cap beside `limits`. `model` and `sandbox` are the presets that they may choose from in place of
    the channel's, the first one is the default; empty for those of the channel.
    """

    max_cost: Amount = 0.0
    day_cost: Amount = 0.0
    model: tuple[str, ...] = ()
    sandbox: tuple[str, ...] = ()


class PersonSettings(PersonTerms, frozen=True, forbid_unknown_fields=True):
    """What somebody is here, whatever they were let in as: an `owner`, who approves; an `admin`, who lets others in and
    says how a group works; a `member`, for whom the owner is asked where something needs a yes; a `guest`, to whom that
    is refused. Empty: as they were let in. `group` is one of `groups`, whose terms hold beside their own.
    """

    role: Literal["", "owner", "admin", "member", "guest"] = ""
    group: str = ""


class TimeoutSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds: to connect, to the first byte of a reply, and of silence between its bytes."""

    connect: PositiveAmount = 10.0
    first_byte: PositiveAmount = 600.0
    silence: PositiveAmount = 120.0


class BrowserSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`address` is where the debugger of a browser answers that runs elsewhere, such as http://127.0.0.1:9222 or
    wss://browsers.example/?token=${BROWSER_TOKEN}; empty for one of this machine, behind a wall of ours
    where it offers one. What follows its host is not shown; ${NAME}, ${file:PATH}, ${secret:HANDLE} in it are filled in
    when it is used.
    """

    address: Annotated[str, Meta(pattern="^((https?|wss?)://[^ ]+)?$")] = ""


class FileSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`max_bytes` of one attachment, `max_sent_bytes` of a file that is sent to you. `cache_bytes` is what the home
    keeps of files that are stored elsewhere (`blobs`): those used last. `screenshot_hours` is how long pictures of
    pages are kept that nobody was sent, pinned or named; 0 keeps them as long as their conversation.

    `outbox` is the folder into which the terminal puts files that are sent to you. `picture_metadata` says whether
    place, device and the like are taken out of pictures before they go to a model or a chat (`strip`, or `keep`); what
    is stored, and what is sent as a file, stays as it is.
    """

    max_bytes: Count = 100_000_000
    max_sent_bytes: Count = 2_000_000_000
    cache_bytes: Count = 5_000_000_000
    screenshot_hours: Count = 24
    outbox: str = ""
    picture_metadata: Literal["strip", "keep"] = "strip"


class RetentionSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """For how long conversations are kept after they were used last: `days`, and by the door at which they began
    (`terminal`, `web`, a channel's name) as `doors` has it; 0 keeps them. What is over is erased once a day, as
    `angelia delete` does it, unless something waits there, is remembered because of it, or you said `angelia retention
    keep`. `warn` days before that `angelia doctor` tells how many they are.
    """

    days: Count = 0
    doors: dict[str, Count] = field(default_factory=dict)
    warn: Count = 7


class GatewaySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`listen` is the address for webhooks, health and links, such as 127.0.0.1:8787; empty listens nowhere.

    `token` is where the token for `/health` and `/metrics` is read from; without one there are no such pages. `links`
    is the public address that leads there, such as https://files.example.org: files that a chat network does not take
    go as links, good for `link_hours`, to be had by whoever has the link. Empty makes no links.

    `traces` is the address of an OpenTelemetry collector (OTLP over HTTP) that is sent traces of turns, such as
    http://127.0.0.1:4318; empty sends none. They hold nothing that was said, unless `traces_contents` is set: then what
    was said, given to tools and returned by them is sent there, without known secrets. `traces_header` is where a
    header is read from that the collector asks for, such as `authorization: Bearer …`.
    """

    listen: str = ""
    token: Secret | None = None
    links: str = ""
    link_hours: PositiveCount = 72
    traces: str = ""
    traces_contents: bool = False
    traces_header: Secret | None = None


class WebSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`listen` is where `angelia web` serves the page: an address and a port, 0 for any. With `in_gateway` the gateway
    serves it there as well.

    Beyond this machine it is served only with a password or a passkey, under the one `origin` that browsers open, such
    as https://angelia.example.org, and encrypted: by `certificate` and `certificate_key` (PEM files, looked at again
    when they change), or by the `proxies` that do it (IP addresses or networks; who asked and how is taken from no
    others).
    """

    listen: str = "127.0.0.1:8780"
    in_gateway: bool = False
    origin: str = ""
    certificate: str = ""
    certificate_key: str = ""
    proxies: tuple[str, ...] = ()


class ScheduleSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`zone` is the time zone in which times are meant, such as Europe/Berlin; empty for this machine's.

    A turn that a schedule begins in a conversation of its own makes at most `run_steps` model calls and costs at most
    `run_cost` US dollars; all turns of one schedule at most `day_cost` in a day (UTC's). 0 means none.
    With `in_terminal` an open conversation at a terminal keeps time as well, where no gateway and no clock does.
    """

    zone: str = ""
    run_steps: Count = 50
    run_cost: Amount = 1.0
    day_cost: Amount = 5.0
    in_terminal: bool = False


class SignalSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What comes to `/in/NAME` of the gateway's address, signed with what `secret` points to.

    `scheme` says how: `standard` by Standard Webhooks, `github` as GitHub signs (X-Hub-Signature-256).
    """

    secret: Secret
    scheme: Literal["standard", "github"] = "standard"


class MailboxSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """A mailbox whose mails may begin turns: a `folder` of it at an IMAP server, which is only read.

    `senders` are those whose mails count, each an address, a domain (`@example.org`) or `*` for anybody. `password`
    points to the password, or with `login = "oauth"` to an access token (XOAUTH2). `tls` says how the connection is
    encrypted: at once (`tls`), by STARTTLS, or not at all (`none`), which is taken for this machine only. A `port` of 0
    is the usual one, 993 or 143.
    """

    host: str
    user: str
    password: Secret
    senders: tuple[str, ...]
    port: Port = 0
    folder: str = "INBOX"
    tls: Literal["tls", "starttls", "none"] = "tls"
    login: Literal["password", "oauth"] = "password"


class FolderSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """A folder of this machine whose changes may begin turns: what is new or different at any depth in `path`.

    `match` says which names count (`*.pdf`); names with a dot in front never do. A file counts once it has stayed as it
    is for `settle_s` seconds.
    """

    path: str
    match: str = "*"
    settle_s: Amount = 2.0


class HookSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`command` is a command line that is run `at` an event, with JSON on its standard input.

    Before a call it may refuse (`before-call`); at the others it is told. `tools` are those whose calls it is run at,
    such as `shell` or `mcp_*`; empty for all. It has `seconds`. `cwd` is where it begins, from the root or within the
    conversation's folder (`.` is that itself), empty for your home.
    """

    at: Literal["before-call", "after-call", "message", "ending"]
    command: str
    tools: tuple[str, ...] = ()
    seconds: PositiveAmount = 10.0
    cwd: str = ""


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole configuration. `model` and `fallback` are written `vendor:name`; an empty model means: find one.

    `describer` puts pictures into words for a model that takes none. `transcriber` writes down recordings for one that
    hears nothing: `vendor:name`, `local` (Whisper on this machine), or `command:LINE` with `{file}` in it.

    `speaker` speaks: `local` or `local:VOICE` (this machine), `command:LINE`, `elevenlabs:MODEL`, or `vendor:name`;
    `voice` is whose voice, empty for the speaker's usual one. `voice_answers` says which messages of a chat are
    answered by voice (`replies`: voice messages) until somebody says `/voice` there; with `voice_words` the words go
    along.
    `language` is the one in which you speak, by its code of two letters (`de`): recordings are written down in it, and
    words that do not show their language are spoken in it. Empty: it is found out for each.

    `ranker` orders anew what a search of the past has found by its words: a model of embeddings, `vendor:name`; it is
    sent what was found. Empty for the order by words.

    `store` is where the log lies: empty for the home, else a PostgreSQL that several machines may share,
    `postgresql://user@host/database` (its password in `PGPASSWORD` or `~/.pgpass`).
    `store_viewer` is a second role of that server, which reads for everybody but the owner and is shown by the server
    what is theirs alone (its password in `ANGELIA_VIEWER_PASSWORD` or `~/.pgpass`); empty for none.

    `blobs` is where files and other bytes are stored: empty for the home, else a folder elsewhere or
    `s3://bucket/prefix`, whose credentials come from the environment (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
    `AWS_REGION`, `AWS_ENDPOINT_URL`); of those the home then keeps `files.cache_bytes`.

    `vendors` are rows of your own, laid over those in `models/catalog/vendor_table.py`; `key_command`, `key_file` and
    `key_variable` in a row say where more of its keys come from. `channels` are the chat networks of the gateway, each
    a section whose settings its channel knows. `people` are persons by their principal (`"telegram:4711"`). `helpers`
    are those to whom work can be given by name, `signals`, `mailboxes` and `folders` what may begin a turn from
    outside, `hooks` your programs that are run at calls, messages and endings.
    """

    model: str = ""
    fallback: tuple[str, ...] = ()
    describer: str = ""
    transcriber: str = ""
    speaker: str = ""
    voice: str = ""
    voice_answers: Literal["off", "replies", "always"] = "replies"
    voice_words: bool = True
    language: Annotated[str, Meta(pattern="^([a-z]{2})?$")] = ""
    ranker: str = ""
    store: str = ""
    store_viewer: str = ""
    blobs: str = ""
    effort: Literal["", "low", "medium", "high"] = ""
    limits: Caps = Caps()
    context: ContextSettings = ContextSettings()
    sandbox: SandboxSettings = SandboxSettings()
    policy: PolicySettings = PolicySettings()
    people: dict[str, PersonSettings] = field(default_factory=dict)
    groups: dict[str, PersonTerms] = field(default_factory=dict)
    timeouts: TimeoutSettings = TimeoutSettings()
    files: FileSettings = FileSettings()
    browser: BrowserSettings = BrowserSettings()
    undo: UndoSettings = UndoSettings()
    mcp: McpSettings = McpSettings()
    remedies: dict[str, dict[str, Count]] = field(default_factory=dict)
    vendors: dict[str, dict[str, Any]] = field(default_factory=dict)
    channels: dict[str, dict[str, Any]] = field(default_factory=dict)
    gateway: GatewaySettings = GatewaySettings()
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    web: WebSettings = WebSettings()
    search: SearchSettings = SearchSettings()
    schedule: ScheduleSettings = ScheduleSettings()
    delegation: DelegationSettings = DelegationSettings()
    helpers: dict[str, ChildPreset] = field(default_factory=dict)
    painter: PainterSettings = PainterSettings()
    signals: dict[str, SignalSettings] = field(default_factory=dict)
    mailboxes: dict[str, MailboxSettings] = field(default_factory=dict)
    folders: dict[str, FolderSettings] = field(default_factory=dict)
    hooks: dict[str, HookSettings] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, person in self.people.items():
            try:
                Principal.parse(name)
            except BadInput as error:
                raise ValueError(f"people: {error}") from error
            if person.group and person.group not in self.groups:
                known = ", ".join(self.groups) or "none"
                raise ValueError(f"people: {name} is in the group {person.group}, and there is {known} in [groups].")


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
    "ANGELIA_BROWSER": "browser.address",
    "ANGELIA_STORE": "store",
    "ANGELIA_BLOBS": "blobs",
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
    text = read_text(path)
    if text:
        tree = _parsed(path, text)
        origins.update(origins_in(path, text, tree))
    for name, key in ENVIRONMENT.items():
        if environment.get(name):
            put(tree, key, environment[name])
            origins[key] = f"environment variable {name}"
    for item in sets:
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"--set takes key=value, and got {item!r}.", then="Example: --set limits.max_steps=20")
        put(tree, key.strip(), value_in(value.strip()))
        origins[key.strip()] = f"--set {item}"
    for key, value in (flags or {}).items():
        if value is not None:
            put(tree, key, value)
            origins[key] = f"--{key.rpartition('.')[2].replace('_', '-')}"
    if isinstance(tree.get("sandbox"), dict):
        lay_over(tree["sandbox"])
    return Loaded(home, _convert(tree, origins, path), origins)


def _parsed(path: Path, text: str) -> dict[str, Any]:
    tree, faults = parse(text)
    if not faults:
        return tree
    from angelia.service.settings.faults import setting_faults

    lines = [f"{path}, {fault}" for fault in faults]
    origins = origins_in(path, text, tree)
    lines += [told(fault, origins, path) for fault in setting_faults(tree, Config)]
    expected = 'Expected lines such as model = "openai:gpt-5" or [limits].'
    raise ConfigError(as_one(lines, path, f"{expected} Mend them with `angelia config edit`; nothing was changed."))


def as_one(lines: Sequence[str], path: Path, then: str) -> str:
    """Faults as one text: a sentence, or a list that names the file once; `then` is what to do."""
    if len(lines) == 1:
        return f"{lines[0]} {then}"
    short = (line.removeprefix(f"{path}, ") for line in lines)
    return "\n".join([f"{len(lines)} settings are wrong in {path}:", *(f"  {line}" for line in short), then])


def _convert(tree: dict[str, Any], origins: Mapping[str, str], path: Path) -> Config:
    try:
        if has_wrong_number(tree):
            raise msgspec.ValidationError("A number is one that no setting can mean.")
        return msgspec.convert(tree, Config)
    except msgspec.ValidationError as error:
        from angelia.service.settings.faults import setting_faults

        lines = [told(fault, origins, path) for fault in setting_faults(tree, Config)] or [str(error)]
        then = "`angelia config edit` opens the file; `angelia config show` lists every setting with its default."
        raise ConfigError(as_one(lines, path, then)) from error


def told(fault: "SettingFault", origins: Mapping[str, str], path: Path) -> str:
    """A fault as a person reads it, with where the value came from."""
    names = [".".join(fault.key[:size]) for size in range(len(fault.key), 0, -1)]
    near = (one for name in names for key, one in origins.items() if f"{key}.".startswith(f"{name}."))
    return f"{next(near, path)}, {fault.name}: {fault.problem} {fault.possible}".rstrip()


def listed(loaded: Loaded) -> list[tuple[str, Any, str]]:
    """Every setting as (dotted key, value, origin), defaults included; what could be a secret is left out."""
    from angelia.browsers.address import shown_address
    from angelia.service.settings.secret_refs import shown_server

    tree = msgspec.to_builtins(loaded.config)
    if address := tree["browser"]["address"]:
        tree["browser"]["address"] = shown_address(address)
    servers = tree["mcp"]["servers"]
    servers.update({name: shown_server(server) for name, server in servers.items()})
    return [(key, value, loaded.origins.get(key, "default")) for key, value in pairs(tree)]
