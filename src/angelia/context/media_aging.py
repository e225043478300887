"""Which media become one line of text at a view move, and which old tool results become shorter."""

from collections.abc import Sequence

import msgspec

from angelia.context.media_forms import label, size_words
from angelia.core import entry as e
from angelia.core.content import Media, Text, ToolCall
from angelia.core.counts import counted
from angelia.core.errors import UNREADABLE
from angelia.core.ids import CallId
from angelia.core.media_parts import media_parts
from angelia.core.text import shorten

SHORT_RESULT = 1_200
"""Characters that an old tool result keeps: enough to tell what it was, and where the whole is."""

_READING = frozenset({"read"})
"""Tools whose later result on the same path makes an earlier one stale."""


def aged_media(log: Sequence[e.Entry], newest: int = 1) -> tuple[e.Aged, ...]:
    """Every medium but those of the `newest` messages of people and of the `newest` results of tools that carry any.

    A pure function of the log, so running it twice changes nothing. What we say ourselves carries no media.
    """
    carriers = [entry for entry in log if media_parts(entry.fact)]
    said = [c.seq for c in carriers if isinstance(c.fact, e.Opening)][-newest:]
    results = [c.seq for c in carriers if isinstance(c.fact, e.ToolFinished)][-newest:]
    ages = _messages_after(log)
    return tuple(
        e.Aged(entry.seq, index, line(media, ages[entry.seq]))
        for entry in carriers
        if entry.seq not in (*said, *results)
        for index, media in media_parts(entry.fact)
    )


def _messages_after(log: Sequence[e.Entry]) -> dict[int, int]:
    after, count = {}, 0
    for entry in reversed(log):
        after[entry.seq] = count
        if isinstance(entry.fact, e.Opening | e.ModelSaid | e.ToolFinished):
            count += 1
    return after


def line(media: Media, age: int) -> str:
    """What stands for an aged medium: what it is, how old, and the call that shows it again."""
    return f'[{label(media)}, {counted(age, "message")} ago: look_again("{media.blob.sha256[:12]}") shows it]'


def shortened_results(log: Sequence[e.Entry], *, keep_newest: int) -> tuple[e.Shortened, ...]:
    """Old tool results over the limit as head and tail, with the call by which the whole can be read again.

    A skill stays whole, unless not even the newest result may.
    """
    results = [entry.fact for entry in log if isinstance(entry.fact, e.ToolFinished)]
    short = []
    for fact in results[: max(len(results) - keep_newest, 0)]:
        text = "\n".join(part.text for part in fact.parts if isinstance(part, Text))
        if len(text) > SHORT_RESULT and not (fact.skill and keep_newest):
            pointer = f"blob:{fact.full.sha256[:12]}" if fact.full else f"call:{fact.call}"
            size = size_words(fact.full.size) if fact.full else f"{len(text)} characters"
            whole = f'\n[{size} in all, shortened: read("{pointer}") shows the whole]'
            short.append(e.Shortened(fact.call, shorten(text, SHORT_RESULT) + whole))
    return tuple(short)


def superseded_reads(log: Sequence[e.Entry]) -> tuple[e.Shortened, ...]:
    """Results of reading a file that was read again later, in the same place, as one line."""
    reads: dict[str, CallId] = {}
    short = []
    finished = {entry.fact.call for entry in log if isinstance(entry.fact, e.ToolFinished)}
    for entry in reversed(log):
        if not isinstance(entry.fact, e.ModelSaid):
            continue
        for part in reversed(entry.fact.parts):
            if isinstance(part, ToolCall) and part.name in _READING and part.id in finished:
                what = _normal(part.arguments)
                if what in reads:
                    again = f"[superseded: the same was read again in {reads[what]}]"
                    short.append(e.Shortened(part.id, again))
                else:
                    reads[what] = part.id
    return tuple(short)


def _normal(arguments: str) -> str:
    """Arguments as one text whatever their spacing and order."""
    try:
        return msgspec.json.encode(msgspec.json.decode(arguments), order="sorted").decode()
    except UNREADABLE:
        return arguments
