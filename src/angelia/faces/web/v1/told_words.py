"""The words of a turn as they go to a program piece by piece: each once, in order, and none left out."""

from collections.abc import Sequence

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.engine.reply_text import said_text, words_of
from angelia.faces.web.v1.turn import FollowedTurn, StoredTurn, Wrote

_APART = "\n\n"


class ToldWords:
    """What was told so far. Each method returns what is to be told next, which may be nothing.

    Words are told while they are written, before anybody knows whether they become the answer. Where a reply was cut
    and is made anew, the new one is told whole, below what had come: a stream takes nothing back.

    `told` are those of the log, and of the reply that is being written. `lost` are the places in it from which on
    others were told once, of replies that were lost with the process that heard them; oldest first.
    """

    def __init__(self) -> None:
        self.told = ""
        self.lost: list[int] = []
        self._reply = ""
        self._goes_on = True
        self._begun: tuple[int, bool] | None = None
        self._below = False

    def heard(self, event: Wrote | e.Entry) -> str:
        """One more thing that happened in the turn."""
        return self.wrote(event.text) if isinstance(event, Wrote) else self.stored(event.fact)

    def wrote(self, text: str) -> str:
        """Some more of a reply."""
        self._reply += text
        return self._tell(text)

    def stored(self, fact: e.AnyFact) -> str:
        """A reply is whole, or was given up, or lost: another one is asked for, or the turn over, and none has come."""
        begun, self._begun = self._begun, None
        match fact:
            case e.ModelAsked():
                self._lose(begun)
                self._begun = len(self.told), self._goes_on
                return ""
            case e.TurnClosed():
                self._lose(begun)
                return ""
            case e.ModelSaid(stop=stop):
                whole, reply = words_of(fact), self._reply
                if whole.startswith(reply):
                    more = self._tell(whole[len(reply) :])
                else:
                    self._goes_on = False
                    more = self._tell(whole)
                self._reply, self._goes_on = "", stop in (e.StopReason.LENGTH, e.StopReason.PAUSE)
                return more
            case e.ModelFailed(partial=partial):  # told also to who comes later, so that places stay what they were
                came = "".join(part.text for part in partial if isinstance(part, Text))
                more = self._tell(came[len(self._reply) :]) if came.startswith(self._reply) else ""
                self._goes_on = self._goes_on and not (self._reply or more)
                self._reply = ""
                return more
            case _:
                self._begun = begun
                return ""

    def rest(self, words: str, log: Sequence[e.Entry]) -> str:
        """What is missing of the words with which a turn of this log ended."""
        if not words.strip() or self.told.strip().endswith(words.strip()):
            return ""
        last = next((entry.seq for entry in reversed(log) if isinstance(entry.fact, e.ModelSaid)), 0)
        shown = said_text(log, [last]) if last else ""
        self._goes_on = False
        return self._tell(words.removeprefix(shown).lstrip("\n") if shown else words)

    def _lose(self, begun: tuple[int, bool] | None) -> None:
        if begun is None:
            return
        place, self._goes_on = begun
        self.lost.append(place)
        self._below = bool(self._reply)
        self.told = self.told[:place]
        self._reply = ""

    def _tell(self, text: str) -> str:
        if not text:
            return ""
        more = text if self._goes_on or not self.told else _APART + text
        self._goes_on = True
        self.told += more
        below, self._below = self._below, False
        return apart(more) if below else more


def apart(words: str) -> str:
    """Words as they stand below others."""
    return words if words.startswith(_APART) else _APART + words


def told_by_now(turn: FollowedTurn | StoredTurn) -> ToldWords:
    """What a stream would have told of a turn by now, from the log alone; what it ended with is not added."""
    told = ToldWords()
    for entry in turn.entries[turn.seq :]:
        told.stored(entry.fact)
        if isinstance(entry.fact, e.TurnClosed | e.CallsHandedOver):
            break
    return told
