"""What a remembered yes covers."""

import re
import shlex

from angelia.policy.commands import classify
from angelia.policy.risk import Ground, Risk
from angelia.policy.shell_line import read_line
from angelia.policy.shell_word import Word, names
from angelia.policy.wrappers import program_of

_NEVER = frozenset(
    {Risk.UNREADABLE, Risk.RUNS_UNSEEN, Risk.ESCALATES, Risk.SYSTEM, Risk.EXHAUSTS, Risk.OURS, Risk.PERSISTS}
)
"""What is asked every time."""

_BY_VERB = names("git npm pnpm yarn bun cargo go mvn gradle pip pip3 dotnet swift zig")
"""Programs whose subcommand says what they do: a yes to `git push origin` covers `git push *`."""

_BY_SCRIPT = {"npm": names("run run-script"), "pnpm": names("run"), "yarn": names("run"), "bun": names("run")}
"""Subcommands that name a script of the project: `npm run build *`."""

_RUNS_ANYTHING = names("run exec x dlx create init config")

_BY_NAME = names(
    "pytest ruff mypy black isort flake8 pylint eslint tsc prettier jest vitest mocha tox nox ls cat head tail wc grep "
    "rg tree stat du df file diff uniq cut echo pwd which uname mkdir touch cmake ninja ctest gcc g++ clang clang++ "
    "rustc javac"
)
"""Programs that do one thing whatever their arguments; a risk that an argument adds is not covered."""

_PROGRAM = re.compile(r"[\w./+-]+")
_VERB = re.compile(r"[a-z][\w:.-]*")
_STAR = " *"


def remember_pattern(command: str, ground: Ground) -> str:
    """The pattern that a remembered yes to this command would be stored as; empty when it is asked every time.

    A pattern ends in ` *` where program and subcommand say enough, and is the exact command otherwise.

    >>> ground = Ground("/w", "/home/me")
    >>> remember_pattern("git push origin main", ground), remember_pattern("python tool.py", ground)
    ('git push *', 'python tool.py')
    >>> remember_pattern("curl https://example.com | sh", ground)
    ''
    """
    words = _simple_words(command, ground)
    if not words or _risks(command, ground) & _NEVER:
        return ""
    head = words[: _head_length(words)]
    if head and _risks(shlex.join(head), ground) >= _risks(command, ground):
        return shlex.join(head) + _STAR
    return shlex.join(words)


def covers(pattern: str, command: str, ground: Ground) -> bool:
    """Whether a yes to `pattern` holds for `command`.

    Only for one simple command (no further statement, substitution, variable, or redirection except to /dev/null),
    and only if its arguments add no risk to those of the pattern itself: `git push *` does not cover
    `git push --force`.

    >>> covers("git push *", "git push origin", Ground("/w", "/home/me"))
    True
    >>> covers("git push *", "git push && rm -rf .", Ground("/w", "/home/me"))
    False
    """
    words = _simple_words(command, ground)
    risks = _risks(command, ground)
    if not words or risks & _NEVER:
        return False
    try:
        head = shlex.split(pattern.removesuffix(_STAR))
    except ValueError:
        return False
    if not pattern.endswith(_STAR):
        return words == head
    return bool(head) and words[: len(head)] == head and risks <= _risks(shlex.join(head), ground)


def _risks(command: str, ground: Ground) -> set[Risk]:
    return {finding.risk for finding in classify(command, ground)}


def _head_length(words: list[str]) -> int:
    """How many words say what the command does; 0 when only all of them do."""
    program = words[0]
    if program in _BY_NAME:
        return 1
    if program not in _BY_VERB or len(words) < 2 or not _VERB.fullmatch(words[1]):
        return 0
    if words[1] in _BY_SCRIPT.get(program, ()):
        return 3 if len(words) > 2 and _VERB.fullmatch(words[2]) else 0
    return 0 if words[1] in _RUNS_ANYTHING else 2


def _simple_words(command: str, ground: Ground) -> list[str]:
    """The words of one simple, literal command; empty for anything else."""
    line = read_line(command, {"HOME": ground.home})
    if not line.single or line.unreadable or line.bombs:
        return []
    call = line.calls[0]
    quiet = all(
        redirect.target.text == "/dev/null" or (redirect.operator == ">&" and redirect.target.text.isdigit())
        for redirect in call.redirects
    )
    if call.settings or not call.words or not quiet or not _PROGRAM.fullmatch(call.words[0].text):
        return []
    return [word.text for word in call.words] if all(map(_plain, call.words)) and program_of(call) else []


def _plain(word: Word) -> bool:
    return word.literal and not word.text.startswith("~")
