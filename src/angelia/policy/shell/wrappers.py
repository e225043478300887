"""Commands that run other commands: what `env`, `xargs`, `sh -c`, `find -exec` and their like would run."""

import re
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from angelia.policy.shell.parser import SimpleCommand
from angelia.policy.shell.words import GLOB, HOLE, Word, names


class InnerScript(Struct, frozen=True):
    """Text that a shell will read as a command line."""

    text: Word


class Prefix(Struct, frozen=True):
    """How a wrapper writes its own part: options that take a value, and operands before the inner command."""

    valued: frozenset[str] = frozenset()
    operands: int = 0


SHELLS = names("sh bash zsh dash ksh mksh ash fish rbash posh csh tcsh pwsh")

_UNKNOWN = Word(HOLE, "…")

_HOST_OPTIONS = names("-p -i -l -o -F -J -L -R -D -b -c -E -I -m -O -Q -S -W -w -t -n -s -x -y")


def _prefix(valued: str = "", operands: int = 0) -> Prefix:
    return Prefix(names(valued), operands)


_PREFIXES: dict[str, Prefix] = {
    "env": _prefix("-u --unset -C --chdir"),
    "sudo": _prefix("-u -g -h -p -C -r -t -U -D -R -T --user --group --host --prompt --chdir"),
    "doas": _prefix("-u -C"),
    "pkexec": _prefix("--user"),
    "nice": _prefix("-n --adjustment"),
    "ionice": _prefix("-c -n --class --classdata"),
    "timeout": _prefix("-k -s --kill-after --signal", 1),
    "gtimeout": _prefix("-k -s --kill-after --signal", 1),
    "time": _prefix("-f -o --format --output"),
    "stdbuf": _prefix("-i -o -e --input --output --error"),
    "exec": _prefix("-a"),
    "chroot": _prefix("--userspec --groups", 1),
    "strace": _prefix("-e -o -p -s -u -E -I -O -S -P"),
    "ltrace": _prefix("-e -o -p -s -u -l -n"),
    "flock": _prefix("-w -E --timeout --conflict-exit-code", 1),
    "taskset": _prefix("", 1),
    "chrt": _prefix("-T -P -D", 1),
    "nsenter": _prefix("-t --target -S -G"),
    "unshare": _prefix("-S -G -R -w"),
    "systemd-run": _prefix("-p -u -E --unit --property --setenv --description --slice"),
    "watch": _prefix("-n --interval"),
    "xargs": _prefix("-I -n -P -L -d -E -s -a --max-args --max-procs --max-lines --delimiter --arg-file --replace"),
    "parallel": _prefix("-j --jobs -a --arg-file -I --colsep"),
    "direnv": _prefix("", 2),
    "hyperfine": _prefix("-w -r -m -M --warmup --runs -n -N -S -p -c --prepare --cleanup"),
    "valgrind": _prefix(),
    "runuser": _prefix("-u -g -G -l --user --group"),
    **dict.fromkeys(names(
        "nohup setsid command builtin coproc busybox toybox caffeinate firejail proot unbuffer chronic setarch "
        "setpriv catchsegv rlwrap noglob nocorrect dbus-run-session xvfb-run fakeroot entr"
    ), _prefix()),
}  # fmt: skip

_RUNNERS: dict[str, tuple[str, ...]] = {
    "uv": ("run",), "poetry": ("run",), "pipenv": ("run",), "pdm": ("run",), "hatch": ("run",), "rye": ("run",),
    "bundle": ("exec",), "npm": ("exec", "x"), "pnpm": ("exec",), "yarn": ("exec",), "conda": ("run",),
    "mise": ("exec", "x"), "asdf": ("exec",), "nix": ("run", "shell"), "op": ("run",), "doppler": ("run",),
}  # fmt: skip
"""Program and subcommand after which another command follows."""

_SCRIPT_FLAGS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(SHELLS, ("-c", "--command")),
    "su": ("-c", "--command"), "script": ("-c", "--command"), "sg": ("-c",), "flock": ("-c", "--command"),
    "env": ("-S", "--split-string"), "runuser": ("-c", "--command"), "rsync": ("-e", "--rsh"), "scp": ("-S",),
    "tar": ("--to-command", "-I", "--use-compress-program"), "man": ("-P", "--pager"), "entr": ("-s",),
    "vim": ("-c",), "vi": ("-c",), "nvim": ("-c",), "ex": ("-c",), "sftp": ("-S",), "zip": ("-TT", "--unzip-command"),
    "split": ("--filter",), "sort": ("--compress-program",), "nix-shell": ("--run", "--command"),
}  # fmt: skip
"""Options whose value a shell reads, or that names a program."""


def inner_commands(call: SimpleCommand) -> list[SimpleCommand | InnerScript]:
    """What this command would run on behalf of itself; empty for a command that runs nothing else."""
    program, rest = program_of(call), call.words[1:]
    values = _flag_values(rest, _SCRIPT_FLAGS.get(program, ()))
    # An editor's command line escapes to a shell with `!`.
    inner: list[SimpleCommand | InnerScript] = [
        InnerScript(Word(value.text.lstrip(":!"), value.source)) for value in values
    ]
    match program:
        case "eval":
            inner.append(InnerScript(join(rest)))
        case "trap":
            inner += [InnerScript(word) for word in rest[:1] if len(rest) > 1]
        case "alias":
            inner += [InnerScript(Word(value, word.source)) for word in rest if (value := word.text.partition("=")[2])]
        case "find" | "fd" | "fdfind" | "bfs":
            inner += [_again(call, words) for words in _find_commands(rest)]
        case "ssh" | "tmux" | "screen":
            inner += _after_host(rest)
        case "git":
            inner += [InnerScript(word) for word in _git_scripts(rest)]
        case "watch" | "hyperfine" | "parallel":
            words = _after_prefix(rest, _PREFIXES[program])
            inner.append(InnerScript(join((*words, _UNKNOWN) if program == "parallel" else words)))
        case "tar":
            inner += [
                InnerScript(Word(w.text.partition("exec=")[2], w.source)) for w in rest if "action=exec=" in w.text
            ]
        case _ if program in _PREFIXES:
            words = _after_prefix(rest, _PREFIXES[program])
            looks = program == "command" and any(word.text in {"-v", "-V"} for word in rest[:1])
            words = _from_input(rest, words) if program == "xargs" else words
            inner += [_again(call, words)] if words and not looks else []
        case _ if rest and rest[0].text in _RUNNERS.get(program, ()):
            inner += [_again(call, words)] if (words := _after_prefix(rest[1:], Prefix())) else []
        case _:
            pass
    return inner


def program_of(call: SimpleCommand) -> str:
    """The program's own name, in one case: a Mac runs `/bin/RM`. Empty when there is none."""
    return call.words[0].text.rsplit("/", 1)[-1].casefold() if call.words else ""


def join(words: Sequence[Word]) -> Word:
    """Several words as one, as `eval` reads them."""
    return Word(" ".join(word.text for word in words), " ".join(word.source for word in words))


def _again(call: SimpleCommand, words: Sequence[Word]) -> SimpleCommand:
    settings = tuple(
        (name, Word(value, word.source)) for word in call.words[1:] for name, eq, value in [word.text.partition("=")]
        if eq and name.isidentifier() and word not in words
    )  # fmt: skip
    return SimpleCommand(tuple(words), call.source, call.redirects, settings, call.feeds)


def _after_prefix(rest: Sequence[Word], prefix: Prefix) -> Sequence[Word]:
    """The words after a wrapper's options, settings and operands."""
    at, operands = 0, prefix.operands
    while at < len(rest):
        text = rest[at].text
        if text == "--":
            return rest[at + 1 + operands :]
        if text in prefix.valued:
            at += 2
        elif (text.startswith("-") and text != "-") or ("=" in text and text.partition("=")[0].isidentifier()):
            at += 1
        elif operands:
            at, operands = at + 1, operands - 1
        else:
            break
    return rest[at:]


def _from_input(rest: Sequence[Word], words: Sequence[Word]) -> Sequence[Word]:
    """What `xargs` runs: its words with the input, which nobody knows yet, in place of the `-I` mark or at the end."""
    marks = [value.text for value in _flag_values(rest[: len(rest) - len(words)], ("-I", "-i", "--replace"))] or ["{}"]
    return (*(Word(word.text.replace(marks[0], HOLE), word.source) for word in words), _UNKNOWN) if words else ()


def _flag_values(rest: Sequence[Word], flags: Sequence[str]) -> list[Word]:
    """Values of the given options, also attached (`--x=v`) and bundled (`-lc v`)."""
    values: list[Word] = []
    for at, word in enumerate(rest):
        name, eq, value = word.text.partition("=")
        if eq and name in flags and name.startswith("--"):
            values.append(Word(value, word.source))
        elif word.text in flags or (_bundle(word.text) and any(f"-{word.text[-1]}" == flag for flag in flags)):
            following = (rest[i] for i in range(at + 1, len(rest)) if not rest[i].text.startswith(("-", "+")))
            values += [word for word in [next(following, None)] if word]
        elif any(len(flag) == 2 and word.text.startswith(flag) and len(word.text) > 2 for flag in flags):
            values.append(Word(word.text[2:], word.source))
    return values


def _bundle(text: str) -> bool:
    return len(text) > 2 and text[0] == "-" and text[1:].isalpha()


def _find_commands(rest: Sequence[Word]) -> list[tuple[Word, ...]]:
    found: list[tuple[Word, ...]] = []
    named = found_by_name(rest)
    for at, word in enumerate(rest):
        if word.text in {"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"}:
            tail = rest[at + 1 :]
            end = next((i for i, other in enumerate(tail) if other.text in {";", "+"}), len(tail))
            words = tuple(
                one
                for w in tail[:end]
                for one in (named if named and w.text == "{}" else [Word(w.text.replace("{}", HOLE + GLOB), w.source)])
            )
            # fd adds what it found at the end; find takes only what `{}` names.
            found.append(words if "exec" in word.text and word.text[1] != "-" else (*words, _UNKNOWN))
    return found


def found_by_name(rest: Sequence[Word]) -> list[Word]:
    """What `find ROOT… -name NAME` finds, as words with a wildcard in front; empty where more could be found.

    >>> words = [Word(text, text) for text in (".", "-name", "*.pyc", "-delete")]
    >>> [word.source for word in found_by_name(words)], found_by_name([words[0], words[3], *words[1:3]])
    (['./**/*.pyc'], [])
    """
    texts = [word.text for word in rest]
    named = [after for word, after in pairwise(texts) if word == "-name"]
    wider = {"-o", "-or", "-not", "!", ",", "-path", "-newer"} & set(texts)
    acts = next((at for at, text in enumerate(texts) if text.startswith(("-delete", "-exec", "-ok"))), 0)
    if len(named) != 1 or wider or texts.index("-name") > acts:  # what stands before its test does not wait for it
        return []
    ends = next((at for at, text in enumerate(texts) if text.startswith(("-", "("))), 0)
    shape = re.sub(r"[*?]|\[[^\]]*\]", GLOB, named[0])
    return [Word(f"{root}/{GLOB}/{shape}", f"{root}/**/{named[0]}") for root in texts[:ends] or ["."]]


def _after_host(rest: Sequence[Word]) -> list[SimpleCommand | InnerScript]:
    """What runs on the other side of `ssh HOST`, and the proxy command that runs on this one."""
    words = _after_prefix(rest, Prefix(_HOST_OPTIONS, 1))
    lowered = [(word.text.casefold(), word) for word in rest]
    proxies = [word for text, word in lowered if text.removeprefix("-o").startswith(("proxycommand=", "localcommand="))]
    scripts = [Word(word.text.partition("=")[2], word.source) for word in proxies]
    return [InnerScript(word) for word in (*scripts, *([join(words)] if words else []))]


def _git_scripts(rest: Sequence[Word]) -> list[Word]:
    texts = [word.text for word in rest]
    scripts = _flag_values(rest, ("--exec", "--tree-filter", "--index-filter", "--msg-filter", "--upload-pack"))
    if "rebase" in texts:
        scripts += _flag_values(rest, ("-x",))
    for first, second in (("submodule", "foreach"), ("bisect", "run")):
        if first in texts and second in texts[texts.index(first) :]:
            words = [word for word in rest[texts.index(second) + 1 :] if word.text != "--recursive"]
            scripts.append(join(words))
    aliases = [word for word in rest if word.text.startswith("alias.") and "=!" in word.text]
    return scripts + [Word(word.text.partition("=!")[2], word.source) for word in aliases]
