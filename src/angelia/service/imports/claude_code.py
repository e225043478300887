"""The home of Claude Code (code.claude.com/docs, "claude-directory"), versions 1.0 to 2.1.

Each session is `projects/FOLDER/ID.jsonl`; those of subagents stand beside it, or since 2.1 in `ID/subagents/`. What
it noted by itself lies in `projects/FOLDER/memory/`. The format of the lines is its own affair and nowhere promised:
what is not known is left, and said.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from angelia.core.counts import counted
from angelia.service.imports.json_values import (
    argument_text,
    broken_lines,
    json_lines,
    list_of,
    moment_of,
    object_of,
    pictures_of,
    text_of,
)
from angelia.service.imports.note_texts import from_markdown
from angelia.service.imports.old_home import HomeFile, OldHome, UnreadableFile
from angelia.service.imports.old_keys import json_keys
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
    OldSubagent,
    OldWords,
)

_HARNESS = ("<command-", "<local-command", "<bash-", "Caveat: The messages below", "<system-reminder>", "<task-")
"""How the program's own words begin, where it speaks in the person's place."""


def _session(home: OldHome, file: HomeFile) -> Iterator[OldItem]:
    broken: list[int] = []
    messages: list[OldMessage] = []
    folder, aside = "", 0
    for line in json_lines(home, file, broken):
        folder = folder or text_of(line.get("cwd"))
        if line.get("isSidechain") is True:
            aside += line.get("type") in ("user", "assistant")
        elif line.get("isMeta") is not True and line.get("isCompactSummary") is not True:
            messages += _messages(line)
    left = (*broken_lines(broken), *([f"{counted(aside, 'message')} of subagents"] if aside else []))
    at = next((one.at for one in messages if one.at), 0)
    yield OldConversation(PurePosixPath(file.path).stem, tuple(messages), at, "", folder, left)


def _messages(line: Mapping[str, Any]) -> Iterator[OldMessage]:
    said, at = object_of(line.get("message")), moment_of(line.get("timestamp"))
    content = said.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else [*map(object_of, list_of(content))]
    text = "\n".join(text_of(one.get("text")) for one in blocks if one.get("type") == "text").strip()
    match line.get("type"):
        case "user":
            for one in blocks:
                if one.get("type") == "tool_result":
                    failed = one.get("is_error") is True
                    came = one.get("content")
                    yield OldResult(text_of(one.get("tool_use_id")), _text(came), failed, at, pictures_of(came))
            pictures = pictures_of(content)
            if (text or pictures) and not text.startswith(_HARNESS):
                yield OldWords(text, at, pictures)
        case "assistant":
            calls = tuple(
                OldCall(text_of(one.get("id")), text_of(one.get("name")), argument_text(one.get("input")))
                for one in blocks
                if one.get("type") == "tool_use"
            )
            yield OldReply(text, calls, text_of(said.get("model")), at)
        case _:
            pass


def _text(content: object) -> str:
    texts = [text_of(object_of(one).get("text")) for one in list_of(content)]
    return text_of(content) or "\n".join(one for one in texts if one)


def _subagent(home: OldHome, file: HomeFile) -> Iterator[OldItem]:
    """Its head is read line by line: descriptions there hold what is no YAML, and nothing of it counts unread."""
    head, mark, body = home.text(file.path).removeprefix("---\n").partition("\n---\n")
    fields = {
        name.strip(): value.strip().strip("\"'") for name, _, value in (one.partition(":") for one in head.splitlines())
    }
    if not mark or "name" not in fields:
        yield NotTaken("a file of no subagent")
        return
    tools = tuple(one.strip() for one in fields.get("tools", "").split(",") if one.strip())
    model = fields.get("model", "")
    described = fields.get("description", "").replace("\\n", " ")
    yield OldSubagent(fields["name"], described, body.strip(), tools, "" if model == "inherit" else model)


def _notes(home: OldHome, file: HomeFile) -> Iterator[OldItem]:
    project = file.path.split("/memory/")[0]
    yield OldNotes(tuple(from_markdown(home.text(file.path))), folder=_folder_of(home, project))


def _folder_of(home: OldHome, project: str) -> str:
    """Where a project lies, as its sessions say; its name in this home, where there is none."""
    try:
        sessions = sorted(path.name for path in Path(home.path, project).iterdir() if path.suffix == ".jsonl")
    except OSError:
        sessions = []
    for name in sessions:
        try:
            for line in json_lines(home, HomeFile(f"{project}/{name}", 0), []):
                if folder := text_of(line.get("cwd")):
                    return folder
        except UnreadableFile:
            continue
    return PurePosixPath(project).name


CLAUDE_CODE = OldAgent(
    name="claude",
    title="Claude Code",
    usual=".claude",
    timers="",
    skills=("skills",),
    rules=(
        HomeRule(".credentials.json", "logins", json_keys),
        HomeRule("projects/*/agent-*.jsonl", "a conversation of a subagent"),
        HomeRule("projects/*/*.jsonl", "a conversation", _session),
        HomeRule("projects/*/memory/**/*.md", "notes about a project", _notes),
        HomeRule("projects/*/*/subagents/**", "conversations of subagents"),
        HomeRule("projects/*/*/tool-results/**", "long results; the conversation has their beginning"),
        HomeRule("projects/*/sessions-index.json", "a list of sessions"),
        HomeRule("projects/**", "beside a conversation, and none"),
        HomeRule("CLAUDE.md", "instructions: put what you want to keep into context.instructions"),
        HomeRule("rules/**", "instructions: put what you want to keep into context.instructions"),
        HomeRule("settings*.json", "its settings; `angelia setup` makes yours"),
        HomeRule("skills/**", "a file of no skill"),
        HomeRule("commands/**", "commands of your own: `angelia new skill` makes a skill of one"),
        HomeRule("agents/**/*.md", "a subagent", _subagent),
        HomeRule("agents/**", "beside a subagent, and none"),
        HomeRule("output-styles/**", "its style"),
        HomeRule("plugins/**", "plugins, which do not run here"),
        HomeRule("hooks/**", "code for Claude Code, which does not run here"),
        HomeRule("history.jsonl", "what was typed; the conversations have it"),
        HomeRule("file-history/**", "its copies of files that it changed"),
        HomeRule("shell-snapshots/**", "settings of your shell"),
        HomeRule("session-env/**", "variables of sessions"),
        HomeRule("todos/**", "lists of what was to be done"),
        HomeRule("tasks/**", "lists of what was to be done"),
        HomeRule("teams/**", "its own state"),
        HomeRule("jobs/**", "its own state"),
        HomeRule("plans/**", "plans"),
        HomeRule("paste-cache/**", "a cache"),
        HomeRule("image-cache/**", "a cache"),
        HomeRule("cache/**", "a cache"),
        HomeRule("debug/**", "its logs"),
        HomeRule("logs/**", "its logs"),
        HomeRule("telemetry/**", "what it tells its maker"),
        HomeRule("statsig/**", "what it tells its maker"),
        HomeRule("usage-data/**", "what it counted"),
        HomeRule("stats-cache.json", "what it counted"),
        HomeRule("ide/**", "which editors run"),
        HomeRule("sessions/**", "which sessions run"),
        HomeRule("downloads/**", "programs"),
        HomeRule("local/**", "programs"),
        HomeRule("chrome/**", "its browser"),
        HomeRule("backups/**", "backups"),
        HomeRule("statusline*", "its status line"),
        HomeRule("__store.db*", "costs and summaries; the conversations are beside it"),
        HomeRule("*-cache.json", "a cache"),
        HomeRule("keybindings.json", "its keys"),
        HomeRule("*.lock", "a lock"),
        HomeRule(".*", "its own state"),
    ),
)
