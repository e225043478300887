"""What ends a turn, and what a person reads then."""

import logging
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from angelia.context import compaction
from angelia.context.media_forms import label
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Content, Media, Text
from angelia.core.ids import CallId, ConversationId, delivery_id
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
        facts.append(e.DeliveryQueued(name, to.address, closing_parts(log, turn, effect), origin, to.reply_to))
    if moved := _closing_move(log, effect.ending, turn.opened):
        facts.insert(0, moved)
    if not silent and (not isinstance(effect.ending, end.Answered) or effect.ending.note):
        logger.warning("turn %s of %s ended: %s", turn.opened, conversation, sentence(effect.ending))
    return facts


def closing_parts(log: Sequence[e.Entry], turn: Turn, effect: Close) -> tuple[Content, ...]:
    """Overtaken answers, the answer, the sentence of the ending; never nothing, and nothing twice.

    A whole answer is given whatever ends the turn. Files that went out are left out of the words that name them. What
    was spoken comes as sound, and as words only where these are to go along.
    """
    sounds = tuple(one.media for one in turn.speeches if one.media)
    alone = turn.opener is not None and turn.opener.answer is e.AnswerForm.VOICE
    heard = {seq for one in turn.speeches if one.media and alone for seq in one.replies}
    whole = turn.answer if not turn.joins else ()
    replies = [seq for seq in effect.answer or whole if seq not in heard]
    answered = isinstance(effect.ending, end.Answered)
    of_progress = answered and not effect.answer and not mending(turn)
    answer = turn.progress if of_progress else said_text(log, replies, _unsent(turn))
    said = _below_overtaken(log, turn, answer, heard)
    missing = "" if answered else note(turn.files)
    told = sentence_in_chat if turn.opener and _is_chat(turn.opener.address) else sentence
    words = "\n\n".join(text for text in (said, missing, told(effect.ending)) if text.strip())
    if not words and not sounds:
        words = f"Here is {_files_sent(log[turn.opened :])}."
    return (*((Text(words),) if words else ()), *sounds)


def words_to_speak(log: Sequence[e.Entry], turn: Turn, replies: Collection[int]) -> str:
    """What these replies say to the person, as Markdown."""
    answer = said_text(log, [seq for seq in turn.answer if seq in replies], _unsent(turn))
    return _below_overtaken(log, turn, answer, set(turn.overtaken).difference(replies))


def _below_overtaken(log: Sequence[e.Entry], turn: Turn, answer: str, without: Collection[int]) -> str:
    """The answer below those that it overtook; one that was mended says it once more."""
    before = said_text(log, [seq for seq in turn.overtaken if seq not in without], _unsent(turn))
    return answer if before.strip() in answer else "\n\n".join(text for text in (before, answer) if text.strip())


def _unsent(turn: Turn) -> set[CallId]:
    return {file.call for file in turn.files.unsent}


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
    """Every medium in sight as a line that says why; the kinds are noted, so this model is not given them again."""
    known = {(a.seq, a.part) for a in moved.aged}
    lines, kinds = list(moved.aged), set(moved.refused)
    for entry in compaction.in_sight(log, moved):
        for index, media in media_parts(entry.fact):
            if (entry.seq, index) not in known:
                lines.append(e.Aged(entry.seq, index, f"[{label(media)}: {model} did not take it]"))
                kinds.add(e.Refusal(model, media.media))
    refused = tuple(sorted(kinds, key=lambda refusal: (refusal.model, refusal.media)))
    return replace(compaction.free(moved), reason="refused media are left out", aged=tuple(lines), refused=refused)
