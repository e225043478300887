"""What the scripts of `sed`, `awk`, `ed` and `vim` do besides printing: files they write, commands they run."""

import re
from collections.abc import Sequence

from msgspec import Struct

from angelia.policy.shell.programs import has_flag, operands_of
from angelia.policy.shell.risk import Finding, Risk
from angelia.policy.shell.words import HOLE, Word, names

SEDS = names("sed gsed")
AWKS = names("awk gawk mawk nawk")
_LINE_EDITORS = names("ed red ex")
_VIMS = names("vim vi nvim gvim view vimdiff")
_BATCH = names("-e -es -E -Es -s -c --cmd -S --headless -w -W")

_ADDRESS = re.compile(
    r"\s*(?:(?:\d+|\$)(?:~\d+)?|[~+]\d+|/(?:\\.|[^/\\\n])*/[IM]*|\\(.)(?:\\.|(?!\1)[^\\\n])*\1[IM]*)\s*"
)
_PRINTS_TO = re.compile(
    r"\bprintf?\b(?P<what>(?:\"(?:\\.|[^\"\\])*\"|[^\"|;}\n>])*)>>?\s*(?P<to>\"(?:\\.|[^\"\\])*\"|[^\s;}]+)"
)
_TO_SHELL = re.compile(r"\|&?\s*\"\s*(?:[^\"\s]*/)?(?:env\s+)?(?:ba|z|da|k)?sh\b")


class Script(Struct, frozen=True):
    """`runs` are command lines, empty ones for what stands in the input; `writes` are files that are emptied first.

    `empties` says that nothing of the input is kept.
    """

    runs: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    empties: bool = False


def sed_script(rest: Sequence[Word]) -> Script:
    """What the scripts of a `sed` command do, read after sed's own grammar (POSIX, with GNU's `e`, `w` and addresses).

    >>> sed_script([Word("1e rm a", ""), Word("x", "")]).runs, sed_script([Word("s/w/e/", "")])
    (('rm a',), Script(runs=(), writes=(), empties=False))
    """
    texts = _sed_texts(rest)
    found = [_sed(text) for text in texts]
    return Script(
        tuple(run for script in found for run in script.runs),
        tuple(path for script in found for path in script.writes),
        any(script.empties for script in found),
    )


def _sed_texts(rest: Sequence[Word]) -> list[str]:
    texts: list[str] = []
    words = [word.text for word in rest]
    for at, word in enumerate(words):
        if word in {"-e", "--expression"} or re.fullmatch(r"-[nErsuz]*e", word):
            texts += words[at + 1 : at + 2]
        elif word.startswith("--expression="):
            texts.append(word.partition("=")[2])
    scripted = texts or any(re.match(r"-[nErsuzi]*f|--file", word) for word in words)
    return texts if scripted else [word.text for word in operands_of(rest)[:1]]


def _sed(text: str) -> Script:
    runs: list[str] = []
    writes: list[str] = []
    empties = False
    at = 0
    while at < len(text):
        if text[at] in " \t\n;{}":
            at += 1
            continue
        start = at
        while (found := _ADDRESS.match(text, at)) and found.end() > at:
            at = found.end() + (1 if text[found.end() : found.end() + 1] == "," else 0)
        whole = re.sub(r"\s", "", text[start:at]) in {"", "1,$", "0~1"}
        while text[at : at + 1] in {"!", " "}:
            at += 1
        command, at = text[at : at + 1], at + 1
        if command in ("s", "y"):
            at = _after_parts(text, at)
            flags = re.compile(r"[gpiIemM0-9]*").match(text, at)
            at = flags.end() if flags else at
            if command == "s" and flags and "e" in flags[0]:
                runs.append("")
            if command == "s" and text[at : at + 1] == "w":
                at, path = _to_line_end(text, at + 1)
                writes.append(path)
        elif command in ("e", "w", "W", "r", "R", "a", "i", "c", ":", "b", "t", "T", "#"):
            at, tail = _to_line_end(text, at)
            runs += [tail] if command == "e" else []
            writes += [tail] if command in ("w", "W") else []
        else:
            empties = empties or (command == "d" and whole)
    return Script(tuple(runs), tuple(writes), empties)


def _after_parts(text: str, at: int) -> int:
    """Where the flags of `s/…/…/` begin, whatever character parts it."""
    mark = text[at : at + 1]
    at += 1
    for _ in range(2):
        while at < len(text) and text[at] != mark:
            at += 2 if text[at] == "\\" else 1
        at += 1
    return min(at, len(text))


def _to_line_end(text: str, at: int) -> tuple[int, str]:
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return end, text[at:end].strip()


def awk_writes(code: str) -> list[tuple[str, bool]]:
    """The files that an `awk` program prints into, `HOLE` for computed ones, and whether with nothing to print.

    >>> awk_writes('{print "" > "a.py"}'), awk_writes("NR > 1 {print}")
    ([('a.py', True)], [])
    """
    found: list[tuple[str, bool]] = []
    for match in _PRINTS_TO.finditer(code):
        target = match["to"]
        quoted = len(target) > 1 and target[0] == target[-1] == '"'
        found.append((target[1:-1] if quoted else HOLE, match["what"].strip(" ()") == '""'))
    return found


def editor_findings(program: str, rest: Sequence[Word], piece: str) -> list[Finding]:
    """Findings for editors that are given commands instead of a person at the keys, and for lines handed to a shell."""
    words = [word.text for word in rest]
    tells = any(word in {"--version", "-h", "--help"} for word in words)
    batch = has_flag(rest, _BATCH) or any(re.match(r"\+(?!\d+$).", word) for word in words)
    if not tells and (program in _LINE_EDITORS or (program in _VIMS and batch)):
        return [Finding(Risk.TRUNCATES, "changes files by an editor's commands, which nobody has read", piece)]
    if program in AWKS and any(_TO_SHELL.search(word) for word in words):
        return [Finding(Risk.RUNS_UNSEEN, "lets a shell run whatever stands in its input", piece)]
    if program in AWKS and "inplace" in " ".join(words) and not any("print" in word for word in words):
        return [Finding(Risk.TRUNCATES, "rewrites files in place without printing into them", piece)]
    nothing = has_flag(rest, names("-n")) and not any("print" in word or "say" in word for word in words)
    if program == "perl" and has_flag(rest, names("-i")) and nothing:
        return [Finding(Risk.TRUNCATES, "rewrites files in place without printing into them", piece)]
    return []
