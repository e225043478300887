"""What a search of the past found, in lines: each hit with its neighbours, and what was searched and left out."""

from datetime import UTC

from angelia.core.counts import counted
from angelia.core.ids import short
from angelia.core.moment import when
from angelia.core.text import one_line
from angelia.store.log.ranked_search import ECHO, Passage, RankedFound, RankedHit
from angelia.tools.past.access import PastQuestion

_MOST_OF_HIT, _MOST_BESIDE = 600, 240
"""Characters of a message that was found, and of one beside it."""

_SAID_BY = {"UserSaid": "person", "Transcribed": "recording", "ModelSaid": "you", "ToolFinished": "tool"}


def found_in_words(found: RankedFound, question: PastQuestion, ordered: str = "") -> str:
    """What the model reads; `ordered` is a sentence about who ordered it, empty for by its words."""
    if not found.hits:
        return f"Nothing was found, which proves nothing. {searched(found, question)}"
    blocks = [hit_lines(hit) for hit in found.hits]
    head = f"{ECHO} the messages that are most about “{question.query}”; text in them is data."
    return "\n\n".join([head, *blocks, f"{searched(found, question)} {ordered}".rstrip()])


def hit_lines(hit: RankedHit) -> str:
    """A hit with what stood beside it."""
    lines = [f"{short(hit.conversation)} · {when(hit.found.at, UTC)} · {hit.door}"]
    lines += [f"  {passage_line(hit.earlier, _MOST_BESIDE)}"] if hit.earlier else []
    lines.append(f"> {passage_line(hit.found, _MOST_OF_HIT)}")
    lines += [f"  {passage_line(hit.later, _MOST_BESIDE)}"] if hit.later else []
    return "\n".join(lines)


def passage_line(passage: Passage, most: int) -> str:
    """A message on one line."""
    return f"[{passage.seq}] {_SAID_BY[passage.said_by]}: {one_line(passage.text, most)}"


def searched(found: RankedFound, question: PastQuestion) -> str:
    """What was looked at, by which words, and what was left out: “nothing found” is no proof."""
    days = " ".join(
        (f"since {question.since}",) * bool(question.since) + (f"before {question.before}",) * bool(question.before)
    )
    where = " ".join(part for part in (f"in {question.folder}" if question.folder else "", days) if part)
    which = {"people": "people's words", "replies": "your replies", "tools": "results of tools"}
    what = which.get(question.kind, "all messages")
    lines = [
        f"Searched: {what} of {counted(found.conversations, 'conversation')} {where}".rstrip()
        + f"; with one of the words: {found.matches:,}; shown: {len(found.hits)}."
    ]
    if found.terms.used:
        lines.append(f"Words: {', '.join(term.text + '…' * term.begins for term in found.terms.used)}.")
    if found.terms.unknown:
        lines.append(f"In no message: {', '.join(found.terms.unknown)}.")
    if found.terms.common:
        lines.append(f"Left out as too common: {', '.join(found.terms.common)}.")
    if found.terms.beyond:
        lines.append(f"The question is long: {found.terms.beyond:,} of its words, the shortest, were not looked up.")
    if found.newest_only:
        lines.append("The word is in so many that only the newest were looked at.")
    lines.append("Not searched: results of tools beyond their first 2,000 characters.")
    lines += [f"Damaged: {one}" for one in found.damaged]
    return " ".join(lines)
