"""What a step of a small model would do to files that nobody asked for; it is not done.

Three rules, each by what was said and what is there. A file that is there is changed only where somebody spoke of it,
in this message or in the exchange before it, and a new one that nobody named is made only where a file is asked for. In
a file that was there, only what was named is changed. What a command takes away is called by its whole name.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from angelia.models.local.steps import FOLDER, CurrentTurn, NextStep, names_found, words_in

FILE_NAME = re.compile(r"[\w.-]+\.[A-Za-z][A-Za-z0-9]{0,4}\b")
"""What looks like a file's name, whatever the language around it."""
_ASKS_FOR_FILE = re.compile(
    r"\b(?:files?|documents?|scripts?|programs?|save|datei(?:en)?|dokumente?|skripte?|programme?|speicher\w*|archivos?"
    r"|ficheros?|documentos?|programas?|guard\w+|fichiers?|enregistr\w+|файл\w*|сохрани\w*)\b|文件|文档|脚本|程序|保存"
    r"|ファイル|파일",
    re.IGNORECASE,
)
"""Words for a file, in the languages that such weights know. Where none of them is said, a new file has to be named."""
_LEAST_WORD = 3
"""Characters of a word that a file can be called by instead of its name, as by `letter` for letter.txt."""

_TAKES_AWAY = r"\b(?:rm|rmdir|shred|truncate|unlink|mv|dd)\b|-delete\b"
_DESTROYS = re.compile(rf"{_TAKES_AWAY}|(?<![>&\d])>(?!>|&)")
"""Words of a command by which files are lost."""


def unspoken_file(step: NextStep, turn: CurrentTurn) -> str:
    """The file that a step would change or make though nobody spoke of it; empty if there is none.

    What was made in this very turn may be changed. A file that may be there unseen, in another folder or beyond the end
    of a long listing, has to be named.
    """
    said = f"{turn.wish}\n{turn.before}"
    made = set(turn.names()) - names_found(turn)
    for path in changed_files(step, turn):
        if path in made or named(path, said):
            continue
        called = path in names_found(turn) and _called(path, said)
        if not called and not (_surely_new(path, turn) and _asks_for(path, turn.wish)):
            return path
    return ""


def named(path: str, text: str) -> bool:
    """Whether a file's whole name stands in a text, and not as a part of another name.

    >>> named("a.md", "Read a.md."), named("a.md", "Read data.md"), named("a.md", "打开A.MD吧")
    (True, False, True)
    """
    name = PurePosixPath(path).name
    return bool(name and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", text, re.ASCII | re.IGNORECASE))


def _called(path: str, text: str) -> bool:
    """Whether a file is called by its name, or by the words of it: `shopping list` for shopping-list.txt."""
    stem = [word for word in re.split(r"[\W_]+", PurePosixPath(path).stem.lower()) if len(word) >= _LEAST_WORD]
    return named(path, text) or (bool(stem) and words_in(text).issuperset(stem))


def _asks_for(path: str, wish: str) -> bool:
    """Whether a message asks for a file that is not there yet, and that it does not name."""
    return bool(_ASKS_FOR_FILE.search(wish) or (FILE_NAME.search(wish) and _called(path, wish)))


def _surely_new(path: str, turn: CurrentTurn) -> bool:
    """Whether the first look at the folder saw all that is in it, and neither a file nor anything else of this name."""
    looks = [one for one in turn.done if one.tool == "read" and one.arguments.get("path") == FOLDER and one.ok]
    there = looks[0].text.splitlines()[1:] if looks else ["… (more)"]
    return "/" not in path and not any(
        line.startswith("… (") or line.partition("\t")[0].rstrip("/@?") == path for line in there
    )


def changed_files(step: NextStep, turn: CurrentTurn) -> list[str]:
    """The files that a step says it changes or makes; a program that it runs may do so without a word."""
    if step.label in {"write", "edit"}:
        return [_plain(str(step.arguments.get("path", "")))]
    if step.label != "run":
        return []
    marks = shlex.shlex(str(step.arguments.get("command", "")), posix=True, punctuation_chars=True)
    marks.whitespace_split = True
    try:
        targets = [_plain(target) for part in _parts(list(marks)) for target in _targets(part, names_found(turn))]
    except ValueError:  # a quotation without an end, which the shell refuses
        return []
    return [one for one in targets if one and not one.startswith(("/dev/", "-")) and not one.endswith(("/", "."))]


def _plain(path: str) -> str:
    return path.removeprefix("./")


def _parts(tokens: Sequence[str]) -> Iterator[list[str]]:
    """The commands of a line."""
    part: list[str] = []
    for token in tokens:
        if set(token) <= set(";|&()") and token:
            yield part
            part = []
        else:
            part.append(token)
    yield part


def _targets(part: Sequence[str], there: set[str]) -> Iterator[str]:
    """What one command changes, as far as its words say it."""
    written = [at for at, token in enumerate(part) if token in {">", ">>", ">|", "&>"}]
    yield from (part[at + 1] for at in written if at + 1 < len(part))
    words = list(part[: written[0]] if written else part)
    program, options = (words or [""])[0], [word for word in words[1:] if word.startswith("-")]
    given = [word for word in words[1:] if not word.startswith("-")]
    match program:
        case "tee" | "touch" | "truncate":
            yield from given
        case "cp" | "mv" | "ln" if len(given) > 1 and given[-1] not in {".", ".."}:
            yield given[-1]
        case "sort" if "-o" in options:
            yield words[words.index("-o") + 1] if words[-1] != "-o" else ""
        case "sed" | "perl" if any(re.match(r"-\w*i|--in-place", option) for option in options):
            yield from (word for word in given if _plain(word) in there)
        case _:
            pass


def unnamed_loss(step: NextStep, turn: CurrentTurn) -> str:
    """What a command would destroy that nobody named: a file's name, or the whole command; empty if nothing."""
    if step.label != "run":
        return ""
    command = str(step.arguments.get("command", ""))
    if not _DESTROYS.search(command):
        return ""
    touched = [name for name in turn.names() if name and name in command]
    if touched:
        return next((name for name in touched if not named(name, turn.wish)), "")
    if re.search(r">\s*([\w./-]+)", command) and not re.search(_TAKES_AWAY, command):
        return ""  # it makes a file that is not there yet
    return command


def unnamed_change(step: NextStep, turn: CurrentTurn) -> str:
    """The file that was there before, in which a step would change what nobody named; empty if there is none.

    Named is a change if a word that it puts in stands in the wish, or, where it puts nothing in, one that it takes out.
    That holds in any language, and keeps a question about a file from changing it.
    """
    path = str(step.arguments.get("path", ""))
    held = turn.holds(path) if path in names_found(turn) else None
    if held is None or step.label not in {"edit", "write"}:
        return ""
    before = str(step.arguments.get("old", "")) if step.label == "edit" else held
    after = str(step.arguments.get("new" if step.label == "edit" else "content", ""))
    old, new = words_in(before), words_in(after)
    wish = turn.wish.lower()
    return "" if any(word in wish for word in (new - old) or (old - new)) else path
