"""What stands beside an answer of a small model: what it said is held against what was done and what the files hold.

Small weights call a thing done that is not: they write the words of the wish into the file that was to be a copy, print
a file otherwise than it is, or do nothing. None of it can be seen from the words. So each answer of a turn that could
change something is looked at from what is known for certain, in any language; where it does not hold the person reads
what is so. A note that is not needed tells the truth all the same.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher

from angelia.core.counts import counted
from angelia.models.local.steps import (
    FOLDER,
    MOST_RESULT,
    CurrentTurn,
    StepDone,
    names_found,
    printed_only,
    without_numbers,
    words_in,
)
from angelia.models.local.unasked import FILE_NAME

_MAKES = re.compile(
    r"(?<![\d&])>|\b(?:cp|mv|touch|tee|ln|install|mkdir|rm|rmdir|unlink|shred|truncate|dd|patch|tar|unzip|zip|git|make)\b"
    r"|\bsed\b.*\s(?:-i|--in-place)|\bsort\b.*\s-o\b|\b(?:python3?|perl|sh|bash|awk|node)\b"
)
"""A command that may change files, or that nobody can say of; any other one only prints."""
_MOST_SHOWN = 300
"""Characters of a file that are shown beside an answer which does not hold them."""


def names_file(wish: str) -> bool:
    """Whether somebody speaks of a file by its name: then there is something to look at, whatever the language."""
    return bool(FILE_NAME.search(wish))


def unverified(turn: CurrentTurn, answer: str) -> str:
    """What the person should know beside the model's own words, in brackets; empty where they hold."""
    return next((f"({note})" for check in _CHECKS for note in check(turn, answer)), "")


def _failed(turn: CurrentTurn, _: str) -> Iterator[str]:
    if turn.done and not turn.done[-1].ok:
        said = turn.done[-1].text.strip().splitlines() or ["it said nothing"]
        yield f"Not verified: the last step failed: {said[-1][:200]}"


def _printed(turn: CurrentTurn, _: str) -> Iterator[str]:
    if turn.done and (kept := printed_only(turn.done[-1], turn)):
        yield f"{kept} is as it was: the command only printed something else."


def _missing(turn: CurrentTurn, _: str) -> Iterator[str]:
    """A file that the wish names, and that is neither there nor in a command that may have made it."""
    there, made = set(turn.names()), [_command(one) for one in _commands(turn) if _MAKES.search(_command(one))]
    missing = [name for name in FILE_NAME.findall(turn.wish) if name not in there]
    missing = [name for name in missing if not any(name in command for command in made)]
    if turn.looked and missing:
        yield f"Not verified: there is no {', '.join(dict.fromkeys(missing))} in the folder."


def _nothing_of_its_source(turn: CurrentTurn, _: str) -> Iterator[str]:
    """A new file that was to be made of one that the wish names, with no word of it that the wish has not."""
    for one in _written(turn):
        path = str(one.arguments.get("path", ""))
        sources = [name for name in names_found(turn) if name in turn.wish and name != path]
        content = str(one.arguments.get("content", "")).lower()
        news = [word for word in _news(turn) if word in content]
        if path not in names_found(turn) and sources and not news:
            yield f"Not verified: {path} holds nothing of {', '.join(sorted(sources))}."


def _stands_still(turn: CurrentTurn, _: str) -> Iterator[str]:
    """A word that was to be changed, and that stands elsewhere in the file as before."""
    for one in _written(turn):
        path = str(one.arguments.get("path", ""))
        held = turn.holds(path)
        if held is None or _ran_after(turn, one):
            continue
        gone = _changed_in_a_copy(_held_before(turn, one) or "", held, words_in(turn.wish))
        if one.tool == "edit":
            gone |= words_in(str(one.arguments.get("old", ""))) - words_in(str(one.arguments.get("new", "")))
        left = [word for word in sorted(gone & words_in(held)) if word in turn.wish.lower()]
        if left:
            yield f"{', '.join(left)} still stands in {path}, elsewhere."


def _stands_twice(turn: CurrentTurn, _: str) -> Iterator[str]:
    """A line that the file holds more often than before, though nobody named it: what was to be changed was copied."""
    for path, before, held in _changed(turn):
        more = Counter(held.splitlines()) - Counter(before.splitlines())
        again = [line for line in more if line in before.splitlines() and words_in(line) - words_in(turn.wish)]
        if again:
            yield f"{path} holds this line more often than before: {again[0].strip()[:_MOST_SHOWN]}"


def _changed_in_a_copy(before: str, held: str, wished: set[str]) -> set[str]:
    """Words in whose place others of the wish stand in a new line, while the line that held them is still there."""
    kept = [line for line in before.splitlines() if line in held.splitlines()]
    new = [line for line in held.splitlines() if line not in before.splitlines()]
    pairs = [(words_in(old) - words_in(one), words_in(one) - words_in(old)) for old in kept for one in new]
    return {word for gone, put in pairs if gone and put and gone | put <= wished for word in gone}


def _lost_more(turn: CurrentTurn, _: str) -> Iterator[str]:
    """Words that a file no longer holds, though nobody named them."""
    for path, before, held in _changed(turn):
        lost = [word for word in sorted(words_in(before) - words_in(held)) if word not in turn.wish.lower()]
        if lost:
            yield f"{path} no longer holds: {', '.join(lost[:10])}{' …' if len(lost) > 10 else ''}"


def _other_letters(turn: CurrentTurn, _: str) -> Iterator[str]:
    """A word of the wish that was put into a file with other capitals. The first word of a wish may have one anyway."""
    for one in _written(turn):
        path = str(one.arguments.get("path", ""))
        put = re.findall(r"\w+", str(one.arguments.get("new" if one.tool == "edit" else "content", "")))
        for word in re.findall(r"\w+", turn.wish)[1:]:
            other = [one for one in put if one != word and one.lower() == word.lower()]
            if other and word not in put:
                yield f"You wrote {word}, and {path} holds {other[0]}."


def _nothing_done(turn: CurrentTurn, answer: str) -> Iterator[str]:
    """An answer that tells nothing that was found, or that gives as a file's words some that only the wish has."""
    if not turn.looked or any(one.ok and _may_change(one) for one in turn.done):
        return
    told, wish, found = answer.lower(), turn.wish.lower(), " ".join(_texts(turn)).lower()
    names = [name.lower() for name in turn.names()]
    tells = any(word in told for word in _news(turn)) or any(name in told and name not in wish for name in names)
    quoted = told.partition(":")[2]
    foreign = [word for word in words_in(wish) if word not in found and not any(word in name for name in names)]
    changed = any(word in quoted for word in foreign) and any(word in quoted for word in words_in(found))
    if not tells or changed:
        yield "Nothing was done: no file was changed or sent."


def _not_shown(turn: CurrentTurn, answer: str) -> Iterator[str]:
    """A file that was changed, and that the answer does not show."""
    for one in reversed(turn.done):
        path = str(one.arguments.get("path", ""))
        held = turn.holds(path)
        if one.tool not in {"write", "edit"} or not one.ok or held is None or _ran_after(turn, one):
            continue
        if " ".join(held.split()) in " ".join(answer.split()):
            continue
        yield f"{path} now holds{_text_of(held)}"


def _told_otherwise(turn: CurrentTurn, answer: str) -> Iterator[str]:
    """An answer that gives a file's text otherwise than it stands there, as if it had been changed."""
    written = {one.arguments.get("path") for one in _written(turn)}  # of those the answer shows all, or a note does
    for path in turn.names():
        held = turn.holds(path)
        seen = [one for one in turn.done if one.ok and one.tool == "read" and one.arguments.get("path") == path]
        if held is None or path in written or _ran_after(turn, seen[-1]):
            continue
        read = held[:MOST_RESULT]
        if any(_given_otherwise(part, answer, turn.wish) for part in (read, *read.splitlines())):
            yield f"{path} is as it was and holds{_text_of(held)}"


def _given_otherwise(text: str, answer: str, wish: str) -> bool:
    """Whether most of a text's words stand in an answer in their order, with others in the place of the rest.

    With two thirds of them it is so if the others are numbers or words of the wish, or if words that the wish names are
    left out; with more than four fifths whatever the others are. What is told in other words has fewer.
    """
    stands, told, wished = _words(text), _words(answer), words_in(wish)
    compared = SequenceMatcher(None, stands, told, autojunk=False)
    same = sum(block.size for block in compared.get_matching_blocks())
    if 3 * same < 2 * len(stands):
        return False
    for kind, gone, left, first, last in compared.get_opcodes():
        put = told[first:last]
        if kind == "delete" and wished.intersection(stands[gone:left]):
            return True
        nearly_all = 5 * same > 4 * len(stands)
        other = nearly_all or any(word in wished or word.isdigit() for word in put)
        if kind == "replace" and len(put) == left - gone and other:
            return True
    return False


_CHECKS: Sequence[Callable[[CurrentTurn, str], Iterator[str]]] = (
    _failed,
    _printed,
    _missing,
    _nothing_of_its_source,
    _stands_still,
    _other_letters,
    _lost_more,
    _stands_twice,
    _nothing_done,
    _not_shown,
    _told_otherwise,
)
"""In this order; the first note is told."""


def _text_of(held: str) -> str:
    """What a file holds, to be read behind that word; of a long one how long it is."""
    return f":\n{held.strip()}" if len(held) <= _MOST_SHOWN else f" {counted(len(held.splitlines()), 'line')}."


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _commands(turn: CurrentTurn) -> list[StepDone]:
    return [one for one in turn.done if one.tool == "shell" and one.ok]


def _command(one: StepDone) -> str:
    return str(one.arguments.get("command", ""))


def _written(turn: CurrentTurn) -> list[StepDone]:
    return [one for one in turn.done if one.tool in {"write", "edit"} and one.ok]


def _changed(turn: CurrentTurn) -> Iterator[tuple[str, str, str]]:
    """Paths that were written over, what each held before, and what it holds now; where that is known."""
    for one in _written(turn):
        path = str(one.arguments.get("path", ""))
        before, held = _held_before(turn, one), turn.holds(path)
        if before is not None and held is not None and not _ran_after(turn, one):
            yield path, before, held


def _may_change(one: StepDone) -> bool:
    return one.tool not in {"read", "shell"} or (one.tool == "shell" and bool(_MAKES.search(_command(one))))


def _ran_after(turn: CurrentTurn, one: StepDone) -> bool:
    """Whether a command may have changed the file since."""
    after = turn.done[turn.done.index(one) + 1 :]
    return any(later.tool == "shell" and _may_change(later) for later in after)


def _held_before(turn: CurrentTurn, one: StepDone) -> str | None:
    """What the file held before this step, if that was seen."""
    return turn._replace(done=turn.done[: turn.done.index(one)]).holds(str(one.arguments.get("path", "")))


def _texts(turn: CurrentTurn) -> list[str]:
    """What was read and printed."""
    reads = [one.text for one in turn.done if one.tool == "read" and one.ok and one.arguments.get("path") != FOLDER]
    return [*map(without_numbers, reads), *(one.text.replace("[exit status 0]", "") for one in _commands(turn))]


def _news(turn: CurrentTurn) -> set[str]:
    """Words that were found, and that are not of the wish."""
    wish = turn.wish.lower()
    return {word for text in _texts(turn) for word in words_in(text) if word not in wish}
