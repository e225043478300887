"""One open conversation as its person sees it: what is committed is printed, what is delivered is settled."""

import asyncio
import os
from collections.abc import Collection, Sequence
from pathlib import Path

from angelia.context.usage_meter import UsageMeter
from angelia.core import entry as e
from angelia.core.content import CallStatus, Text, ToolCall
from angelia.core.counts import counted
from angelia.core.ids import CallId, DeliveryId, short
from angelia.core.sentences import sentence
from angelia.engine.live import Committed, LiveEvent, Writing
from angelia.faces.cli.chat.live_view import LiveView, WaitingMessage
from angelia.faces.cli.chat.screen import Screen
from angelia.faces.cli.pictures import drawn, way_of
from angelia.faces.words.call_output import CallOutput, call_output, cut_diffs, failure_lines, own_lines, shows_end
from angelia.faces.words.output import call_for_person
from angelia.faces.words.question_lines import question_lines
from angelia.faces.words.questions import numbered
from angelia.faces.words.reply_stream import ReplyBlock, ReplyStream
from angelia.faces.words.transcript_lines import Tone, TranscriptLine, TranscriptLines, reply_text
from angelia.service.conversation.session import Session
from angelia.service.conversation.terminal_delivery import AGAIN, TERMINAL, TerminalDelivery

LONG_MS = 30_000
"""Milliseconds of a turn after which its end is told with a bell: nobody looks on for so long."""

RECALLED = 2
"""Messages of the person, with what followed, that are shown when a conversation is opened again."""


class ConversationView:
    """Turns the entries of one session into lines; a final reply is printed by its delivery, never before."""

    def __init__(
        self, session: Session, delivery: TerminalDelivery, screen: Screen, transcript: TranscriptLines
    ) -> None:
        self._session = session
        self._delivery = delivery
        self._screen = screen
        self._transcript = transcript
        self.reply = ReplyStream()
        self.now = LiveView(transcript, self.reply)
        self.outputs: list[CallOutput] = []
        self.usage_meter = UsageMeter()
        self._held: list[str] = []
        self._joins = False
        self._turn_runs = bool(session.turn.opened)
        self._began = session.turn.started_at
        self._long = False
        self._mine: set[DeliveryId] = set()
        self._asked: set[tuple[CallId, str]] = set()
        self._printed: set[tuple[CallId, str]] = set()
        self._taken_back: list[WaitingMessage] = []
        for started in session.behind:
            self.now.begun(started)
        self._recall(session.log.entries)
        self.end = session.live.watch(self._see)

    def _recall(self, entries: Sequence[e.Entry]) -> None:
        """Show the last exchanges, then deliver what was not delivered yet: each text once."""
        unsettled = self._delivery.unsettled()
        waiting = "\n".join(part.text for queued in unsettled for part in queued.parts if isinstance(part, Text))
        asked = [entry.seq for entry in entries if isinstance(entry.fact, e.UserSaid)]
        first = asked[-RECALLED] if len(asked) >= RECALLED else 0
        if first > 2:
            older = (
                f"{counted(len(asked) - RECALLED, 'earlier message')}: angelia show {short(self._session.conversation)}"
            )
            self._screen.note(older)
        for entry in entries:
            self.usage_meter.add(entry)
            lines = [*self._transcript.tell(entry), *self._stopping(entry.fact)]
            if entry.seq >= first:
                shown = [line for line in lines if line.tone in _RECALLED_TONES and line.text not in waiting]
                self._screen.put(*shown)
        self._ask_oldest()
        if unsettled:
            self._screen.note(AGAIN)
        for queued in unsettled:
            self._deliver(queued)

    def _see(self, event: LiveEvent) -> None:
        match event:
            case Writing(text=text) if self._screen.paint.renders:
                self._put_blocks(self.reply.add(text))
            case Committed(entries=entries):
                for entry in entries:
                    self.usage_meter.add(entry)
                    self._tell(entry)
                if any(isinstance(entry.fact, e.TurnClosed) for entry in entries):
                    self._put_plan()  # after the answer, which is delivered by the same commit
                self._put_read()
                self._ask_oldest()
            case _:
                pass
        self.now.see(event)

    def _put_blocks(self, blocks: Sequence[ReplyBlock]) -> None:
        self._screen.put(*map(_block_line, blocks))

    def _put_read(self) -> None:
        """Print what was read without a request of its own, such as what stopped a turn."""
        unread = {message.seq for message in self._session.turn.unread}
        read = {message.seq for message in self.now.messages} - unread
        self._put_messages(read)
        if read and not self._session.turn.opened:
            self._screen.note("the model reads it with your next message")

    def _put_messages(self, read: Collection[int]) -> None:
        """Messages that wait stand above the input; they are printed once they are read."""
        for message in [one for one in self.now.messages if one.seq in read]:
            self.now.messages.remove(message)
            self._screen.put(TranscriptLine(Tone.PERSON, message.text))

    def _tell(self, entry: e.Entry) -> None:
        lines = self._transcript.tell(entry)
        match entry.fact:
            case e.UserSaid():
                self._said(entry, entry.fact, lines)
            case e.Occurred() | e.Delegated():
                self._began, self._turn_runs = entry.at, True
                self._screen.put(*lines)
            case e.ModelAsked() | e.MessageTakenBack():
                self._waits_no_more(entry.fact, lines)
            case e.ModelSaid():
                self._reply(entry.fact, lines)
            case e.ModelFailed():
                self._broke_off(entry.fact, lines)
            case e.FilesNamed():
                self._held.clear()  # its words are shown by their delivery, without the files that went out
            case e.ToolFinished():
                self._finished(entry.fact, lines)
            case e.WorkStarted() | e.WorkEnded() if entry.fact.work is e.WorkKind.OWN_COMMAND:
                self._own_command(entry.fact, lines)
            case e.TurnClosed():
                self._long = entry.at - self._began >= LONG_MS
                self._turn_runs = bool(self._session.turn.opened)  # with what was queued
            case e.DeliveryQueued():
                self._queued(entry.fact)
            case fact if not self._stands_elsewhere(fact):
                self._screen.put(*lines)
            case _:
                return

    def _stopping(self, fact: e.AnyFact) -> list[TranscriptLine]:
        """That a stop was heard, where no state above the input says it."""
        stated = self._screen.paint.renders and self._session.turn.opened
        return [TranscriptLine(Tone.NOTE, "stopping")] if isinstance(fact, e.CancelAsked) and not stated else []

    def _stands_elsewhere(self, fact: e.AnyFact) -> bool:
        """Whether a fact is shown above the input, or with another one."""
        if isinstance(fact, e.ToolStarted):
            return self._screen.paint.renders or self.now.is_plan(fact.call)
        return isinstance(fact, e.ApprovalAsked) or (isinstance(fact, e.DeliverySettled) and fact.id in self._mine)

    def _said(self, entry: e.Entry, fact: e.UserSaid, lines: list[TranscriptLine]) -> None:
        """A message that opens a turn; another one waits above the input until it is read."""
        queued = fact.arrival is e.Arrival.QUEUE
        opens, self._turn_runs = not self._turn_runs, True
        if opens:
            self._began = entry.at
            self._screen.put(*(lines if self._screen.paint.renders else ()))  # else the terminal itself has shown it
        elif self._screen.paint.renders:
            text = "\n".join(line.text for line in lines)
            self.now.messages.append(WaitingMessage(entry.seq, text, queued))
        else:
            self._screen.put(*lines)
            self._screen.note("read after this turn" if queued else "read at the next step")

    def _waits_no_more(self, fact: e.ModelAsked | e.MessageTakenBack, lines: list[TranscriptLine]) -> None:
        """What was taken back is in the input again, and nowhere else."""
        if isinstance(fact, e.ModelAsked):
            self._asked_model(fact)
            return
        self._taken_back += [one for one in self.now.messages if one.seq == fact.said]
        self.now.messages = [one for one in self.now.messages if one.seq != fact.said]
        if not self._screen.paint.renders:
            self._screen.put(*lines)

    def _asked_model(self, fact: e.ModelAsked) -> None:
        if late := [one for one in self._taken_back if one.seq in fact.heard]:
            self.now.messages += late
            self._screen.note("read all the same: the request was being made")
        self._taken_back.clear()
        self._put_messages(fact.heard)
        if not self._joins:
            self._let_go("")
            self.reply.reset()

    def _reply(self, fact: e.ModelSaid, lines: list[TranscriptLine]) -> None:
        """Text with calls is progress; without calls it may be the answer, and is held until that is known."""
        self._joins = fact.stop in (e.StopReason.LENGTH, e.StopReason.PAUSE)
        self._screen.put(*(line for line in lines if line.tone is not Tone.REPLY))
        text = reply_text(fact.parts)
        if any(isinstance(part, ToolCall) for part in fact.parts):
            self._screen.put(*self._unshown(text))
            self.reply.reset()
        elif text:
            self._held.append(text)

    def _broke_off(self, fact: e.ModelFailed, lines: list[TranscriptLine]) -> None:
        """What had come of a reply stays where it was shown, and the rest of it with it."""
        shown = self.reply.begun or self.reply.rest.text.strip()
        if shown and fact.partial:
            self._screen.put(*self._unshown(reply_text(fact.partial)))
            self._screen.note("broke off here")
            lines = [line for line in lines if line.tone is not Tone.THOUGHT]
        self._screen.put(*lines)
        self.reply.reset()

    def _unshown(self, text: str) -> list[TranscriptLine]:
        """The lines of a reply that are not shown yet."""
        if not self._screen.paint.renders:
            return [TranscriptLine(Tone.REPLY, text)] if text else []
        return [_block_line(block) for block in self.reply.unshown(text)]

    def _finished(self, fact: e.ToolFinished, lines: list[TranscriptLine]) -> None:
        """A call with its end; of a long output only what says how it went, and the rest can be asked for."""
        if self.now.is_plan(fact.call) and fact.status is CallStatus.OK:
            return
        output = call_output(self._transcript.calls.get(fact.call, fact.call), fact)
        if output.text.count("\n") or fact.diffs:
            self.outputs.append(output)
        told_whole = shows_end(fact) and not self._transcript.cut_off(fact)
        self._screen.put(*(failure_lines(output) if told_whole else cut_diffs(lines)))

    def _own_command(self, fact: e.WorkStarted | e.WorkEnded, lines: list[TranscriptLine]) -> None:
        """What the person runs themselves; at its end what it wrote, and when the model reads it."""
        if isinstance(fact, e.WorkStarted):
            self._screen.put(*(lines if self._screen.paint.renders else ()))  # else the terminal itself has shown it
            return
        finished = e.ToolFinished(fact.call, fact.status, fact.parts, full=fact.full)
        output = call_output(self._transcript.calls.get(fact.call, fact.call), finished)
        self.outputs.append(output)
        when = "at its next step" if self._session.turn.opened else "with your next message"
        self._screen.put(*own_lines(output, f"the model reads it {when}"))

    def _put_plan(self) -> None:
        """What became of the plan, in a line: it is no more shown when the turn ends."""
        if plan := self.now.plan:
            done = sum(item.status == "done" for item in plan)
            left = next((item.text for item in plan if item.status != "done"), "")
            self._screen.note(f"plan: {done} of {len(plan)} done" + (f"; next: {left}" if left else ""))

    def _let_go(self, delivered: str) -> None:
        """Print what was held, unless its delivery does."""
        for text in self._held:
            if text not in delivered:
                self._screen.put(*self._unshown(text))
        self._held.clear()

    def is_shown(self, asked: e.ApprovalAsked) -> bool:
        """Whether a question stands on the screen, whole; before that no typed text answers it."""
        return (asked.call, asked.digest) in self._printed

    def _ask_oldest(self) -> None:
        """Put the oldest open question, once: the next one waits for its answer, so that a yes is to what is seen."""
        asked = next(iter(self._session.questions()), None)
        if asked is None or (name := (asked.call, asked.digest)) in self._asked:
            return
        self._asked.add(name)

        async def printed() -> None:
            self._printed.add(name)

        self._screen.put(TranscriptLine(Tone.QUESTION, f"{question_lines(asked)}\n{numbered(asked)}"))
        self._screen.then(printed)
        self._ring("Angelia waits for your answer")

    def _ring(self, words: str) -> None:
        """Call a person who looks elsewhere."""
        if self._screen.paint.renders:

            async def ring() -> None:
                self._screen.draw(call_for_person(words))

            self._screen.then(ring)

    def _queued(self, queued: e.DeliveryQueued) -> None:
        words = "".join(part.text for part in queued.parts if isinstance(part, Text))
        if queued.origin in ("answer", "ending"):
            self._let_go(words)
        if queued.address.door == TERMINAL.door:
            self._deliver(queued)
            if self._long and queued.origin in ("answer", "ending"):
                self._ring("Angelia has answered")
        elif words:
            self._screen.put(
                TranscriptLine(Tone.REPLY, words), TranscriptLine(Tone.NOTE, f"goes to {queued.address.door}")
            )

    def _deliver(self, queued: e.DeliveryQueued) -> None:
        self._mine.add(queued.id)
        said = [part.text for part in queued.parts if isinstance(part, Text)]
        lines = {text: self._delivered(queued, text) for text in said}  # now, while it is known what is shown of it

        def show(text: str) -> None:
            for line in lines.get(text) or self._delivered(queued, text):
                self._screen.write(line)

        async def draw(path: Path) -> None:
            if escapes := await asyncio.to_thread(drawn, path, way_of(os.environ), self._screen.paint.columns):
                self._screen.draw(escapes)

        async def deliver() -> None:
            await self._delivery.deliver(queued, show, draw)

        self._screen.then(deliver)

    def _delivered(self, queued: e.DeliveryQueued, text: str) -> list[TranscriptLine]:
        match queued.origin:
            case "answer":
                return self._unshown(text)
            case "ending":
                why = self._ending_of(queued)
                answer = text.removesuffix(why).strip()
                return [
                    *(self._unshown(answer) if answer else []),
                    TranscriptLine(Tone.WARNING, why or text),
                ]
            case _:
                return [TranscriptLine(Tone.NOTE, text)]

    def _ending_of(self, queued: e.DeliveryQueued) -> str:
        """The sentence of the ending that is delivered: it stands right before, in the same commit."""
        why = ""
        for entry in self._session.log.entries:
            if isinstance(entry.fact, e.TurnClosed):
                why = sentence(entry.fact.ending)
            if entry.fact == queued:
                break
        return why


def _block_line(block: ReplyBlock) -> TranscriptLine:
    return TranscriptLine(Tone.REPLY_GOES_ON if block.joined else Tone.REPLY, block.text)


_RECALLED_TONES = {Tone.PERSON, Tone.REPLY, Tone.DONE, Tone.FAILED, Tone.WARNING}
