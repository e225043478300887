"""A log read as a state of the model, without the fold that the code decides from."""

from angelia.core import entry as e
from angelia.core.content import CallStatus, Text, ToolCall
from tests.turns.model import Call, State


class Reading:
    """What a log comes to. `maybe` says that the code may know of a failure which is not read here; `waits` that a
    wait is still to pass.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self.opened = self.cancelled = self.until = self.orphans = 0
        self.unread: list[tuple[int, bool]] = []
        self.calls: dict[str, Call] = {}
        self.named: set[str] = set()
        self.digests: list[str] = []
        self.asked = self.failed = self.answer = self.joins = self.compaction = self.maybe = False

    @property
    def state(self) -> State:
        """As the model has it."""
        readable = [seq for seq, queued in self.unread if not queued or seq == self.opened]
        return State(
            open=bool(self.opened),
            stopped=bool(self.cancelled),
            unread=len(readable),
            asked=self.asked,
            calls=tuple(self.calls.values()),
            failed=self.failed,
            answered=self.answer and not self.joins,
            compaction=self.compaction,
            orphans=self.orphans,
        )

    def take(self, entry: e.Entry) -> None:
        """One entry further."""
        match entry.fact:
            case e.Opening(arrival=arrival):
                self.unread.append((entry.seq, arrival is e.Arrival.QUEUE))
                self.opened = self.opened or entry.seq
            case e.MessageTakenBack(said=said):
                self.unread = [one for one in self.unread if one[0] != said or said == self.opened]
            case e.ModelAsked(heard=heard):
                self.orphans += self.asked
                self.answer = self.answer and self.joins
                self.asked, self.failed, self.maybe = True, False, False
                self.unread = [one for one in self.unread if one[0] not in heard]
            case e.ModelSaid():
                self._said(entry.fact)
            case e.ModelFailed():
                self.asked, self.failed, self.orphans = False, True, 0
            case e.RemedyUsed(remedy=remedy, until=until):
                self.failed, self.maybe, self.until = False, False, until
                self.answer = self.answer and remedy != "mend"
            case e.FilesNamed(files=files):
                self.calls = {file.call.id: Call.WANTED for file in files}
                self.named = set(self.calls)
            case e.CancelAsked() if self.opened:
                self.cancelled = entry.seq
            case e.CompactionRequested():
                self.compaction = True
            case e.ViewMoved():
                self.compaction = False
            case e.TurnClosed():
                self._closed()
            case _:
                self._of_call(entry.fact)

    def _said(self, fact: e.ModelSaid) -> None:
        text = "".join(part.text for part in fact.parts if isinstance(part, Text)).strip()
        self.calls = {part.id: Call.WANTED for part in fact.parts if isinstance(part, ToolCall)}
        length, pause = fact.stop is e.StopReason.LENGTH, fact.stop is e.StopReason.PAUSE
        self.answer = not self.calls and (bool(text) or (self.joins and self.answer))
        self.failed = length or not (text or self.calls or pause)
        self.joins = length or pause or (self.joins and self.failed)
        self.asked, self.orphans, self.maybe = False, 0, False

    def _of_call(self, fact: e.AnyFact) -> None:
        match fact:
            case e.ToolStarted(call=call, replayable=replayable) if call in self.calls:
                self.calls[call] = Call.REPLAYABLE if replayable else Call.DEAD
            case e.JobSubmitted(call=call) if call in self.calls:
                self.calls[call] = Call.REPLAYABLE
            case e.ApprovalAsked(call=call) if call in self.calls:
                self.calls[call] = Call.ASKED
            case e.CallsHandedOver(calls=calls):
                self.calls |= dict.fromkeys(self.calls.keys() & calls, Call.ASKED)
            case e.ResultsBrought(results=results):
                back = [one.call for one in results if self.calls.get(one.call) is Call.ASKED]
                self.calls |= dict.fromkeys(back, Call.PERMITTED)
            case e.ApprovalGiven(call=call) if self.calls.get(call) is Call.ASKED:
                self.calls[call] = Call.PERMITTED
            case e.ApprovalRefused(call=call) if self.calls.get(call) is Call.ASKED:
                self.calls[call] = Call.DECLINED
            case e.ToolFinished(call=call, status=status, digest=digest):
                self.calls.pop(call, None)
                self.maybe = self.maybe or call in self.named
                self.failed = self.failed or (status is CallStatus.BAD_CALL and call not in self.named)
                self.digests.append(digest)
            case _:
                pass

    def _closed(self) -> None:
        handled = max(self.opened, self.cancelled)
        late = [one for one in self.unread if one[0] > handled or (one[1] and one[0] != self.opened)]
        steering = [one for one in late if not one[1]]
        compaction = self.compaction
        self._begin()
        self.unread, self.compaction = late, compaction
        self.opened = (steering or late)[0][0] if late else 0
