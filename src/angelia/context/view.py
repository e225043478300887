"""What the model sees of a conversation: a fold over its log that honours the last `ViewMoved`.

Messages only grow within a generation, so each request extends the one before. A message becomes visible with
the `ModelAsked` that carries it; results follow their reply in the order of the calls; what a person or we said
meanwhile comes after them. Replies that were cut off or empty (`ModelFailed`) are never shown.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from angelia.context.budget import Size, message_size, total
from angelia.context.folded_media import told_media
from angelia.context.limits import Learnt, learnt_limits
from angelia.context.media_forms import AsText, Refused, form_of
from angelia.context.pairing import as_words, results_message, without_native
from angelia.context.request import MessagePart, RequestMessage, Result, Role, Shown
from angelia.context.system_notes import (
    about_ending,
    about_files,
    note_of,
    pins,
    skills_taken,
    system_note,
    told_summary,
)
from angelia.context.transcripts import transcript_line, with_transcripts
from angelia.core import entry as e
from angelia.core.content import Content, Text, ToolCall
from angelia.core.ids import CallId
from angelia.core.profile import Profile
from angelia.core.slices import SLICE, SlicedFold, at_once


class View(Struct, frozen=True):
    """The visible conversation for one model.

    `messages` are what the next request carries; people's messages in `unheard` and ours in `notes` wait for the
    `ModelAsked` that carries them. `sizes` estimates each of `messages`; `measured` is what the provider counted
    (tokens of a whole request and its reply, 0 before the first), and `since` estimates what came after that count.
    `calls` and `results` belong to the last reply; `reply_shown` and `reply_flat` say whether that reply is visible,
    and whether it is told as text. `learnt` is what the provider has told of its limits. `taken_back`
    are messages that no request is to carry any more.
    """

    profile: Profile
    seen: int = 0
    generation: int = 0
    moved: e.ViewMoved | None = None
    messages: tuple[RequestMessage, ...] = ()
    unheard: tuple[RequestMessage, ...] = ()
    notes: tuple[RequestMessage, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    results: Mapping[CallId, Result] = {}
    sizes: tuple[Size, ...] = ()
    measured: int = 0
    since: int = 0
    reply_shown: bool = True
    reply_flat: bool = False
    hidden: bool = False
    learnt: Learnt = Learnt()
    taken_back: frozenset[int] = frozenset()


def project(log: Sequence[e.Entry], profile: Profile) -> View:
    """The view of a whole log."""
    return advance(View(profile), log)


def advance(view: View, log: Sequence[e.Entry]) -> View:
    """Fold what is new in `log` (its entries in order, from 1) into `view`.

    A view move folds it all again, but what looks the same after it is not measured again.
    """
    return view if view.seen >= len(log) else at_once(folding(view, log))


def folding(view: View, log: Sequence[e.Entry]) -> SlicedFold[View]:
    """What `advance` does, with a pause after every slice; what is appended to `log` meanwhile is not folded."""
    fresh = log[view.seen :]
    if not fresh:
        return view
    seen = fresh[-1].seq
    learnt = learnt_limits(fresh, view.profile.name, view.learnt)
    move = next((entry for entry in reversed(fresh) if isinstance(entry.fact, e.ViewMoved)), None)
    if move and isinstance(move.fact, e.ViewMoved):
        fold = _Fold(View(view.profile, generation=move.seq, moved=move.fact), before=view)
        if move.fact.summary or move.fact.folded:
            media = told_media(move.fact.folded, view.profile.window)
            skills = skills_taken(log[: max(move.fact.keep_from - 1, 0)])
            text = told_summary(move.fact.summary, media, pins(log[: move.seq]), skills)
            fold.show(RequestMessage(move.seq, Role.USER, (Text(text),)))
        fresh = log[_first_in_sight(move.fact) - 1 :]
    else:
        fold = _Fold(view)
    for number, entry in enumerate(fresh, 1):
        fold.step(entry)
        if number % SLICE == 0:
            yield
    return replace(fold.done(seen), learnt=learnt)


def _first_in_sight(moved: e.ViewMoved) -> int:
    """The first entry that can be seen. All before it is folded away, and leaves nothing open, since the cut is safe.

    Where turns are left out, the whole log is read, since one of them may reach beyond the cut.
    """
    return 1 if moved.left_out else max(min((moved.keep_from, *moved.kept)), 1)


class _Fold:
    """A view while it is being folded: the same fields, in lists that can grow."""

    def __init__(self, view: View, before: View | None = None) -> None:
        self._known = (
            {m.seq: (m, size) for m, size in zip(before.messages, before.sizes, strict=True)} if before else {}
        )
        self._start = view
        self._moved = view.moved
        self._profile = view.profile
        self._messages, self._sizes = list(view.messages), list(view.sizes)
        self._unheard, self._notes = list(view.unheard), list(view.notes)
        self._calls, self._results = view.calls, dict(view.results)
        self._reply_shown = view.reply_shown
        self._reply_flat = view.reply_flat
        self._hidden = view.hidden
        self._taken_back = view.taken_back
        self._measured, self._since = view.measured, view.since
        self._aged = {(a.seq, a.part): a.line for a in view.moved.aged} if view.moved else {}
        self._reshown = {(r.seq, r.part): r for r in view.moved.reshown} if view.moved else {}
        self._shortened = {s.call: s.text for s in view.moved.shortened} if view.moved else {}
        self._refused = refused_by(view.profile.name, view.moved)

    def done(self, seen: int) -> View:
        """The view, frozen."""
        return replace(
            self._start,
            seen=seen,
            messages=tuple(self._messages),
            sizes=tuple(self._sizes),
            unheard=tuple(self._unheard),
            notes=tuple(self._notes),
            calls=self._calls,
            results=self._results,
            measured=self._measured,
            since=self._since,
            reply_shown=self._reply_shown,
            reply_flat=self._reply_flat,
            hidden=self._hidden,
            taken_back=self._taken_back,
        )

    def step(self, entry: e.Entry) -> None:
        """One entry further."""
        fact = entry.fact
        match fact:
            case e.Opening():
                message = RequestMessage(entry.seq, Role.USER, self._shown(entry.seq, fact.parts))
                if not self._folded(message):
                    self._unheard.append(message)
            case e.MessageTakenBack(said=said):
                self._taken_back |= {said}
            case e.Transcribed(seq=said):
                note = "\n".join(transcript_line(one, fact.by) for one in fact.spoken)
                self._complete(said, lambda parts: with_transcripts(parts, fact), entry.seq, note)
            case e.FilesPlaced(seq=said):
                lines = about_files(fact)
                self._complete(said, lambda parts: (*parts, Text(f"[{lines}]")), entry.seq, lines)
            case e.ModelAsked():
                self._asked(entry, fact)
            case e.ModelSaid():
                self._said(entry, fact)
            case e.ToolFinished():
                self._finished(entry, fact)
            case e.TurnClosed(ending=ending):
                self._hidden = False
                self._note(entry.seq, about_ending(ending))
            case _:
                self._note(entry.seq, note_of(fact))

    def _note(self, seq: int, text: str) -> None:
        if text:
            self._notes.append(RequestMessage(seq, Role.USER, (Text(system_note(text)),)))

    def _complete(
        self, said: int, add: Callable[[tuple[MessagePart, ...]], tuple[MessagePart, ...]], seq: int, note: str
    ) -> None:
        """What is learnt of a message later is put into it; if it was shown already, into a note."""
        places = [at for at, message in enumerate(self._unheard) if message.seq == said]
        for at in places:
            message = self._unheard[at]
            self._unheard[at] = replace(message, parts=add(message.parts))
        if not places and not self._folded(RequestMessage(said, Role.USER, ())):
            self._note(seq, note)

    def _asked(self, entry: e.Entry, fact: e.ModelAsked) -> None:
        """Show what this request carries; queued messages of people stay behind until a request names them."""
        self._answer_calls(entry.seq)
        if self._moved and any(seq in self._moved.left_out for seq in fact.heard):
            self._hidden = True
        heard = [message for message in self._unheard if message.seq in fact.heard]
        for message in sorted((*heard, *self._notes), key=lambda message: message.seq):
            self.show(message)
        gone = self._taken_back.union(fact.heard)
        self._unheard = [message for message in self._unheard if message.seq not in gone]
        self._notes = []

    def _answer_calls(self, seq: int) -> None:
        """Give every call of the last reply a result; one that has none is told as unknown."""
        if self._calls:
            self.show(results_message(seq, self._calls, self._results))
        self._calls, self._results = (), {}

    def _said(self, entry: e.Entry, fact: e.ModelSaid) -> None:
        self._answer_calls(entry.seq)
        message = RequestMessage(entry.seq, Role.ASSISTANT, fact.parts, fact.model.partition(":")[0])
        if self._moved and entry.seq < self._moved.plain_before:
            message = RequestMessage(entry.seq, Role.ASSISTANT, without_native(fact.parts))
        self._reply_flat = self._flat(message)
        self._reply_shown = self.show(message)
        self._calls = tuple(part for part in fact.parts if isinstance(part, ToolCall))
        counted = fact.usage.input + fact.usage.output
        if counted and (self._moved is None or entry.seq > self._start.generation):
            self._measured, self._since = counted, 0

    def _finished(self, entry: e.Entry, fact: e.ToolFinished) -> None:
        call = next((call for call in self._calls if call.id == fact.call), None)
        if call is None:
            return
        parts = self._shown(entry.seq, fact.parts)
        if call.id in self._shortened and entry.seq < self._start.generation:
            parts = (Text(self._shortened[call.id]), *(part for part in parts if isinstance(part, Shown)))
        plain = self._moved is not None and entry.seq < self._moved.plain_before
        wire_id = "" if plain else call.wire_id
        self._results[call.id] = Result(call.id, call.name, fact.status, parts, wire_id)
        if len(self._results) == len(self._calls):
            self._answer_calls(entry.seq)

    def show(self, message: RequestMessage) -> bool:
        """Append one message, unless the view move left it out; results share the fate of their reply."""
        results = message.role is Role.TOOL
        if results and not self._reply_shown:
            return False
        if message.seq < self._start.generation and (self._hidden or self._folded(message)):
            return False
        if self._reply_flat if results else self._flat(message):
            message = as_words(message)
        if not message.parts:
            return False
        known, size = self._known.get(message.seq, (None, Size()))
        if known != message:
            size = message_size(message, self._profile)
        self._messages.append(message)
        self._sizes.append(size)
        self._since += size.tokens
        return True

    def _folded(self, message: RequestMessage) -> bool:
        """Whether the summary stands for a message."""
        moved = self._moved
        if moved is None or message.role is Role.TOOL:
            return False
        return message.seq < moved.keep_from and message.seq not in moved.kept

    def _flat(self, message: RequestMessage) -> bool:
        moved = self._moved
        return moved is not None and message.role is Role.ASSISTANT and message.seq < moved.flat_before

    def _shown(self, seq: int, parts: tuple[Content, ...]) -> tuple[Text | Shown, ...]:
        """Media in the form this model gets them, aged ones as their line."""
        shown: list[Text | Shown] = []
        for index, part in enumerate(parts):
            if isinstance(part, Text):
                shown.append(part)
            elif (seq, index) in self._aged:
                shown.append(Text(self._aged[seq, index]))
            elif (seq, index) in self._reshown:
                again = self._reshown[seq, index]
                shown.append(Shown(part, again.form, again.long_edge))
            else:
                form = form_of(part, self._profile, self._refused)
                shown.append(Text(form.line) if isinstance(form, AsText) else form)
        return tuple(shown)


def refused_by(model: str, moved: e.ViewMoved | None) -> Refused:
    """The kinds of media that this model has refused in this conversation."""
    return frozenset(refusal.media for refusal in moved.refused if refusal.model == model) if moved else frozenset()


def estimated_size(view: View, fixed: Size) -> Size:
    """The next request's size by estimates alone."""
    return total((fixed, *view.sizes, *_waiting(view)))


def request_size(view: View, fixed: Size) -> Size:
    """The next request's size: tokens as the provider last counted them, where it did, and estimates for the rest."""
    shown = estimated_size(view, fixed)
    if not view.measured:
        return shown
    return Size(view.measured + view.since + sum(size.tokens for size in _waiting(view)), shown.bytes)


def _waiting(view: View) -> list[Size]:
    return [message_size(message, view.profile) for message in (*view.unheard, *view.notes)]
