"""The tool `find`: files by the pattern of their path, or by what stands in them."""

import asyncio
import re
import shlex
import sys
from collections.abc import Sequence
from itertools import accumulate, compress
from typing import Annotated, Literal

from msgspec import Meta, Struct

from angelia.core.content import CallStatus, Text
from angelia.core.text import clean, shorten
from angelia.policy.verdict import Effect, ReadPath
from angelia.sandboxes.port import AccessRefused, Command, Exit, FileKind, NoSuchFile, Reach, reach_here
from angelia.tools.files.paths import led
from angelia.tools.port import SandboxAccess, ToolOutcome, Traits

SHOWN = 200
"""Hits shown; the rest is counted."""

CHARACTERS = 16_000
"""Characters shown of all hits together."""

LINE_CHARACTERS = 300

RAW_LIMIT = 4_000_000
"""Bytes taken from the searching program; then it is ended, and the count is a lower bound."""

SECONDS = 60.0


class FindArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """What to look for, and where."""

    pattern: Annotated[str, Meta(min_length=1, description="A regular expression; a glob like src/**/*.py for files.")]
    kind: Literal["content", "files"] = "content"
    path: Annotated[str, Meta(description="Folder or file; the workspace if not given.")] = ""
    glob: Annotated[str, Meta(description="Only files whose path matches, like *.{ts,tsx}.")] = ""


class Find:
    """Searches with ripgrep where the sandbox has it (which honours .gitignore), else with find and grep."""

    name = "find"
    description = (
        "Search files: lines that match a regular expression (kind=content), or paths that match a glob "
        "(kind=files). Sorted by path; .git and ignored files are left out."
    )
    arguments: type[Struct] = FindArguments
    traits = Traits(reads_only=True, replayable=True)

    async def effects(self, arguments: FindArguments, context: SandboxAccess) -> Sequence[Effect]:
        """Reading one folder or file."""
        path = arguments.path or "."
        return (ReadPath(path, await led(context, path)),)

    async def run(self, arguments: FindArguments, context: SandboxAccess) -> ToolOutcome:
        """Search.

        Raises:
            NoSuchFile, AccessRefused, SandboxMissing, SandboxGone, Unreachable.
        """
        resolved = await led(context, arguments.path or ".")
        folder = (await context.sandbox.stat(resolved)).kind is FileKind.FOLDER
        root, _, name = (resolved, "", "") if folder else resolved.rpartition("/")
        reach = await reach_here(context.sandbox, Reach.CONFINED)
        command = Command(shell=_script(arguments, f"./{name}"), cwd=root or "/", seconds=SECONDS, reach=reach)
        raw, ended, whole = await _output(command, context)
        if ended.status > 1 and b"\0" not in raw:
            said = raw.partition(b"\n")[2].decode("utf-8", "replace")
            return ToolOutcome((Text(f"The search failed: {shorten(clean(said), 1000)}"),), CallStatus.ERROR)
        found = _hits(raw, arguments)
        hits = await _readable(found, root, context) if folder and arguments.kind == "content" else found
        shown = arguments.path.rstrip("/")
        prefix = f"{shown}/" if shown not in {"", "."} else ""
        lines = [_line(hit, f"{prefix}{hit[0]}" if folder else shown) for hit in hits]
        notes = [_bounded(lines)]
        if len(hits) < len(found):
            notes.append(f"(not shown: {len(found) - len(hits)} in files that hold secrets)")
        if not whole:
            notes.append("(The search was stopped early, so there may be more.)")
        return ToolOutcome((Text("\n".join(notes)),))


async def files_below(context: SandboxAccess) -> tuple[str, ...]:
    """The files of the workspace, by their paths in it and sorted, without those that hold secrets by their names; and
    without those that Git ignores, where ripgrep is.

    Raises:
        SandboxMissing, SandboxGone, Unreachable.
    """
    from angelia.policy.secret_paths import secret_kind

    root, everything = await led(context, "."), FindArguments("**", "files")
    reach = await reach_here(context.sandbox, Reach.CONFINED)
    command = Command(shell=_script(everything, "./"), cwd=root, seconds=SECONDS, reach=reach)
    raw, _, _ = await _output(command, context)
    return tuple(path for path, _, _ in _hits(raw, everything) if not secret_kind(path))


def _script(arguments: FindArguments, where: str) -> str:
    """A POSIX shell script that prints its program's name, then NUL-ended paths, or path NUL line:text lines.

    Where there is no ripgrep, grep gets the options that it turns out to know.
    """
    pattern, glob, place = (shlex.quote(word) for word in (arguments.pattern, arguments.glob, where))
    common = "--no-config --no-messages --hidden --no-require-git --color never --null"
    not_git = "--glob '!.git/'"
    if arguments.kind == "files":
        listed = f"rg {common} --files --glob {pattern} {not_git} -- {place}"
        walked = f"find {place} -name .git -prune -o -type f -print0"
    else:
        only = f"--glob {glob} {not_git}" if arguments.glob else not_git
        listed = f"rg {common} {only} -nH --no-heading --max-columns 2000 --max-columns-preview -e {pattern} -- {place}"
        walked = (
            "o=-E; printf a | grep -qP a 2>/dev/null && o=-P; "
            'for p in --null -I; do printf a | grep $p -q a 2>/dev/null && o="$o $p"; done; '
            f"grep $o -e {pattern} </dev/null; [ $? -gt 1 ] && exit 2; "
            f"find {place} -name .git -prune -o -type f -exec grep -snH $o -e {pattern} -- {{}} +"
        )
    return f"if command -v rg >/dev/null 2>&1; then echo rg; {listed}; else echo grep; {walked}; fi"


async def _output(command: Command, context: SandboxAccess) -> tuple[bytes, Exit, bool]:
    """What the script printed, how it ended, and whether that is all."""
    running = await context.sandbox.start(command)
    raw = bytearray()
    try:
        async for chunk in running.output():
            raw += chunk
            if len(raw) > RAW_LIMIT:
                break
    finally:
        if len(raw) > RAW_LIMIT or sys.exc_info()[0]:
            await running.kill()
    ended = await running.wait()
    return bytes(raw), ended, len(raw) <= RAW_LIMIT and not ended.timed_out


_LINE_OF_FILE = rb"\./([^\0]+)\0(\d+):([^\n]*)"
_LINE_OF_FILE_WITHOUT_NUL = rb"\./([^\0\n]+?):(\d+):([^\n]*)"
_BINARY = rb"(?m)^\./[^\0\n]*: binary file matches[^\n]*\n?"
"""Compiled when first used, as all expressions of tools: most conversations never search."""


def _hits(raw: bytes, arguments: FindArguments) -> list[tuple[str, int, str]]:
    """Path, line number (0 for a file itself) and line, sorted; the glob is applied where the program did not."""
    program, _, found = raw.partition(b"\n")
    if arguments.kind == "files":
        hits = [(_text(path.removeprefix(b"./")), 0, "") for path in found.split(b"\0")[:-1]]
        glob = arguments.pattern
    else:
        expression = _LINE_OF_FILE if b"\0" in found else _LINE_OF_FILE_WITHOUT_NUL
        matches = re.finditer(expression, re.sub(_BINARY, b"", found))
        hits = [(_text(match[1]), int(match[2]), _text(match[3]).rstrip("\r")) for match in matches]
        glob = arguments.glob
    if program == b"grep" and glob:
        from angelia.tools.files.globs import glob_regex

        fits = glob_regex(glob)
        hits = [hit for hit in hits if fits.fullmatch(hit[0])]
    return sorted(hits)


async def _readable(hits: list[tuple[str, int, str]], root: str, context: SandboxAccess) -> list[tuple[str, int, str]]:
    """What `read` would refuse, or ask about, is not read by way of a search of its folder.

    That is told by a file's name, seen from the workspace, and by the sandbox, which knows second names (link(2)) of
    what it hides. It is asked about what may be shown; of the rest nothing but the number is told.
    """
    from angelia.policy.secret_paths import secret_kind

    workspace = (await context.sandbox.describe()).workspace.rstrip("/")
    begun = root.removeprefix(workspace) if f"{root}/".startswith(f"{workspace}/") else ""
    named = {path for path in {hit[0] for hit in hits} if secret_kind(f"{begun}/{path}")}
    open_hits = [hit for hit in hits if hit[0] not in named]
    files = list(dict.fromkeys(hit[0] for hit in open_hits[:SHOWN]))
    refused = set(compress(files, await asyncio.gather(*(_is_refused(f"{root}/{path}", context) for path in files))))
    rest = [hit for hit in open_hits if hit[0] not in refused]
    # Where some went, others would move up that nobody has asked about.
    return rest if not refused or len(open_hits) <= SHOWN else await _readable(rest, root, context)


async def _is_refused(path: str, context: SandboxAccess) -> bool:
    try:
        await context.sandbox.stat(path)
    except (AccessRefused, NoSuchFile):  # gone, or of a name that cannot be said: `read` would not give it either
        return True
    return False


def _text(raw: bytes) -> str:
    return clean(raw.decode("utf-8", "replace"))


def _line(hit: tuple[str, int, str], path: str) -> str:
    _, number, text = hit
    return f"{path}:{number}: {shorten(text.strip(), LINE_CHARACTERS)}" if number else path


def _bounded(lines: list[str]) -> str:
    """As many whole lines as fit, and how many do not."""
    if not lines:
        return "Nothing found."
    sizes = accumulate(len(line) + 1 for line in lines)
    fitting = max(sum(1 for size in sizes if size <= CHARACTERS), 1)
    shown = lines[: min(fitting, SHOWN)]
    left_out = len(lines) - len(shown)
    more = [f"… ({left_out} more of {len(lines)}: narrow it by path, glob or pattern)"] if left_out else []
    return "\n".join([*shown, *more])
