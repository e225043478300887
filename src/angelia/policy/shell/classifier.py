"""What a shell command line risks, found by parsing it.

This is advice for the question that a person is asked; the confinement is the wall. So doubt counts as risk where it
is rare (a computed program name), and not where it is everyday (a variable in a file name that is read).
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from msgspec.structs import replace

from angelia.policy.path_location import absolute
from angelia.policy.shell.editing_scripts import AWKS, SEDS, awk_writes, editor_findings, sed_script
from angelia.policy.shell.file_effects import file_effects, read, written
from angelia.policy.shell.git import git_risks
from angelia.policy.shell.inline_code import (
    CODE_FLAGS,
    code_findings,
    code_scripts,
    emptied_by_code,
    interpreter_of,
    is_database_client,
    literals,
    query_findings,
)
from angelia.policy.shell.network import DECODES, DOWNLOADS, network_use
from angelia.policy.shell.parser import SimpleCommand, read_line
from angelia.policy.shell.programs import has_flag, operands_of, risks_of_program
from angelia.policy.shell.risk import CommandContext, Finding, Risk
from angelia.policy.shell.words import GLOB, HOLE, Word, ansi_text, names
from angelia.policy.shell.wrappers import SHELLS, InnerScript, inner_commands, join, program_of

_DEEPEST = 8
"""Commands within commands that are followed (`sh -c "sh -c …"`)."""
_MOST_FOLDERS = 8

_HIJACKS = names(
    "LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT BASH_ENV ENV PROMPT_COMMAND PS4 SHELLOPTS BASHOPTS GIT_CONFIG GIT_EXEC_PATH "
    "GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT GIT_TEMPLATE_DIR PYTHONSTARTUP "
    "PYTHONHOME PERL5OPT PERL5LIB RUBYOPT JAVA_TOOL_OPTIONS"
)
_COMMAND_SETTINGS = names(
    "PAGER GIT_PAGER MANPAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS "
    "SSH_ASKPASS SUDO_ASKPASS BROWSER LESSOPEN SHELL"
)
"""Variables whose value some program runs."""

_FOREIGN = re.compile(r"(?:\.|/(?:var/|private/)?tmp|/dev/shm)(?:[/:]|$)")
"""Folders that do not belong at the head of PATH."""

_SHELL_VALUED = names("-o -O +o +O --rcfile --init-file")
_STDIN = names("- /dev/stdin /proc/self/fd/0 /dev/fd/0")
_ONLY_TELLS = names("--version -V --help -h")


@lru_cache(maxsize=64)
def classify(command: str, context: CommandContext) -> tuple[Finding, ...]:
    """Every risk in a command line, each once, in the order of the line.

    Pure and total; 0.2 to 1 ms for lines that people write. Remembered, since a verdict asks more than once.

    >>> classify("echo 'rm -rf /'", CommandContext("/w", "/home/me"))
    ()
    >>> classify("git restore .", CommandContext("/w", "/home/me"))
    (Finding(risk=<Risk.DISCARDS: 'discards'>, reason='overwrites uncommitted changes', piece='git restore .'),)
    """
    reading = _Reading(context)
    reading.line(command, (), 0)
    return tuple(dict.fromkeys(reading.found))


class _Reading:
    """One pass over a line: what was found, where it may be by now, and what files it has made."""

    def __init__(self, context: CommandContext) -> None:
        self.found: list[Finding] = []
        self.grounds = [context]
        self.unseen_files: set[str] = set()
        self.written_scripts: dict[str, Word] = {}

    def line(self, text: str, feeds: tuple[SimpleCommand, ...], depth: int) -> None:
        context = self.grounds[0]
        if hidden := sorted({f"U+{ord(mark):04X}" for mark in text.replace("\r\n", "\n") if _hides(mark)}):
            self._add(Risk.UNREADABLE, f"holds characters that hide what it does ({', '.join(hidden[:3])})", text[:80])
        line = read_line(text, {"HOME": context.home, "PWD": context.cwd or context.workspace})
        for piece in line.unreadable:
            self._add(Risk.UNREADABLE, "cannot be read for sure", piece)
        for piece in line.bombs:
            self._add(Risk.EXHAUSTS, "defines a function that calls itself", piece)
        if not line.single:  # what is not there now may be by the time that a later command writes it
            self.grounds = [replace(one, absent=frozenset()) for one in self.grounds]
        for call in line.calls:
            self.call(replace(call, feeds=(*feeds, *call.feeds)), depth)

    def call(self, call: SimpleCommand, depth: int) -> None:
        program, rest = program_of(call), call.words[1:]
        if HOLE in program or GLOB in program or not program.isascii():
            self._add(Risk.UNREADABLE, "computes the name of the program that it runs", call.source)
        if depth > _DEEPEST:
            self._add(Risk.UNREADABLE, "hides a command within many others", call.source)
            return
        self._settings(call, depth)
        self.found += risks_of_program(program, rest, call.source)
        self.found += git_risks(rest, call.source) if program == "git" else []
        self.found += network_use(program, rest, call.source)
        self.found += query_findings(program, (*rest, *_queries(call, program)), call.source)
        self.found += editor_findings(program, rest, call.source)
        for context in self.grounds:
            self.found += file_effects(call, context)
        self._code(call, program, depth)
        self._runs_files(call, program, depth)
        self._reads_commands(call, program, depth)
        for inner in inner_commands(call):
            if isinstance(inner, SimpleCommand):
                self.call(inner, depth + 1)
            else:
                self._script(inner, call, depth)
        self._move(program, rest)
        self._note_files(call, program)

    def _add(self, risk: Risk, reason: str, piece: str) -> None:
        self.found.append(Finding(risk, reason, piece.replace("${_}", "…")))

    def _script(self, script: InnerScript, call: SimpleCommand, depth: int) -> None:
        """Judge text that a shell will read."""
        text = script.text
        if text.text.lstrip().startswith(HOLE) or (program_of(call) == "eval" and not text.known):
            self._add(Risk.RUNS_UNSEEN, "runs text that only running would tell", call.source)
        elif text.text.strip():
            self.line(text.script, call.feeds, depth + 1)

    def _settings(self, call: SimpleCommand, depth: int) -> None:
        for name, value in call.settings:
            ahead = name == "PATH" and _FOREIGN.match(value.text)
            if name in _HIJACKS or name.startswith("DYLD_") or ahead or (name == "NODE_OPTIONS" and "-r" in value.text):
                self._add(Risk.UNREADABLE, f"sets {name}, which changes what programs do", call.source)
            elif name in _COMMAND_SETTINGS:
                self._script(InnerScript(value), call, depth)

    def _code(self, call: SimpleCommand, program: str, depth: int) -> None:
        """Judge `python -c CODE` and its like."""
        family, rest = interpreter_of(program), call.words[1:]
        if program in AWKS or program in SEDS:
            self._editing(call, program, depth)
            return
        flags = CODE_FLAGS.get(family, frozenset())
        for at, word in enumerate(rest):
            bundled = word.text[:1] == "-" and word.text[1:].isalpha() and f"-{word.text[-1]}" in flags
            if word.text in flags or bundled:
                self._judge_code(rest[at + 1] if at + 1 < len(rest) else Word("", ""), call, depth)
                return
            name, equals, value = word.text.partition("=")
            if equals and name in flags:
                self._judge_code(Word(value, word.source), call, depth)
                return

    def _editing(self, call: SimpleCommand, program: str, depth: int) -> None:
        """Judge what a script of `sed` or `awk` runs and writes."""
        rest, files = call.words[1:], list[tuple[str, str]]()
        if program in SEDS:
            script = sed_script(rest)
            files = [(path, "empty") for path in script.writes]
            for text in script.runs:
                self._script(InnerScript(Word(text or HOLE, call.source)), call, depth)
        for code in operands_of(rest)[:1] if program in AWKS else ():
            files = [(path, "empty" if bare or path == HOLE else "overwrite") for path, bare in awk_writes(code.text)]
            for text in code_scripts(code.script + " system") if {"system", "|"} & _marks(code.text) else ():
                self.line(text, (), depth + 1)
        for context in self.grounds:
            for path, how in files:
                self.found += written(Word(path, path.replace(HOLE, "…")), context, call.source, how)

    def _judge_code(self, code: Word, call: SimpleCommand, depth: int) -> None:
        if code.text.lstrip().startswith(HOLE):
            self._add(Risk.RUNS_UNSEEN, "runs code that only running would tell", call.source)
        self.found += code_findings(code.text, call.source)
        if (emptied := emptied_by_code(code.text)) is not None:
            targets = [Word(path, path) for path in emptied or [HOLE]]
            self.found += [f for g in self.grounds for word in targets for f in written(word, g, call.source, "empty")]
        words = [Word(literal, literal) for literal in literals(code.text) if set("/.~") & set(literal)]
        self.found += [finding for context in self.grounds for word in words for finding in read(word, context)]
        for text in code_scripts(code.script):
            self.line(text, (), depth + 1)

    def _runs_files(self, call: SimpleCommand, program: str, depth: int) -> None:
        """Judge a script file that is run: one that was downloaded, or written in this very line."""
        rest = call.words[1:]
        runner = program in SHELLS or program in {"source", "."} or bool(interpreter_of(program))
        files = _script_operands(rest, program)[:1] if runner else list(call.words[:1])
        for file in files:
            if runner and HOLE in file.text and (file.text == HOLE or program in SHELLS or program in {"source", "."}):
                self._add(Risk.RUNS_UNSEEN, "runs a script that only running would tell", call.source)
            path = absolute(file.text, self.grounds[-1])
            if path in self.unseen_files:
                self._add(Risk.RUNS_UNSEEN, f"runs {file.source}, which this line downloads or decodes", call.source)
            elif path in self.written_scripts and not interpreter_of(program):
                self._script(InnerScript(self.written_scripts.pop(path)), call, depth)

    def _reads_commands(self, call: SimpleCommand, program: str, depth: int) -> None:
        """Judge what a shell or interpreter reads at its standard input."""
        if not _takes_stdin(call, program):
            return
        given = [redirect.target for redirect in call.redirects if redirect.operator in {"<<", "<<<"}]
        files = [redirect.target for redirect in call.redirects if redirect.operator == "<"]
        texts = given or (_printed(call.feeds) if not files else [])
        for text in texts:
            if interpreter_of(program):
                self._judge_code(text, call, depth)
            else:
                self._script(InnerScript(text), replace(call, feeds=()), depth)
        unseen = any(not file.known or absolute(file.text, self.grounds[-1]) in self.unseen_files for file in files)
        if unseen or (call.feeds and not texts and not files):
            self._add(Risk.RUNS_UNSEEN, f"lets {program} run whatever comes down the pipe", call.source)

    def _move(self, program: str, rest: Sequence[Word]) -> None:
        """Follow `cd`: from here on it may be there, or, had it failed, still here."""
        if program not in {"cd", "pushd"} or len(self.grounds) >= _MOST_FOLDERS:
            return
        target = next((word.text for word in operands_of(rest)), self.grounds[0].home)
        for context in list(self.grounds):
            place = absolute(HOLE if target == "-" else target, context)
            self.grounds.append(replace(context, cwd=place))
        self.grounds = list(dict.fromkeys(self.grounds))

    def _note_files(self, call: SimpleCommand, program: str) -> None:
        """Remember files whose content comes from elsewhere, or is written out in this line."""
        sources = {program, *(program_of(feed) for feed in call.feeds)}
        targets = [redirect.target for redirect in call.redirects if redirect.operator in {">", ">>", ">|", "&>"}]
        targets += operands_of(call.words[1:]) if program == "tee" else []
        texts = _printed((call,)) or _printed(call.feeds)
        if sources & (DOWNLOADS | DECODES):
            named = [*targets, *(call.words[1:] if program in DOWNLOADS else ())]
            for context in self.grounds:
                self.unseen_files |= {absolute(word.text, context) for word in named if "://" not in word.text}
                self.unseen_files |= {
                    absolute(word.text.rstrip("/").rsplit("/", 1)[-1], context) for word in named if "://" in word.text
                }
        elif texts:
            self.written_scripts |= {
                absolute(word.text, context): texts[0] for word in targets for context in self.grounds
            }


def _marks(code: str) -> set[str]:
    return {mark for mark in ("system", "|") if mark in code}


def _queries(call: SimpleCommand, program: str) -> list[Word]:
    """What a database client reads at its standard input, where the line says so."""
    given = [redirect.target for redirect in call.redirects if redirect.operator in {"<<", "<<<"}]
    return (given or _printed(call.feeds)) if is_database_client(program) else []


def _hides(mark: str) -> bool:
    """Whether a character is invisible or moves the text around it."""
    return mark not in "\n\t" and unicodedata.category(mark) in {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}


def _script_operands(rest: Sequence[Word], program: str) -> list[Word]:
    """The script that a shell or interpreter is given as a file, with its arguments; none after `-c`, `-m` or `-s`."""
    flags = CODE_FLAGS.get(interpreter_of(program), names("-c -s")) | names("-m")
    plain: list[Word] = []
    skip = False
    for word in rest:
        if skip or word.text in _SHELL_VALUED:
            skip = not skip
        elif plain or not word.text.startswith(("-", "+")) or word.text == "-":
            plain.append(word)
        elif has_flag([word], flags) and program not in {"source", "."}:
            return []
    return [] if plain[:1] and plain[0].text in _STDIN else plain


def _takes_stdin(call: SimpleCommand, program: str) -> bool:
    rest = call.words[1:]
    if program in {"source", "."}:
        return any(word.text in _STDIN for word in rest)
    family = interpreter_of(program)
    if program not in SHELLS and not family:
        return False
    if any(word.text in _ONLY_TELLS for word in rest) or _script_operands(rest, program):
        return False
    coded = has_flag(rest, CODE_FLAGS[family] | names("-m") if family else names("-c"))
    return not coded


def _printed(feeds: tuple[SimpleCommand, ...]) -> list[Word]:
    """What the last call of a pipe prints, where the line says so: `echo TEXT`, `cat` of a here-document."""
    if len(feeds) != 1:
        return []
    call = feeds[0]
    match program_of(call):
        case "echo" | "printf":
            words = [word for word in call.words[1:] if word.text not in {"-n", "-e", "-ne", "-en", "-E"}]
            text = join(words)
            return [Word(ansi_text(text.text) if "\\" in text.text else text.text, text.source)]
        case "cat":
            return [redirect.target for redirect in call.redirects if redirect.operator in {"<<", "<<<"}]
        case _:
            return []
