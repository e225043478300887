"""What ends a turn, and what a person reads then."""

import logging
from collections.abc import Sequence

from msgspec.structs import replace

from angelia.context import compaction
from angelia.context.media_forms import label
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Content, Media, Text
from angelia.core.ids import ConversationId, delivery_id
from angelia.core.media_parts import media_parts
from angelia.core.sentences import sentence, sentence_in_chat
from angelia.engine.broker import Words
from angelia.engine.caps import WATCHED_DOORS
from angelia.engine.log import Log
from angelia.engine.machine import Close
from angelia.engine.reply_files import note
from angelia.engine.reply_text import said_text
from angelia.engine.state import Turn, mending

logger = logging.getLogger("angelia.engine")


def answer_of(log: Log, turn: Turn) -> Words | None:
    """What will bring the open turn's answer; None for a scheduled one, which may stay silent."""
    if not turn.opened or not turn.opener or isinstance(log.entries[turn.opened - 1].fact, e.Occurred):
        return None
    return Words(delivery_id(log.conversation, f"t{turn.opened}"), turn.opener.address)


def closing_facts(conversation: ConversationId, log: Sequence[e.Entry], turn: Turn, effect: Close) -> list[e.AnyFact]:
    """The ending and the delivery of its words, for one commit: a turn cannot end in silence, but for a scheduled one
    that says why.
    """
    facts: list[e.AnyFact] = [e.TurnClosed(effect.ending)]
    silent = isinstance(effect.ending, end.StayedSilent)
    if turn.opened and turn.opener and not silent:
        to = turn.opener
        name = delivery_id(conversation, f"t{turn.opened}")
        origin = "answer" if isinstance(effect.ending, end.Answered) else "ending"
        facts.append(e.DeliveryQueued(name, to.address, closing_words(log, turn, effect), origin, to.reply_to))
    if moved := _closing_move(log, effect.ending, turn.opened):
        facts.insert(0, moved)
    if not silent and (not isinstance(effect.ending, end.Answered) or effect.ending.note):
        logger.warning("turn %s of %s ended: %s", turn.opened, conversation, sentence(effect.ending))
    return facts


def closing_words(log: Sequence[e.Entry], turn: Turn, effect: Close) -> tuple[Content, ...]:
    """Overtaken answers, the answer, the sentence of the ending; never nothing, and nothing twice.

    A whole answer is given whatever ends the turn. Files that went out are left out of the words that name them.
    """
    unsent = {file.call for file in turn.files.unsent}
    whole = turn.answer if not turn.joins else ()
    answer = said_text(log, effect.answer or whole, unsent)
    answered = isinstance(effect.ending, end.Answered)
    if answered and not effect.answer and not mending(turn):
        answer = turn.progress
    missing = "" if answered else note(turn.files)
    before = said_text(log, turn.overtaken, unsent)
    if before.strip() in answer:  # a reply that was mended says it once more
        before = ""
    told = sentence_in_chat if turn.opener and _is_chat(turn.opener.address) else sentence
    said = (before, answer, missing, told(effect.ending))
    words = "\n\n".join(text for text in said if text.strip())
    return (Text(words or f"Here is {_files_sent(log[turn.opened :])}."),)


def _is_chat(address: e.Address) -> bool:
    return bool(address.chat) and address.door not in WATCHED_DOORS


def _files_sent(log: Sequence[e.Entry]) -> str:
    """The names of what goes out beside an answer that is nothing but files."""
    queued = [part for entry in log if isinstance(entry.fact, e.DeliveryQueued) for part in entry.fact.parts]
    return " and ".join(dict.fromkeys(part.name for part in queued if isinstance(part, Media))) or "the file"


def _closing_move(log: Sequence[e.Entry], ending: end.Ending, opened: int) -> e.ViewMoved | None:
    """What the view leaves out once a turn has ended this way, so that the next message can be answered."""
    match ending:
        case end.Refused():
            moved = compaction.last_move(log)
            return replace(
                compaction.free(moved), reason="the refused turn is left out", left_out=(*moved.left_out, opened)
            )
        case end.ModelRefusedMedia(model=model):
            return _without_media(log, compaction.last_move(log), model)
        case _:
            return None


def _without_media(log: Sequence[e.Entry], moved: e.ViewMoved, model: str) -> e.ViewMoved:
    """Every medium as a line that says why, and the kinds noted, so that this model is not given them again."""
    known = {(a.seq, a.part) for a in moved.aged}
    lines, kinds = list(moved.aged), set(moved.refused)
    for entry in log:
        for index, media in media_parts(entry.fact):
            if (entry.seq, index) not in known:
                lines.append(e.Aged(entry.seq, index, f"[{label(media)}: {model} did not take it]"))
                kinds.add(e.Refusal(model, media.media))
    refused = tuple(sorted(kinds, key=lambda refusal: (refusal.model, refusal.media)))
    return replace(compaction.free(moved), reason="refused media are left out", aged=tuple(lines), refused=refused)
