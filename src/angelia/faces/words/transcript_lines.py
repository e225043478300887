"""What happened in a conversation, told in lines: one voice for `ask`, `chat` and `show`."""

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from angelia.context.usage_meter import cost_words
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import CallStatus, Content, Media, ReplyPart, Text, Thinking, ToolCall
from angelia.core.counts import counted
from angelia.core.failure import FailureKind
from angelia.core.ids import CallId
from angelia.core.sentences import sentence
from angelia.core.text import one_line
from angelia.core.unambiguous import unambiguous_line
from angelia.faces.words.call_lines import MOST, call_in_words, result_in_words
from angelia.faces.words.question_lines import question_lines


class Tone(StrEnum):
    """How a line is meant; each place has its own colours for them."""

    PERSON = "person"
    REPLY = "reply"
    REPLY_GOES_ON = "reply_goes_on"
    """Some more of a reply, right below what was shown of it: an item of a list, a line of code."""
    THOUGHT = "thought"
    STARTED = "started"
    DONE = "done"
    FAILED = "failed"
    DIFF = "diff"
    OUTPUT = "output"
    """What a call wrote."""
    QUESTION = "question"
    NOTE = "note"
    TABLE = "table"
    WARNING = "warning"


class TranscriptLine(Struct, frozen=True):
    """One thing told. `text` is whole: a reply may be many lines long."""

    tone: Tone
    text: str


_REMEDIES = {
    "wait": "waiting, then asking again",
    "next_credential": "asking with the next key",
    "refresh_credential": "reading the key again",
    "next_model": "asking the next model",
    "ask_again": "asking again",
    "nudge": "reminding the model that an answer is expected",
    "continue": "letting the model continue where it stopped",
    "explain": "explaining to the model what was wrong with its call",
    "mend": "telling the model which files of its answer could not be sent",
    "say_so": "telling the model that it goes in circles",
    "age_media": "showing older pictures and files as one line each",
    "shorten_results": "shortening older results",
    "compact": "folding the older conversation",
    "compact_harder": "folding more of the conversation",
    "smaller_rendition": "sending smaller pictures",
    "describe": "describing the pictures in words",
    "drop_native": "leaving out what the provider cannot read any more",
    "flatten_calls": "telling earlier calls as text",
    "leave_out": "asking without what the provider refuses",
}

FAILURES = {
    FailureKind.BUSY: "the model is busy",
    FailureKind.UNREACHABLE: "the model cannot be reached",
    FailureKind.STREAM_CUT: "the reply was cut off on its way",
    FailureKind.CONTEXT_TOO_LONG: "the conversation is too long for the model",
    FailureKind.BODY_TOO_LARGE: "the request is too large",
    FailureKind.MEDIA_REFUSED: "the model does not take the attached media",
    FailureKind.LOGIN_REJECTED: "the key was rejected",
    FailureKind.OUT_OF_CREDIT: "the account is out of credit",
    FailureKind.EMPTY_REPLY: "the reply was empty",
    FailureKind.THINKING_ONLY: "the reply held only thinking",
    FailureKind.CUT_OFF: "the reply ran into the length limit",
    FailureKind.BAD_CALL: "the model called a tool wrongly",
    FailureKind.FILE_REFUSED: "a file of the answer could not be sent",
    FailureKind.REFUSAL: "the model declined",
    FailureKind.HISTORY_REFUSED: "the provider refuses the request",
    FailureKind.PARAMETER_REFUSED: "the provider refuses a parameter of the request",
    FailureKind.TOOL_REFUSED: "the provider refuses a tool",
    FailureKind.WRONG_ADDRESS: "the address is not that of a model server",
    FailureKind.UNKNOWN_MODEL: "the provider does not know this model",
    FailureKind.CIRCLES: "the model repeats itself",
    FailureKind.WORKER: "the other agent gave no answer",
}


WORTH_TELLING = 0.1
"""Seconds; what a call took below that interests nobody."""


class TranscriptLines:
    """Tells entries in their order; it remembers the calls, so that a result can be told with what was run.

    `money_capped`: a reply without a known price is warned of.
    """

    def __init__(self, *, money_capped: bool = False) -> None:
        self._money_capped = money_capped
        self.calls: dict[CallId, str] = {}
        self._model = ""
        self._stopping = False

    def tell(self, entry: e.Entry) -> list[TranscriptLine]:
        """The lines of one entry; many have none."""
        return list(self._lines(entry.fact))

    def cut_off(self, fact: e.ToolFinished) -> bool:
        """Whether a call ended because the person stopped the turn, which the ending of the turn says."""
        return self._stopping and fact.status is CallStatus.CANCELLED

    def _lines(self, fact: e.AnyFact) -> Iterator[TranscriptLine]:  # noqa: C901 - one closed vocabulary, one line a kind
        match fact:
            case e.UserSaid(parts=parts):
                yield TranscriptLine(Tone.PERSON, said(parts))
            case e.Occurred(parts=parts) | e.Delegated(parts=parts):
                yield TranscriptLine(Tone.NOTE, said(parts))
            case e.FilesPlaced(files=placed):
                put = [file for file in placed if file.path.startswith("inbox/")]
                yield from (TranscriptLine(Tone.NOTE, f"{file.what}, was put at {file.path}") for file in put)
            case e.Transcribed(by=by, spoken=spoken):
                for one in spoken:
                    if not one.why:
                        yield TranscriptLine(Tone.NOTE, f"heard by {by}: {one.text or 'nothing'}")
            case e.SpeechMade(media=Media() as media):
                yield TranscriptLine(Tone.NOTE, f"spoken: {media.seconds:.0f} s")
            case e.SystemSaid(text=text):
                yield TranscriptLine(Tone.NOTE, f"told the model: {one_line(text)}")
            case e.SetupChanged(model=model):
                yield from self._changed(model)
            case e.ModelSaid(parts=parts):
                yield from self._reply(parts)
                yield from self._unpriced(fact)
            case e.FilesNamed(files=files):
                self.calls.update({file.call.id: call_in_words(file.call) for file in files})
            case e.ModelFailed():
                yield from _failed(fact)
            case e.RemedyUsed(remedy=remedy, detail=detail):
                yield TranscriptLine(
                    Tone.NOTE, _REMEDIES.get(remedy, remedy.replace("_", " ")) + (detail and f": {detail}")
                )
            case e.HookRan(came=came) if came is not e.HookOutcome.PASSED:
                yield TranscriptLine(Tone.NOTE, f"hook {fact.hook} ({fact.event}) {came}: {fact.why}")
            case e.ToolStarted(call=call):
                yield TranscriptLine(Tone.STARTED, self.calls.get(call, call))
            case e.ToolFinished():
                yield from self._finished(fact)
            case e.ApprovalAsked():
                yield TranscriptLine(Tone.QUESTION, question_lines(fact))
            case e.ApprovalGiven(answer=answer, scope=scope):
                yield TranscriptLine(Tone.NOTE, f"answered: {answer}" if answer else f"yes, {_SCOPES[scope]}")
            case e.ApprovalRefused(why=why):
                yield TranscriptLine(Tone.NOTE, f"no ({why})" if why else "no")
            case e.WorkStarted(call=call, work=e.WorkKind.OWN_COMMAND, what=what):
                self.calls[call] = f"!{unambiguous_line(one_line(what, MOST))}"
                yield TranscriptLine(Tone.PERSON, f"!{what}")
            case e.WorkEnded(call=call, work=e.WorkKind.OWN_COMMAND, status=status, parts=parts):
                yield from self._finished(e.ToolFinished(call, status, parts))
            case e.WorkEnded(call=name, child=e.ChildEnd() as came):
                yield _child_ended(name, came)
            case e.CancelAsked():
                self._stopping = True
            case e.ViewMoved() | e.BytesLetGo() | e.WordsErased() | e.WorkspaceMoved() | e.MessageTakenBack():
                yield TranscriptLine(Tone.NOTE, _moved(fact) if isinstance(fact, e.ViewMoved) else _gone(fact))
            case e.DeliverySettled(status=e.DeliveryStatus.FAILED, detail=detail):
                yield TranscriptLine(Tone.WARNING, f"a delivery failed: {detail}")
            case e.TurnClosed(ending=ending):
                self._stopping = False
                yield from closing(ending)
            case _:  # kept for the record, or told by another entry
                return

    def _changed(self, model: str) -> Iterator[TranscriptLine]:
        if self._model and model != self._model:
            yield TranscriptLine(Tone.NOTE, f"the model is {model} from here on")
        self._model = model

    def _reply(self, parts: tuple[ReplyPart, ...]) -> Iterator[TranscriptLine]:
        self.calls.update({part.id: call_in_words(part) for part in parts if isinstance(part, ToolCall)})
        if thought := " ".join(part.text for part in parts if isinstance(part, Thinking)).strip():
            yield TranscriptLine(Tone.THOUGHT, one_line(thought, 200))
        if text := reply_text(parts):
            yield TranscriptLine(Tone.REPLY, text)

    def _unpriced(self, fact: e.ModelSaid) -> Iterator[TranscriptLine]:
        """Said once, where money is capped."""
        if fact.cost < 0 and self._money_capped:
            self._money_capped = False
            said = f"Nobody knows what {fact.model} costs: the cap on money cannot stop it, --max-steps can."
            yield TranscriptLine(Tone.WARNING, said)

    def _finished(self, fact: e.ToolFinished) -> Iterator[TranscriptLine]:
        words, came = self.calls.get(fact.call, fact.call), result_in_words(fact)
        if self.cut_off(fact):
            came = ""
        took = f"{fact.seconds:.1f} s" if fact.seconds >= WORTH_TELLING else ""
        good = fact.status is CallStatus.OK
        marks = [words, "" if good else str(fact.status).replace("_", " "), took, came]
        yield TranscriptLine(Tone.DONE if good else Tone.FAILED, " · ".join(mark for mark in marks if mark))
        for diff in fact.diffs:
            from angelia.tools.files.changes import diff_text

            yield TranscriptLine(Tone.DIFF, diff_text(diff.old, diff.new))


_SCOPES = {e.Scope.ONCE: "once", e.Scope.CONVERSATION: "in this conversation", e.Scope.REMEMBERED: "remembered"}


def said(parts: tuple[Content, ...]) -> str:
    """A person's message, with a line for each medium that no line beside it names already."""
    from angelia.context.media_forms import label

    texts = [part.text for part in parts if isinstance(part, Text)]
    labels = [f"[{label(part)}" for part in parts if isinstance(part, Media)]
    unnamed = [f"{known}]" for known in labels if not any(text.startswith(known) for text in texts)]
    return "\n".join([*texts, *unnamed])


def reply_text(parts: tuple[ReplyPart, ...]) -> str:
    """The words of a reply, as they were written."""
    return "".join(part.text for part in parts if isinstance(part, Text)).strip()


def closing(ending: end.Ending) -> Iterator[TranscriptLine]:
    """The sentence of an ending; a plain answer needs none."""
    if text := sentence(ending):
        yield TranscriptLine(Tone.NOTE if isinstance(ending, end.Answered | end.StayedSilent) else Tone.WARNING, text)


def files(parts: tuple[Content, ...]) -> list[Media]:
    """The media among some parts."""
    return [part for part in parts if isinstance(part, Media)]


def _gone(fact: e.BytesLetGo | e.WordsErased | e.WorkspaceMoved | e.MessageTakenBack) -> str:
    if isinstance(fact, e.MessageTakenBack):
        return "taken back before it was read"
    if isinstance(fact, e.WorkspaceMoved):
        return f"its folder is gone: it goes on in {fact.workspace}"
    if isinstance(fact, e.WordsErased):
        return f"what somebody had said was erased from {counted(fact.count, 'entry')}"
    what = ", ".join(dict.fromkeys(one.what for one in fact.pictures))
    return f"no longer kept after {counted(fact.hours, 'hour')}, since nobody was sent, pinned or named it: {what}"


def _child_ended(name: str, came: e.ChildEnd) -> TranscriptLine:
    answered = isinstance(came.ending, end.Answered)
    how = "has answered" if answered else f"has ended without an answer ({type(came.ending).__name__})"
    calls = [counted(came.steps, "model call")] if came.steps else []
    words = [f"{name} {how if came.ending else 'could not go on'}", *calls, cost_words(came.cost, came.unpriced)]
    return TranscriptLine(Tone.DONE if answered else Tone.FAILED, " · ".join(words))


def _failed(fact: e.ModelFailed) -> Iterator[TranscriptLine]:
    said = f": {one_line(fact.failure.said, 300)}" if fact.failure.said else ""
    yield TranscriptLine(Tone.WARNING, f"{FAILURES[fact.failure.kind]}{said}")
    if partial := reply_text(fact.partial):
        yield TranscriptLine(Tone.THOUGHT, f"what had come of it: {one_line(partial, 200)}")


def _moved(fact: e.ViewMoved) -> str:
    if fact.tokens_before and fact.tokens_after >= fact.tokens_before and fact.bytes_after >= fact.bytes_before:
        return "There was nothing to fold: what is left is already as short as it can be"
    media = {(one.seq, one.part) for one in (*fact.aged, *fact.folded)}
    folded = [
        (len(media), "older picture or file", "older pictures and files"),
        (len(fact.shortened), "tool result", "tool results"),
    ]
    what = [f"{count} {one if count == 1 else many}" for count, one, many in folded if count]
    what += ["the oldest messages"] if fact.keep_from else []
    told = f"{' and '.join(what)} folded" if what else fact.reason
    sizes = f", {fact.tokens_before:,} → {fact.tokens_after:,} tokens" if fact.tokens_before else ""
    return f"Made room: {told}{sizes}; nothing is lost"
