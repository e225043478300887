"""The home of Hermes Agent (github.com/NousResearch/hermes-agent), from the first versions to those of autumn 2026.

Conversations stood in `sessions/ID.jsonl` first, then in `state.db` (`hermes_state.py`: tables `sessions`, `messages`,
to which later versions added columns); notes in `memories/`, divided by `§`; schedules in `cron/jobs.json`
(`cron/jobs.py`). `profiles/NAME` are whole homes of their own.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from angelia.core.counts import counted
from angelia.core.entry import NoteKind
from angelia.core.errors import UNREADABLE, BadInput
from angelia.service.imports.json_values import (
    argument_text,
    broken_lines,
    json_lines,
    list_of,
    moment_of,
    object_of,
    pictures_of,
    text_of,
    whole_json,
)
from angelia.service.imports.note_texts import divided
from angelia.service.imports.old_database import OldDatabase, old_database
from angelia.service.imports.old_home import HomeFile, OldHome, UnreadableFile
from angelia.service.imports.old_keys import environment_keys, json_keys
from angelia.service.imports.old_times import old_time
from angelia.service.imports.port import (
    HomeRule,
    NotTaken,
    OldAgent,
    OldCall,
    OldConversation,
    OldItem,
    OldMessage,
    OldNotes,
    OldReply,
    OldResult,
    OldSchedule,
    OldWords,
)

_OWN_DOORS = frozenset({"", "cli", "tui", "acp", "local", "api", "api_server", "cron", "desktop", "subagent", "tool"})
"""Sources of sessions whose person is whoever ran Hermes."""


def _sessions(home: OldHome, file: HomeFile) -> Iterator[OldItem]:
    with old_database(home, file.path) as database:
        if not database.has("sessions", "id") or not database.has("messages", "session_id", "role", "content"):
            raise UnreadableFile("it has no tables of sessions and messages")
        columns = ("source", "user_id", "model", "started_at", "cwd")
        wanted = ", ".join(["id", *(database.column("sessions", name) for name in columns)])
        for row in database.rows(f"SELECT {wanted} FROM sessions ORDER BY rowid"):  # noqa: S608 - names of ours
            try:
                yield _session(database, [text_of(one) if i != 4 else one for i, one in enumerate(row)])
            except UnreadableFile as damaged:
                yield NotTaken(f"the session {text_of(row[0])}: {damaged.what}")


def _session(database: OldDatabase, row: list[Any]) -> OldConversation:
    record, source, user, model, started, folder = row
    columns = ("tool_call_id", "tool_calls", "tool_name", "timestamp")
    wanted = ["role", "content", *(database.column("messages", name) for name in columns)]
    shown = [database.column("messages", "active", "1"), database.column("messages", "compacted", "0")]
    order = database.column("messages", "id", "rowid")
    rows = database.rows(
        f"SELECT {', '.join([*wanted, *shown])} FROM messages WHERE session_id = ? ORDER BY {order}",  # noqa: S608
        (record,),
    )
    kept = [one for one in rows if one[6] != 0 or one[7]]
    gone = len(rows) - len(kept)
    left = [f"{counted(gone, 'message')} that had been taken back there"] if gone else []
    names = ("role", "content", "tool_call_id", "tool_calls", "tool_name", "timestamp")
    messages = [one for row in kept for one in _messages(dict(zip(names, row[:6], strict=True)), model)]
    person = "" if source in _OWN_DOORS else f"{source}:{user}" if user else f"{source}:unknown"
    return OldConversation(record, tuple(messages), moment_of(started), person, folder, tuple(left))


def _messages(said: Mapping[str, Any], model: str) -> Iterator[OldMessage]:
    """A message in the form of Chat Completions; the system's are Hermes' own."""
    content, at = said.get("content"), moment_of(said.get("timestamp"))
    parts = [text_of(object_of(part).get("text")) for part in list_of(content)]
    text, pictures = text_of(content) or "\n".join(part for part in parts if part), pictures_of(content)
    match said.get("role"):
        case "user" if text or pictures:
            yield OldWords(text, at, pictures)
        case "assistant":
            calls = said.get("tool_calls")
            if isinstance(calls, str):
                try:
                    calls = msgspec.json.decode(calls)
                except UNREADABLE:
                    calls = []
            yield OldReply(text, tuple(_call(object_of(one)) for one in list_of(calls)), model, at)
        case "tool":
            yield OldResult(text_of(said.get("tool_call_id")), text, at=at, pictures=pictures)
        case _:
            pass


def _call(call: dict[str, Any]) -> OldCall:
    function = object_of(call.get("function")) or call
    return OldCall(
        text_of(call.get("id")) or text_of(call.get("call_id")),
        text_of(function.get("name")),
        argument_text(function.get("arguments")),
    )


def _transcript(home: OldHome, file: HomeFile) -> Iterator[OldItem]:
    """A session of the time before `state.db`: a message a line, behind a line about the session."""
    broken: list[int] = []
    person, model = "", ""
    messages: list[OldMessage] = []
    for line in json_lines(home, file, broken):
        if line.get("role") == "session_meta":
            model, source = text_of(line.get("model")), text_of(line.get("platform")) or text_of(line.get("source"))
            person = "" if source in _OWN_DOORS else f"{source}:{text_of(line.get('user_id')) or 'unknown'}"
        else:
            messages += _messages(line, model)
    record = Path(file.path).stem
    at = next((one.at for one in messages if one.at), 0)
    yield OldConversation(record, tuple(messages), at, person, "", broken_lines(broken))


def _notes(kind: NoteKind) -> "_ReadNotes":
    return _ReadNotes(kind)


class _ReadNotes:
    def __init__(self, kind: NoteKind) -> None:
        self._kind = kind

    def __call__(self, home: OldHome, file: HomeFile) -> Iterator[OldItem]:
        yield OldNotes(tuple(divided(home.text(file.path))), self._kind)


def _jobs(home: OldHome, file: HomeFile) -> Iterator[OldItem]:
    found = whole_json(home, file)
    for job in list_of(found) or list_of(object_of(found).get("jobs")):
        yield _job(object_of(job), home.now)


def _job(job: dict[str, Any], now: int) -> OldItem:
    record = text_of(job.get("id"))
    name = text_of(job.get("name")) or record
    text = text_of(job.get("prompt"))
    if not text or job.get("no_agent"):
        return NotTaken(f"“{name}” runs a script without a model; cron(8) can do that")
    schedule = object_of(job.get("schedule")) or {"kind": "text", "text": job.get("schedule")}
    match schedule.get("kind"):
        case "interval":
            words = f"every {schedule.get('minutes')} minutes"
        case "once":
            words = text_of(schedule.get("run_at"))
        case _:
            words = text_of(schedule.get("expr")) or text_of(schedule.get("text"))
    try:
        zone, when = old_time(words, text_of(job.get("timezone")), now)
    except BadInput as refused:
        return NotTaken(f"“{name}”: {refused.what}")
    return OldSchedule(record or name, text, when, zone, f"“{name}”: hermes cron pause {record}")


def _as_shipped(home: OldHome, folder: Path) -> bool:
    """Whether a skill is one of those that Hermes copies into each home, as it was (`tools/skills_sync.py`)."""
    manifest = "skills/.bundled_manifest"
    try:
        lines = home.text(manifest, 1_000_000).splitlines()
    except UnreadableFile:
        return False
    known = {name.strip(): digest.strip() for name, _, digest in (line.partition(":") for line in lines)}
    digest = hashlib.md5(usedforsecurity=False)
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        digest.update(str(path.relative_to(folder)).encode())
        digest.update(home.read(path.relative_to(home.path).as_posix()))
    return known.get(folder.name) == digest.hexdigest()


HERMES = OldAgent(
    name="hermes",
    title="Hermes Agent",
    usual=".hermes",
    timers="hermes cron list",
    profiles="profiles",
    skills=("skills", "skills/*", "optional-skills/*"),
    shipped=_as_shipped,
    rules=(
        HomeRule(".env", "keys", environment_keys),
        HomeRule("auth.json", "logins", json_keys),
        HomeRule("state.db", "conversations", _sessions),
        HomeRule("state.db-wal", "read with state.db"),
        HomeRule("state.db-shm", "an index that SQLite makes again"),
        HomeRule("sessions/*.jsonl", "a conversation", _transcript),
        HomeRule("memories/USER.md", "notes about the person", _notes(NoteKind.PREFERENCE)),
        HomeRule("memories/MEMORY.md", "notes", _notes(NoteKind.FACT)),
        HomeRule("cron/jobs.json", "schedules", _jobs),
        HomeRule("SOUL.md", "its character: put what you want to keep into context.instructions"),
        HomeRule("AGENTS.md", "instructions: put what you want to keep into context.instructions"),
        HomeRule("config.yaml", "its settings; `angelia setup` makes yours"),
        HomeRule("config.yaml.*", "a copy of its settings"),
        HomeRule("cli-config.yaml", "its settings; `angelia setup` makes yours"),
        HomeRule("gateway.json", "its settings of chats; `angelia channels add` makes yours"),
        HomeRule("sessions/**", "lists of sessions; what was said is in state.db"),
        HomeRule("memories/*.lock", "a lock"),
        HomeRule("cron/output/**", "what schedules wrote"),
        HomeRule("cron/**", "the state of its timer"),
        HomeRule("skills/.*", "its list of skills"),
        HomeRule("skills/.*/**", "its record of skills"),
        HomeRule("skills/**", "a file of no skill"),
        HomeRule("optional-skills/**", "a file of no skill"),
        HomeRule("logs/**", "its logs"),
        HomeRule("**/*.log", "its logs"),
        HomeRule("hermes-agent/**", "the program itself"),
        HomeRule("bin/**", "programs"),
        HomeRule("node/**", "programs"),
        HomeRule("plugins/**", "code for Hermes, which does not run here"),
        HomeRule("hooks/**", "code for Hermes, which does not run here"),
        HomeRule("scripts/**", "scripts of its schedules"),
        HomeRule("skins/**", "its looks"),
        HomeRule("pairing/**", "who may talk to it; `angelia pair` lets them in here"),
        HomeRule("platforms/**", "logins of chat networks; `angelia channels add` makes yours"),
        HomeRule("whatsapp/**", "a login of WhatsApp; `angelia channels link` makes yours"),
        HomeRule("mcp-tokens/**", "logins of MCP servers"),
        HomeRule("checkpoints/**", "its copies of files that it changed"),
        HomeRule("sandboxes/**", "its sandboxes"),
        HomeRule("backups/**", "backups"),
        HomeRule("state-snapshots/**", "backups"),
        HomeRule("*_cache/**", "a cache"),
        HomeRule("cache/**", "a cache"),
        HomeRule("*cache*.json", "a cache"),
        HomeRule("*cache*.yaml", "a cache"),
        HomeRule("images/**", "pictures that it was sent"),
        HomeRule("*.db*", "a table of its own, with nothing that was said"),
        HomeRule("*.lock", "a lock"),
        HomeRule("*.pid", "which process runs"),
        HomeRule(".*", "its own state"),
        HomeRule("gateway_state.json", "its own state"),
        HomeRule("channel_directory.json", "its own state"),
        HomeRule("processes.json", "its own state"),
        HomeRule("active_profile", "its own state"),
        HomeRule(".hermes_history", "what was typed"),
    ),
)
