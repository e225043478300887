"""Random logs as a driver would leave them: steering, queued messages, cancels, kills, failures, remedies, view moves.

Every choice is read from a tape of bytes, so the same tape gives the same log, a shorter tape a simpler one, and a
plain `random.randbytes` as good a tape as one that hypothesis draws and shrinks. Any prefix of a log is what a kill
leaves behind.
"""

from collections.abc import Sequence

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import CallStatus, Form, ReplyPart, Text, ToolCall
from angelia.core.failure import Failure, FailureKind
from angelia.core.ids import CallId, ConversationId, DeliveryId, call_id, delivery_id, named_call_id
from angelia.core.media_parts import media_parts
from angelia.core.principal import OWNER
from angelia.testing.logs.playbook import MODEL, opened, setup
from angelia.testing.logs.random_beside import come_in, go_out, preview, speak, write_down
from angelia.testing.logs.random_draft import RandomLog


def log_from(tape: bytes) -> list[e.Entry]:
    """The log that this tape tells. An empty tape is one message and its answer."""
    story = _Story(tape)
    for _ in range(1 + story.choose(4)):
        story.turn()
    return story.entries


class _Story(RandomLog):
    """A log being written; `unread` are the people's messages that no request has carried."""

    def __init__(self, tape: bytes) -> None:
        super().__init__(tape)
        self.unread: list[tuple[int, e.UserSaid]] = []
        self.going_on: list[tuple[CallId, e.WorkKind]] = []
        self.cancelled = False
        self.opening = 0
        self.add(opened(), setup())
        if self.choose(8) == 1:
            self.add(e.ToolsOffered((e.OfferedFunction("read", "Reads a file."),)))

    def add(self, *facts: e.AnyFact) -> int:
        """As a draft does, and remembers what is unread."""
        first = len(self.entries) + 1
        last = super().add(*facts)
        self.unread += [(first + at, fact) for at, fact in enumerate(facts) if isinstance(fact, e.UserSaid)]
        return last

    # -- a turn -------------------------------------------------------------------------------------------------

    def turn(self) -> None:
        """From the message that opens it to its ending."""
        if not self.unread:
            self.add(e.UserSaid(self.content()))
        self.opening = opening = next(
            (at for at, said in self.unread if said.arrival is e.Arrival.STEER), self.unread[0][0]
        )
        self.cancelled = False
        for step in range(8):
            self.meanwhile()
            asked = self.ask(opening)
            preview(self, _answer(opening))
            if self.cancelled or not (self.outcome(asked, last=step > 5) or self._steered()):
                break
        self.close(opening)

    def _steered(self) -> bool:
        return any(said.arrival is e.Arrival.STEER for _, said in self.unread)

    def ask(self, opening: int) -> int:
        """A request, perhaps one that dies with its process and is sent again; returns the number of the last."""
        for attempt in range(1, 2 + (self.choose(8) == 1)):
            heard = [at for at, said in self.unread if said.arrival is e.Arrival.STEER or at == opening]
            for at in heard:
                write_down(self, at)
            self.place([at for at in heard if media_parts(self.entries[at - 1].fact)])
            asked = self.add(e.ModelAsked(MODEL, attempt, tuple(heard), credential="first"))
            self.unread = [one for one in self.unread if one[0] not in heard]
            self.meanwhile()
        return asked

    def place(self, messages: Sequence[int]) -> None:
        """The files of these messages are put into the sandbox, where that works."""
        for seq in messages:
            media = media_parts(self.entries[seq - 1].fact)
            ways = [("", "no") if self.choose(4) == 1 else ("inbox/x",) for _ in media]
            files = [e.Placed(at, f'file "{at}"', *way) for (at, _), way in zip(media, ways, strict=True)]
            self.add(e.FilesPlaced(seq, tuple(files)))

    def outcome(self, asked: int, *, last: bool) -> bool:
        """What came of the request; says whether the turn goes on by itself."""
        choice = 0 if last else self.choose(7)
        match choice:
            case 1 | 2 | 3:
                self.calls(asked, choice)
            case 4:
                self.failure()
            case 5:
                self.add(e.ModelSaid(MODEL, (Text("cut in the mid"),), e.StopReason.LENGTH))
                self.add(e.RemedyUsed(FailureKind.CUT_OFF, "continue"), e.SystemSaid("Go on where you stopped."))
            case 6:
                self.add(e.ModelSaid(MODEL, (self.thinking(),), e.StopReason.END))
                self.add(e.RemedyUsed(FailureKind.THINKING_ONLY, "continue"), e.SystemSaid("Go on."))
            case _:
                said = self.add(e.ModelSaid(MODEL, self.words(), e.StopReason.END, e.Usage(100 + asked, 10)))
                if self.choose(4) == 1:
                    self.named(asked)
                speak(self, (said,))
        return choice != 0

    def failure(self) -> None:
        """A failed request, and the remedy that is recorded for it."""
        kind = list(FailureKind)[self.choose(len(FailureKind))]
        self.add(e.ModelFailed(MODEL, Failure(kind, "no", 400), (Text("half a"),) if self.choose(2) else ()))
        self.add(e.RemedyUsed(kind, "wait", until=self.entries[-1].at + 100))
        if self.choose(3) == 1:
            self.move()

    def close(self, opening: int) -> None:
        """The ending and its delivery in one commit."""
        endings = (end.Answered(), end.StepLimit(6), end.ModelUnavailable(MODEL, 3, "busy"))
        ending = end.Cancelled(OWNER) if self.cancelled else endings[self.choose(3)]
        name = _answer(opening)
        self.add(e.TurnClosed(ending), e.DeliveryQueued(name, e.Address("terminal"), (Text("…"),), "answer"))
        go_out(self, name)

    def named(self, asked: int) -> None:
        """Files that a final reply names, and what became of each."""
        calls = [named_call_id(asked, place) for place in range(1 + self.choose(2))]
        files = [e.FileNamed(at, ToolCall(call, "send_file", '{"path": "a.txt"}')) for at, call in enumerate(calls)]
        self.add(e.FilesNamed(tuple(files)))
        for call in calls:
            running: list[CallId] = []
            self.begin(call, running)
            for begun in running:
                self.finish(begun)

    # -- calls --------------------------------------------------------------------------------------------------

    def calls(self, asked: int, count: int) -> None:
        """A reply with calls, and what became of each; results may come in any order."""
        thinking = (self.thinking(),) if self.choose(2) else ()
        wanted = tuple(
            ToolCall(call_id(asked, index), "read", '{"path": "a.txt"}', wire_id=f"w{asked}_{index}")
            for index in range(count)
        )
        parts: tuple[ReplyPart, ...] = (*thinking, *self.words(), *wanted)
        self.add(e.ModelSaid(MODEL, parts, e.StopReason.TOOL_CALLS, e.Usage(50 + asked, 20)))
        waiting = [call.id for call in wanted]
        running: list[CallId] = []
        while waiting or running:
            self.meanwhile()
            if waiting and not (running and self.choose(2)):
                self.begin(waiting.pop(0), running)
            elif running:
                self.finish(running.pop(self.choose(len(running))))

    def begin(self, call: CallId, running: list[CallId]) -> None:
        """Start a call, unless nobody wants it any more, it is wrong, or somebody refuses it."""
        choice = self.choose(6)
        if self.cancelled or choice == 1:
            status = CallStatus.CANCELLED if self.cancelled else CallStatus.BAD_CALL
            self.add(e.ToolFinished(call, status, (Text("It was not run."),)))
            return
        if choice in (2, 3):
            self.add(e.ApprovalAsked(call, "May I?", "d1"))
            self.meanwhile()
            if choice == 2:
                self.add(e.ApprovalRefused(call, OWNER), e.ToolFinished(call, CallStatus.REFUSED, (Text("No."),)))
                return
            self.add(e.ApprovalGiven(call, "d1", OWNER))
        if choice == 4:
            self.add(e.CallsHandedOver((call,)))
            self.meanwhile()
            brought = e.BroughtResult(call, (Text("Brought."),))
            self.add(e.ResultsBrought((brought,), OWNER, e.Address(e.API)))
        self.add(e.ToolStarted(call))
        if self.choose(6) == 1:
            self.add(e.JobSubmitted(call, "queue:fox", "j1"))
        running.append(call)

    def finish(self, call: CallId) -> None:
        """A running call's result, or the honest word about one whose process died."""
        status = (CallStatus.OK, CallStatus.ERROR, CallStatus.UNKNOWN)[self.choose(3)]
        finished = e.ToolFinished(call, status, self.content(), digest=f"d{self.choose(4)}")
        match self.choose(6):
            case 1:
                kind = tuple(e.WorkKind)[self.choose(len(e.WorkKind))]
                self.add(finished, e.WorkStarted(call, kind, "serve", "life"))
                self.going_on.append((call, kind))
            case 2 if self.going_on:
                self.add(finished, e.WorkEnded(*self.going_on.pop(0), CallStatus.OK, told_by=call))
            case 3:
                self.add(finished, e.FilesChanged(call, ("a.txt",), 1))
            case _:
                self.add(finished)

    # -- what others do -----------------------------------------------------------------------------------------

    def meanwhile(self) -> None:
        """Facts from outside may arrive at any moment; the view may move between any two steps."""
        match self.choose(24):
            case 1 | 2:
                self.add(e.UserSaid(self.content()))
            case 3:
                self.add(e.UserSaid(self.content(), arrival=e.Arrival.QUEUE))
            case 4:
                self.add(e.CancelAsked(OWNER))
                self.cancelled = True
            case 5:
                self.add(e.SystemSaid("A note."))
            case 6 | 7 if not self._busy():
                self.move()
            case 8:
                self.add(e.Pinned("Keep this."))
            case 9:
                self.add(e.Unpinned("Keep this."))
            case 10:
                self.add(e.CompactionRequested())
            case 11:
                come_in(self)
            case 12 if self.going_on:
                self.add(e.WorkEnded(*self.going_on.pop(0), CallStatus.UNKNOWN, (Text("It is gone."),)))
            case 13 if waiting := [at for at, _ in self.unread if at != self.opening]:
                self.add(e.MessageTakenBack(waiting[-1]))
                self.unread = [one for one in self.unread if one[0] != waiting[-1]]
            case _:
                pass

    def _busy(self) -> bool:
        """Whether a request or a call is open: the driver moves the view only between them."""
        done = {x.fact.call for x in self.entries if isinstance(x.fact, e.ToolFinished)}
        for entry in reversed(self.entries):
            match entry.fact:
                case e.ModelSaid(parts=parts):
                    return any(isinstance(part, ToolCall) and part.id not in done for part in parts)
                case e.ModelAsked():
                    return True
                case e.ModelFailed() | e.TurnClosed():
                    return False
                case _:
                    pass
        return False

    def move(self) -> None:
        """A view move: a cut before some message of a person, and some media and results aged."""
        spoken = [x.seq for x in self.entries if isinstance(x.fact, e.UserSaid)]
        results = [x.fact for x in self.entries if isinstance(x.fact, e.ToolFinished)]
        media = [(x.seq, at) for x in self.entries for at, _ in media_parts(x.fact)]
        keep = ([0, *spoken])[self.choose(len(spoken) + 1)]
        latest = len(self.entries)
        self.add(
            e.ViewMoved(
                reason="fit",
                keep_from=keep,
                kept=tuple(self.some([seq for seq in spoken if seq < keep])),
                summary="What was said before." if keep else "",
                aged=tuple(e.Aged(seq, at, "[an aged picture]") for seq, at in self.some(media)),
                reshown=tuple(e.Reshown(seq, at, Form.NATIVE, 800) for seq, at in self.some(media)),
                shortened=tuple(e.Shortened(one.call, "[shortened]") for one in self.some(results)),
                plain_before=latest if self.choose(6) == 1 else 0,
                flat_before=latest if self.choose(6) == 1 else 0,
            )
        )


def _answer(opening: int) -> DeliveryId:
    return delivery_id(ConversationId("c"), f"t{opening}")
