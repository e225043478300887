"""Which commands only look, for the plan mode."""

from angelia.policy.shell.parser import SimpleCommand, read_line
from angelia.policy.shell.programs import abbreviates, has_flag, operands_of
from angelia.policy.shell.risk import CommandContext
from angelia.policy.shell.words import HOLE, names
from angelia.policy.shell.wrappers import inner_commands, program_of

_LOOKS = names(
    "ls cat head tail wc grep egrep fgrep rg ag find fd tree stat file du df diff cmp sort uniq cut tr echo printf pwd "
    "which type date uname whoami id basename dirname realpath readlink nl od xxd hexdump strings md5sum sha1sum "
    "sha256sum column comm join paste fold jq test [ true false : cd seq rev tac printenv"
)
_WRITES = {
    "find": names("-delete -fprint -fprintf -fprint0 -fls"),
    "fd": names("-x -X --exec --exec-batch"),
    "sort": names("-o --output --compress-program"),
    "tree": names("-o --output"),
    "date": names("-s --set"),
    "xxd": names("-r"),
    "rg": names("--pre --hostname-bin"),
    "file": names("-C --compile"),
    "git": names("--output -O --ext-diff --textconv --open-files-in-pager"),
}
"""Options with which a program that looks would write or run something."""
_GIT = names(
    "log show diff status blame ls-files ls-tree rev-parse describe shortlog grep cat-file rev-list merge-base "
    "name-rev whatchanged diff-tree for-each-ref count-objects check-ignore version"
)


def only_looks(command: str, context: CommandContext) -> bool:
    """Whether every program in the line only reads. Programs that are not known to do so do not.

    >>> context = CommandContext("/w", "/home/me")
    >>> only_looks("git log | head", context), only_looks("make", context)
    (True, False)
    """
    line = read_line(command, {"HOME": context.home})
    return not line.unreadable and all(_looks(call) for call in line.calls)


def _looks(call: SimpleCommand) -> bool:
    program, rest = program_of(call), call.words[1:]
    if call.settings or inner_commands(call) or not program or "/" in call.words[0].text:
        return not call.words and not call.redirects
    if any(word.text.startswith(HOLE) for word in call.words[:2]):
        return False
    writes = _WRITES.get(program, frozenset())
    if has_flag(rest, writes) or abbreviates(rest, writes):
        return False
    if program in {"uniq", "xxd"} and len(operands_of(rest)) > 1:
        return False
    return program in _LOOKS or (program == "git" and bool(rest) and rest[0].text in _GIT)
