"""Ends a turn that was asked to stop where it cannot be driven: its folder is gone, or its model cannot be had."""

from angelia.core.ids import Clock
from angelia.engine.broker import settlement
from angelia.engine.endings import closing_facts
from angelia.engine.log import Log
from angelia.engine.machine import Close, Moment, Rest, Rules, Settle, decide
from angelia.engine.slices import in_slices
from angelia.engine.state import Turn, advance, folding
from angelia.store.log.lease import Lease


class StoppingDriver:
    """Drives a conversation as `Driver` does, but only what needs nothing but the log: a turn that a person stopped is
    settled and closed. Whatever else is open stays so.
    """

    def __init__(self, log: Log, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._turn = Turn()

    def resting(self) -> Rest | None:
        """The rest that the log allows now, or None if a turn is to be ended."""
        self._turn = advance(self._turn, self._log.entries)
        return None if self._turn.opened and self._turn.cancelled_at else Rest()

    async def drive(self, lease: Lease, spent_today: tuple[int, int] = (0, 0)) -> Rest:
        """End what was stopped. Nothing is paid for it, whatever was spent today.

        Raises:
            Fenced: somebody else drives now; nothing was done since.
            StoreError: the store failed; nothing was acknowledged since.
        """
        self._turn = await in_slices(folding(self._turn, self._log.entries))
        while (rest := self.resting()) is None:
            match decide(self._turn, Rules(), Moment(self._clock())):
                case Settle() as settled:
                    facts = settlement(self._log, settled, self._turn.opener)
                case Close() as closed:
                    facts = closing_facts(self._log.conversation, self._log.entries, self._turn, closed)
                case other:  # of a turn that was stopped nothing else is decided
                    raise AssertionError(other)
            await self._log.append(*facts, lease=lease)
        return rest
