"""The arguments that a remembered star stands for: operands in the workspace, and options from a list per program.

The list says what a star covers, never what it does not: an option that is not on it asks again, be it `--pre`,
`-exec`, `-B`, `--rootdir`, one that was invented after this file was written, or an abbreviation. Left out on purpose
is every option that runs a program, loads code or settings, or writes a file.
"""

import posixpath
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from angelia.policy.path_location import PathLocation, absolute, place_of
from angelia.policy.shell.risk import CommandContext
from angelia.policy.shell.words import names


class Options(Struct, frozen=True):
    """The options of one program that only narrow or show: `flags` stand alone, `valued` take a word or `=value`.

    `-#` among the flags is a number, as in `head -20`.
    """

    flags: frozenset[str]
    valued: frozenset[str]


def _only(flags: str = "", valued: str = "") -> Options:
    return Options(names(flags), names(valued))


_GREP = _only(
    "-# -n -i -l -L -c -v -w -x -o -r -R -s -q -h -H -E -F -P -I -a --color --recursive --ignore-case --line-number "
    "--files-with-matches --count --invert-match --word-regexp --only-matching",
    "-e -A -B -C -m --include --exclude --exclude-dir --max-count --context",
)
_PYTEST = _only(
    "-v -q -x -s -l --verbose --quiet --exitfirst --lf --last-failed --ff --failed-first --nf --sw --stepwise --co "
    "--collect-only --no-header --no-summary --showlocals --cache-clear --strict-markers",
    "-k -m -n -r --tb --maxfail --durations --color --capture --deselect --ignore",
)
_CARGO = _only(
    "-v -q --release --workspace --all --all-features --no-default-features --lib --bins --tests --benches --examples "
    "--all-targets --no-run --no-fail-fast --locked --offline --verbose --quiet",
    "-p -j -F --package --features --test --bin --example --jobs --exclude",
)
_GO = _only("-v -race -short -cover -failfast -json", "-run -count -timeout -bench -skip -tags -parallel")
_COMPILER = _only(
    "-c -g -O -O0 -O1 -O2 -O3 -Os -Og -Wall -Wextra -Werror -Wpedantic -Wshadow -pedantic -fsyntax-only -fPIC -pthread",
    "-std -I -D -U",
)
_LOG = (
    "-# -p -s -u --oneline --graph --stat --all --decorate --no-decorate --name-only --name-status --patch --no-merges "
    "--merges --follow --reverse --shortstat --numstat --cached --staged --word-diff --no-color --no-pager"
)
_LOG_VALUED = "-n -S -G -L --since --until --after --before --author --grep --format --pretty --max-count --date"

_OPTIONS: Mapping[str, Options] = {
    "ls": _only("-a -A -l -h -t -r -R -S -1 -d -F -i -p -s --all --color --recursive"),
    "cat": _only("-n -A -b -s -e -t -v -E -T"),
    "head": _only("-# -q -v", "-n -c --lines --bytes"),
    "tail": _only("-# -q -v", "-n -c --lines --bytes"),
    "wc": _only("-l -w -c -m -L --lines --words --bytes"),
    "grep": _GREP, "egrep": _GREP, "fgrep": _GREP,
    "rg": _only(
        "-# -n -N -i -S -s -l -c -v -w -F -U -o -H -I -L -P -u -uu -p -q --files --hidden --no-ignore --json --stats "
        "--heading --no-heading --vimgrep --smart-case --ignore-case --fixed-strings --multiline --count "
        "--files-with-matches --files-without-match --no-messages --word-regexp --only-matching --no-config",
        "-e -g -t -T -A -B -C -m -M -j --glob --iglob --type --type-not --max-count --context --sort --max-depth "
        "--max-columns --color --after-context --before-context",
    ),
    "find": _only(
        "-print -print0 -not -a -o -L -P -empty -prune -depth -xdev",
        "-name -iname -path -ipath -regex -iregex -type -maxdepth -mindepth -size -mtime -mmin -newer -perm",
    ),
    "tree": _only("-a -d -f -h -i -s -D --dirsfirst --du --gitignore --prune", "-L -I -P"),
    "stat": _only("-f -L -t", "-c --format"),
    "du": _only("-# -a -c -h -k -m -s -x --summarize --human-readable", "-d --max-depth --exclude"),
    "df": _only("-a -h -H -i -k -l -m -T --human-readable"),
    "file": _only("-b -i -L -k --brief --mime --mime-type"),
    "diff": _only("-# -u -r -q -N -w -b -B -i -y -s --brief --recursive --unified --color", "-U -x --exclude"),
    "cmp": _only("-b -l -s"),
    "uniq": _only("-c -d -i -u", "-f -s -w"),
    "cut": _only("-s --complement", "-d -f -c -b --delimiter --fields --characters"),
    "sort": _only("-n -r -u -h -V -f -b -g -M -c -s --numeric-sort --reverse --unique", "-k -t"),
    "echo": _only("-n -e -E"),
    "pwd": _only("-P -L"),
    "which": _only("-a"),
    "uname": _only("-a -s -r -m -n -v -p -o"),
    "mkdir": _only("-p -v --parents --verbose"),
    "touch": _only("-a -c -m"),
    "git status": _only("-s -b -u --short --branch --porcelain --ignored --untracked-files --show-stash"),
    "git log": _only(_LOG, _LOG_VALUED),
    "git show": _only(_LOG, _LOG_VALUED),
    "git diff": _only(_LOG, _LOG_VALUED),
    "git blame": _only("-w -M -C -s -e", "-L"),
    "git ls-files": _only("-c -d -m -o -s -u -z --others --exclude-standard --cached --modified"),
    "git rev-parse": _only("--short --verify --show-toplevel --abbrev-ref --is-inside-work-tree"),
    "git add": _only("-A -u -v -n --all --update --verbose --dry-run"),
    "git commit": _only("-a -q -v --all --quiet --verbose", "-m --message"),
    "pytest": _PYTEST, "python -m pytest": _PYTEST, "python3 -m pytest": _PYTEST,
    "ruff check": _only("-q -v --fix --diff --no-fix --statistics --quiet", "--select --ignore --extend-select"),
    "ruff format": _only("-q -v --check --diff --quiet", "--line-length"),
    "mypy": _only("-v --strict --ignore-missing-imports --no-error-summary --pretty --show-error-codes", "-p -m"),
    "black": _only("-q -v -S --check --diff --quiet --fast", "-l -t --line-length --target-version"),
    "isort": _only("-q -v -c --check --check-only --diff --quiet", "--profile -l"),
    "flake8": _only("-q -v --count --statistics --show-source", "--max-line-length --select --ignore --exclude"),
    "pylint": _only("-E -v --errors-only", "-j --disable --enable --jobs"),
    "eslint": _only("--fix --fix-dry-run --quiet --cache", "--ext --max-warnings"),
    "tsc": _only("--noEmit --strict --pretty --skipLibCheck --noEmitOnError -b --build"),
    "prettier": _only("-c -w -l --check --write --list-different"),
    "jest": _only("--verbose --silent --bail --ci --coverage -i --runInBand", "-t --testNamePattern --maxWorkers"),
    "vitest": _only("--silent --bail", "-t --testNamePattern"),
    "vitest run": _only("--silent --bail", "-t --testNamePattern"),
    "mocha": _only("-b --bail --parallel", "-g --grep -t --timeout"),
    "cargo build": _CARGO, "cargo check": _CARGO, "cargo test": _CARGO, "cargo clippy": _CARGO,
    "go build": _GO, "go test": _GO, "go vet": _GO,
    "ninja": _only("-v -n", "-j -k"),
    "ctest": _only("-V -N --output-on-failure --stop-on-failure", "-R -E -j -L"),
    "gcc": _COMPILER, "g++": _COMPILER, "clang": _COMPILER, "clang++": _COMPILER,
}  # fmt: skip
"""From each program's manual; a row is the words that begin the command."""

_NUMBER = re.compile(r"-\d{1,9}")


def starred_head(words: Sequence[str]) -> int:
    """How many words begin a command for which there is a list; 0 for others.

    >>> starred_head(["git", "log", "-3"]), starred_head(["git", "push", "origin"]), starred_head(["ls", "-l"])
    (2, 0, 1)
    """
    return next((most for most in (3, 2, 1) if len(words) >= most and " ".join(words[:most]) in _OPTIONS), 0)


def are_plain(head: Sequence[str], rest: Sequence[str], context: CommandContext) -> bool:
    """Whether every word of `rest` is an operand in the workspace, or an option of the list for `head`.

    >>> context = CommandContext("/w", "/home/me")
    >>> are_plain(["rg"], ["-i", "-C", "3", "word", "src"], context), are_plain(["rg"], ["--pre", "./x", "w"], context)
    (True, False)
    """
    options = _OPTIONS.get(" ".join(head))
    if options is None:
        return False
    words = list(rest)
    while words:
        word = words.pop(0)
        if word == "--":
            return all(_operand(other, context) for other in words)
        if not word.startswith("-") or word == "-":
            if not _operand(word, context):
                return False
            continue
        value = _value(word, options)
        if value is None or (value == "" and not words):
            return False
        if not _operand(value or words.pop(0), context):
            return False
    return True


_ALONE = "."
"""What `_value` answers for an option without a value: an operand that is always plain."""


def _value(word: str, options: Options) -> str | None:
    """The value of an option, empty when it is the next word; None for an option that is not on the list."""
    name, equals, value = word.partition("=")
    if word in options.flags or ("-#" in options.flags and _NUMBER.fullmatch(word)):
        return _ALONE
    if name in options.valued:
        return (value or None) if equals else ""
    if word.startswith("--"):
        return (value or None) if equals and name in options.flags else None
    for at, letter in enumerate(word[1:], 1):
        if f"-{letter}" in options.valued:
            return word[at + 1 :]
        if f"-{letter}" not in options.flags:
            return None
    return _ALONE


def _operand(word: str, context: CommandContext) -> bool:
    """Whether a word is no option, no list of options (`@file`), no address, and no path out of the workspace."""
    if not word or word[0] in "-+@~" or "://" in word or "::" in word[:4] or re.match(r"[\w.-]*:{0,2}//", word):
        return False
    if word.startswith("/") or ".." in word.split("/"):
        return place_of(word, context) in (
            PathLocation.INSIDE,
            PathLocation.WHOLE,
            PathLocation.SCRATCH,
        ) and not _above(word, context)
    return True


def _above(word: str, context: CommandContext) -> bool:
    """Whether a path is a folder that holds the workspace."""
    full = absolute(word, context)
    return posixpath.normpath(full) != posixpath.normpath(context.workspace) and context.workspace.startswith(
        full.rstrip("/") + "/"
    )
