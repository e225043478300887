"""What a command would delete, overwrite or read, path by path."""

import re
from collections.abc import Sequence
from itertools import pairwise

from angelia.policy.path_location import PathLocation, absolute, beneath, place_of
from angelia.policy.secret_paths import decides_what_runs, secret_by_wildcard, seen_from_home
from angelia.policy.shell.editing_scripts import sed_script
from angelia.policy.shell.parser import SimpleCommand
from angelia.policy.shell.programs import abbreviates, has_flag, operands_of
from angelia.policy.shell.risk import CommandContext, Finding, Risk
from angelia.policy.shell.words import GLOB, HOLE, Word, names
from angelia.policy.shell.wrappers import found_by_name, program_of

_REBUILT = re.compile(
    r"(?:^|/)(?:build|dist|out|target|node_modules|\.?venv|__pycache__|\.(?:pytest|mypy|ruff|parcel)_?-?cache|\.cache"
    r"|coverage|htmlcov|\.tox|\.nox|\.next|\.nuxt|\.turbo|tmp|[^/]*\.egg-info|cmake-build-[a-z]+)(?:/|$)"
    r"|\.(?:o|a|so|obj|pyc|pyo|class|log|tmp|temp|bak|orig|rej|swp|aux|toc|gcda|gcno|d)$|/\.coverage$|~$"
)
"""Names of what a build makes again: deleting a tree of it is mild."""

_VANISHES = {PathLocation.NOWHERE, PathLocation.SCRATCH, PathLocation.OUTSIDE}
"""Where a confined command's files do not last: `/tmp` and the home are its own, and gone with it."""

_HISTORY = re.compile(r"/\.(?:git|hg|svn|jj)(?:/|$)", re.IGNORECASE)

_DATA = re.compile(
    r"\.(?:db|db3|sqlite3?|sdb|mdb|accdb|parquet|feather|arrow|duckdb|rdb|dump|bson|lmdb|h5|hdf5|npz|pkl|qcow2|vmdk"
    r"|img|iso|vdi|kdbx|pst|mbox|wal|ibd|frm)$", re.IGNORECASE
)  # fmt: skip
"""Names of files that hold data rather than text."""

_TEXT = names(
    "echo printf : true false test [ [[ ls stat dirname basename realpath readlink mkdir cd pushd popd which type "
    "touch rmdir rm unlink export declare local unset tree du file sleep exit return"
)
"""Programs that do not open the files their words may name."""

_PATTERN_FIRST = names("grep egrep fgrep rg ag ack sed awk gawk mawk jq yq perl")
"""Programs whose first operand is a pattern or a program: it counts only when it has a slash."""

_TAKES_TREES = names("tar zip cp rsync scp 7z 7za grep egrep rg ag ack mv cpio restic borg")
_ENDLESS = names("/dev/zero /dev/random /dev/urandom /dev/full")
_READS_ONLY = names("<< <<< < <& <&- >&-")


def file_effects(call: SimpleCommand, context: CommandContext) -> list[Finding]:
    """Findings for the files that one simple command deletes, overwrites or reads."""
    found = [
        finding
        for redirect in call.redirects
        if redirect.operator not in _READS_ONLY and not (redirect.operator == ">&" and redirect.target.text.isdigit())
        for finding in written(redirect.target, context, call.source, _how(call, redirect.operator))
    ]
    program, rest = program_of(call), call.words[1:]
    found += _deletes(program, rest, context, call.source)
    found += _overwrites(program, rest, context, call.source)
    found += _reads(program, rest, context)
    sources = [redirect.target for redirect in call.redirects if redirect.operator == "<"]
    found += [finding for word in (*sources, *(value for _, value in call.settings)) for finding in read(word, context)]
    endless = any(word.text.removeprefix("if=") in _ENDLESS for word in rest)
    fills = program == "yes" or (endless and not (program == "head" or has_flag(rest, names("--bytes"))))
    to_file = any(f.risk in {Risk.CHANGES, Risk.TRUNCATES, Risk.CHANGES_OUTSIDE} for f in found)
    if fills and to_file and not any(word.text.startswith("count=") for word in rest) and program != "cp":
        found.append(Finding(Risk.EXHAUSTS, "writes without end", call.source))
    return found


def written(word: Word, context: CommandContext, piece: str, how: str) -> list[Finding]:
    """Findings for a file that is written; `how` is `append`, `edit`, `overwrite` or `empty`."""
    path = word.text
    match place_of(path, context):
        case PathLocation.NOWHERE:
            return []
        case PathLocation.NETWORK:
            return [Finding(Risk.SENDS_OUT, "opens a network connection", piece)]
        case PathLocation.DEVICE:
            return [Finding(Risk.SYSTEM, f"writes to the device {path}", piece)]
        case PathLocation.OURS:
            return [Finding(Risk.OURS, "writes into angelia's own home", piece)]
        case PathLocation.OUTSIDE:
            if decides_what_runs(seen_from_home(absolute(path, context), context.home)):
                return [Finding(Risk.PERSISTS, f"changes {word.source}, which decides what runs later", piece)]
            return [Finding(Risk.CHANGES_OUTSIDE, f"writes to {word.source}, outside the workspace", piece)]
        case PathLocation.INSIDE | PathLocation.WHOLE | PathLocation.SCRATCH | PathLocation.UNKNOWN:
            return [_written_inside(word, context, piece, how)]


def _written_inside(word: Word, context: CommandContext, piece: str, how: str) -> Finding:
    path = absolute(word.text, context)
    if decides_what_runs(path):
        return Finding(Risk.PERSISTS, f"changes {word.source}, which decides what runs later", piece)
    if _HISTORY.search(path[len(context.workspace) :]) and beneath(path, context.workspace):
        return Finding(Risk.DISCARDS, f"writes {word.source}, which belongs to the repository's history", piece)
    if path in context.absent:
        return Finding(Risk.CHANGES, f"writes {word.source}", piece)
    if how == "empty" or (how == "overwrite" and GLOB in path):
        return Finding(Risk.TRUNCATES, f"empties {word.source}", piece)
    if how == "overwrite" and (_DATA.search(path) or secret_by_wildcard(path)):
        return Finding(Risk.TRUNCATES, f"overwrites {word.source}", piece)
    return Finding(Risk.CHANGES, f"writes {word.source}", piece)


def read(word: Word, context: CommandContext) -> list[Finding]:
    """Findings for a word that may name a file to be read: credentials, or our own home."""
    text = word.text
    spaced = any(mark.isspace() for mark in text)
    if spaced and not text.startswith(("/", "~", ".")):
        return []
    for part in [text] if spaced else [*re.split(r"[@=,;]|file://|(?<=[a-z0-9]):", text), text]:
        place = place_of(part, context) if part else PathLocation.NOWHERE
        if place is PathLocation.OURS:
            return [Finding(Risk.OURS, "reaches into angelia's own home", word.source)]
        path = absolute(part, context) if part else ""
        inside = place is PathLocation.INSIDE
        named = (
            path[len(context.workspace.rstrip("/")) :]
            if inside
            else part
            if path == HOLE
            else seen_from_home(path, context.home)
        )
        if part and (kind := secret_by_wildcard(named)):
            return [Finding(Risk.SECRETS_HERE if inside else Risk.SECRETS, f"reads {kind} ({part})", word.source)]
    return []


def deleted(word: Word, context: CommandContext, piece: str, *, tree: bool) -> Finding:
    """The finding for one path that is deleted, a whole `tree` or a file."""
    path, shown = absolute(word.text, context), word.source
    match place_of(word.text, context):
        case PathLocation.WHOLE:
            return Finding(Risk.DESTROYS, f"deletes {shown}, which holds the whole workspace", piece)
        case PathLocation.UNKNOWN:
            return Finding(Risk.DESTROYS, f"deletes {shown}, and only running would tell what that is", piece)
        case PathLocation.DEVICE | PathLocation.NOWHERE | PathLocation.NETWORK:
            return Finding(Risk.SYSTEM, f"deletes the device {shown}", piece)
        case PathLocation.OURS:
            return Finding(Risk.OURS, "deletes from angelia's own home", piece)
        case PathLocation.OUTSIDE:
            return Finding(Risk.CHANGES_OUTSIDE, f"deletes {shown}, outside the workspace", piece)
        case PathLocation.SCRATCH:
            return Finding(Risk.CHANGES, f"deletes {shown}", piece)
        case PathLocation.INSIDE:
            inner = path[len(context.workspace) :]
            if _HISTORY.search(inner):
                return Finding(Risk.DISCARDS, "deletes the repository's history", piece)
            broad = tree or GLOB in path or HOLE in path or bool(_DATA.search(path))
            risk = Risk.DESTROYS if broad and not _REBUILT.search(inner) else Risk.CHANGES
            return Finding(risk, f"deletes {shown}", piece)


def _how(call: SimpleCommand, operator: str) -> str:
    if operator in {">>", "&>>"}:
        return "append"
    program, rest = program_of(call), call.words[1:]
    silent = program in {"", ":", "true"} or (
        program in {"echo", "printf"} and not any(word.text for word in rest if not word.text.startswith("-n"))
    )
    nothing = program in {"cat", "cp"} and [word.text for word in rest] == ["/dev/null"]
    return "empty" if silent or nothing else "overwrite"


def _deletes(program: str, rest: Sequence[Word], context: CommandContext, piece: str) -> list[Finding]:
    operands = operands_of(rest)
    match program:
        case "rm" | "srm" | "rimraf" | "trash" | "del":
            tree = has_flag(rest, names("-r -R --recursive -d")) or program == "rimraf"
            return [deleted(word, context, piece, tree=tree) for word in operands]
        case "unlink" | "rmdir":
            return [deleted(word, context, piece, tree=False) for word in operands]
        case "shred":
            return [deleted(word, context, piece, tree=True) for word in operands]
        case "find" | "fd" | "bfs" if any(word.text == "-delete" for word in rest):
            if narrowed := found_by_name(rest):
                return [deleted(word, context, piece, tree=False) for word in narrowed]
            roots = [word for word in operands if not word.text.startswith(("(", "!"))][:1] or [Word(".", ".")]
            place = place_of(roots[0].text, context)
            risk = {
                PathLocation.OUTSIDE: Risk.CHANGES_OUTSIDE,
                PathLocation.SCRATCH: Risk.CHANGES,
                PathLocation.OURS: Risk.OURS,
            }.get(place)
            return [Finding(risk or Risk.DESTROYS, f"deletes whatever it finds in {roots[0].source}", piece)]
        case "rsync" if any(word.text.startswith(("--delete", "--remove-source")) for word in rest):
            return [Finding(Risk.DESTROYS, "deletes what the other side does not have", piece)]
        case "mv":
            return _moved(rest, operands, context, piece)
        case "tar" | "bsdtar" | "gtar" if abbreviates(rest, names("--remove-files")):
            return [Finding(Risk.DESTROYS, "deletes the files that it packs", piece)]
        case "zip" if has_flag(rest, names("-m --move")):
            return [Finding(Risk.DESTROYS, "deletes the files that it packs", piece)]
        case "7z" | "7za" | "7zz" if any(word.text.startswith("-sdel") for word in rest):
            return [Finding(Risk.DESTROYS, "deletes the files that it packs", piece)]
        case _:
            return []


def _moved(rest: Sequence[Word], operands: Sequence[Word], context: CommandContext, piece: str) -> list[Finding]:
    """What `mv` takes away: the history, what lies elsewhere, and all that goes where it will not be found again."""
    into = [after for word, after in pairwise(rest) if word.text in {"-t", "--target-directory"}]
    into += [Word(w.text.partition("=")[2], w.source) for w in rest if w.text.startswith("--target-directory=")]
    sources = [word for word in operands if word not in into] if into else operands[:-1]
    lost = {place_of(word.text, context) for word in into or operands[-1:]} & _VANISHES
    inside = {word: place_of(word.text, context) is PathLocation.INSIDE for word in sources}
    history = [word for word in sources if inside[word] and _HISTORY.search("/" + word.text)]
    away = [
        word
        for word in sources
        if not inside[word] and not (lost and place_of(word.text, context) is PathLocation.SCRATCH)
    ]
    gone = dict.fromkeys([*away, *history, *([word for word in sources if inside[word]] if lost else ())])
    return [deleted(word, context, piece, tree=True) for word in gone]


def _overwrites(program: str, rest: Sequence[Word], context: CommandContext, piece: str) -> list[Finding]:
    operands = operands_of(rest)
    how = "append" if has_flag(rest, names("-a --append")) else "overwrite"
    match program:
        case "cp" | "mv" | "install" | "ln" | "rsync" | "scp":
            targets = [word for word in operands[-1:] if not re.match(r"[\w.-]+@?[\w.-]*:", word.text)]
            how = "empty" if any(word.text == "/dev/null" for word in operands[:-1]) else "overwrite"
            targets = targets if len(operands) > 1 else []
        case "tee" | "sponge":
            targets = operands
        case "truncate":
            targets, how = (
                [word for word in operands if not re.fullmatch(r"[+\-<>/%]?\d+[KMGTP]?B?", word.text)],
                "empty",
            )
        case "dd":
            targets = [Word(word.text[3:], word.source) for word in rest if word.text.startswith("of=")]
            bounded = any(re.fullmatch(r"count=[1-9]\w*", word.text) for word in rest)
            nothing = {"/dev/null"} if bounded else {*_ENDLESS, "/dev/null"}
            how = "empty" if any(word.text[3:] in nothing for word in rest) else "overwrite"
        case "sed" | "perl" | "ruby" | "gawk" if has_flag(rest, names("-i --in-place")):
            targets = operands[1:] or operands
            how = "empty" if program == "sed" and sed_script(rest).empties else "edit"
        case "curl" | "wget":
            flags = names("-o --output -O --output-document")
            targets = [after for word, after in pairwise(rest) if word.text in flags]
            targets = [word for word in targets if word.text != "-" and "://" not in word.text]
        case "uniq":
            targets = operands[1:2]
        case "chmod" | "chown" | "chgrp" | "chattr" | "setfacl":
            return _rights(program, rest, operands, context, piece)
        case "touch" | "mkdir" | "mkfifo" | "tar" | "unzip" | "split" | "csplit":
            away = [
                word
                for word in rest
                if place_of(word.text, context) in {PathLocation.OUTSIDE, PathLocation.OURS, PathLocation.DEVICE}
            ]
            targets, how = [word for word in away if word.text.startswith(("/", "~", ".."))], "append"
        case _:
            targets = []
    return [finding for word in targets for finding in written(word, context, piece, how)]


def _rights(
    program: str, rest: Sequence[Word], operands: list[Word], context: CommandContext, piece: str
) -> list[Finding]:
    mode = next((word.text for word in rest if program == "chmod"), "")
    modes = [word.text for word in rest] if mode else []
    if any(re.fullmatch(r"[ugoa]*[+=][rwxXt]*s[rwxXst]*|0*[2467][0-7]{3}", text) for text in modes):
        return [Finding(Risk.ESCALATES, "lets a program run with its owner's rights", piece)]
    findings = []
    for word in operands[1:]:
        place = place_of(word.text, context)
        if place is PathLocation.WHOLE and has_flag(rest, names("-R --recursive")):
            findings.append(Finding(Risk.DESTROYS, f"changes the rights of everything in {word.source}", piece))
        elif place in {PathLocation.OUTSIDE, PathLocation.OURS, PathLocation.DEVICE}:
            findings += written(word, context, piece, "append")
    return findings


def _reads(program: str, rest: Sequence[Word], context: CommandContext) -> list[Finding]:
    if program in _TEXT:
        return []
    if program == "git" or program in _PATTERN_FIRST:
        files = operands_of(rest)[1:] if program != "git" else []
        rest = [word for word in rest if "/" in word.text or word in files]
    found = [finding for word in rest for finding in read(word, context)]
    if program in _TAKES_TREES:
        whole = [word for word in rest if beneath(context.home, absolute(word.text, context).rstrip("/") or "/")]
        whole = [word for word in whole if place_of(word.text, context) is not PathLocation.INSIDE]
        found += [
            Finding(Risk.SECRETS, f"takes all of {word.source}, credentials included", word.source) for word in whole
        ]
    return found
