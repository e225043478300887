"""Questions of a call that runs: put to whoever may answer, and waited for while the call goes on.

The call is started, and stays so: if this process dies meanwhile, how it ended is unknown, and the question is moot
with its result. A message that is written instead of an answer makes it moot, too, and is read next.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence

from angelia.core import entry as e
from angelia.core.content import ToolCall
from angelia.core.crash import crash_point
from angelia.core.ids import question_id_in
from angelia.core.principal import ANGELIA
from angelia.engine.log import Log
from angelia.policy.verdict import Ask, Deny, Effect, OfServer, Verdict, VisitForServer
from angelia.store.log.lease import Lease
from angelia.tools.asking import NotAsked, PersonReply, Said, SaidNo

MOOT = "It is not asked any more."
OVERTAKEN = "The person wrote a message instead of answering."


class QuestionsMeanwhile:
    """Those of one call, one after the other."""

    def __init__(
        self, log: Log, judge: Callable[[Sequence[Effect]], Awaitable[Verdict]], call: ToolCall, lease: Lease
    ) -> None:
        self._log, self._judge = log, judge
        self._call, self._lease = call, lease
        self._asking = asyncio.Lock()

    async def ask(self, effect: OfServer) -> PersonReply:
        """See `AskMeanwhile`.

        Raises:
            Fenced, StoreError: the question could not be stored; nobody was asked.
        """
        async with self._asking:
            match await self._judge([effect]):
                case Ask() as verdict:
                    return await self._answer(self._question(verdict, effect))
                case Deny(reason=reason):
                    return NotAsked(reason)
                case allowed:
                    raise AssertionError(f"a question is always asked, and this was allowed: {allowed.reason}")

    def _question(self, verdict: Ask, effect: OfServer) -> e.ApprovalAsked:
        facts = (entry.fact for entry in self._log.entries)
        before = {fact.call for fact in facts if isinstance(fact, e.ApprovalAsked)}
        number = 1
        while question_id_in(self._call.id, number) in before:
            number += 1
        told = "\0".join((self._call.name, self._call.arguments, str(number), repr(effect)))
        asks = e.QuestionKind.PERMISSION if isinstance(effect, VisitForServer) else e.QuestionKind.CHOICE
        return e.ApprovalAsked(
            call=question_id_in(self._call.id, number),
            question=verdict.question,
            digest=hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:32],
            why=verdict.reason,
            choices=() if isinstance(effect, VisitForServer) else effect.choices,
            asks=asks,
            whole=f"address: {effect.url}\nwhat for: {effect.message}" if isinstance(effect, VisitForServer) else "",
            approvers=verdict.approvers,
        )

    async def _answer(self, asked: e.ApprovalAsked) -> PersonReply:
        replied: asyncio.Future[PersonReply | None] = asyncio.get_running_loop().create_future()

        def heard(entries: Sequence[e.Entry]) -> None:
            for entry in entries:
                if not replied.done() and (found := _meant(entry.fact, asked)) is not _NOTHING:
                    replied.set_result(found)

        forget = self._log.listen(heard)
        try:
            await self._log.append(asked, lease=self._lease)
            crash_point("tool.asked_meanwhile")
            if (reply := await replied) is not None:
                return reply
        except asyncio.CancelledError:  # it is answered in another way, or the call is stopped
            await asyncio.shield(self._log.append(e.ApprovalRefused(asked.call, ANGELIA, MOOT), lease=self._lease))
            raise
        finally:
            forget()
        await self._log.append(e.ApprovalRefused(asked.call, ANGELIA, OVERTAKEN), lease=self._lease)
        return NotAsked(OVERTAKEN)


_NOTHING = NotAsked("")


def _meant(fact: e.AnyFact, asked: e.ApprovalAsked) -> PersonReply | None:
    """What a fact says to a question: nothing, an answer, or None for a message in its place."""
    match fact:
        case e.ApprovalGiven() if (fact.call, fact.digest) == (asked.call, asked.digest) and fact.by in asked.approvers:
            return Said(fact.answer)
        case e.ApprovalRefused(by=by, why=why) if fact.call == asked.call and by in (*asked.approvers, ANGELIA):
            return NotAsked(why) if by == ANGELIA else SaidNo(why)
        case e.Opening(arrival=e.Arrival.STEER):
            return None
        case _:
            return _NOTHING
