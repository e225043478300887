"""The one broker: every effect of every tool is judged and recorded here, and there is no other way to run one."""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from angelia.core import entry as e
from angelia.core.content import CallStatus, Content, Text, ToolCall
from angelia.core.crash import crash_point
from angelia.core.errors import AngeliaError, BadInput, StoreError
from angelia.core.ids import CallId, DeliveryId, delivery_id, is_named
from angelia.core.text import clean
from angelia.engine.allowed_tools import narrowed_away
from angelia.engine.attachments import Place, place_files
from angelia.engine.background import Background, cleaned
from angelia.engine.calls import calls_of, started_fact
from angelia.engine.duplicate_sends import without_repeats
from angelia.engine.hooks import CallHooks, NoHooks
from angelia.engine.log import Log
from angelia.engine.machine import Settle
from angelia.engine.owed import may_cost, notices, with_owed
from angelia.engine.question import digest, digest_of, question
from angelia.policy.verdict import Act, Allow, Ask, Deny, Effect, Verdict
from angelia.store.log.lease import Lease
from angelia.tools.port import CallStopped, ToolContext, ToolOutcome, Work
from angelia.tools.program.handed_over import brought_result, offered_tools
from angelia.tools.registry import BadCall, Registry

Judge = Callable[[Sequence[Effect]], Awaitable[Verdict]]
"""What the policy says of the effects of one call, with grants and the presence of an approver taken into account."""

Run = Callable[[], Awaitable[ToolOutcome]]
"""Runs one call."""

Record = Callable[[e.AnyFact], Awaitable[object]]
"""Stores what a person does, with what begins their conversation if nothing has yet."""

Changed = Callable[[CallId], Sequence[e.FilesChanged]]
"""What is told of files that a call has changed, once."""


_STOPPED = "Stopped before it was finished, by the person or because Angelia was closed. Part of it may have happened."


class BrokerDeps(Struct, frozen=True):
    """What the broker works with. `context` makes the tools' own view of the world; `redact` hides known secrets.

    `background` knows what goes on behind a result; `place` puts what a person sent into the sandbox. `changed` says
    which files a call has changed since it was asked last. `hooks` are the person's programs.
    """

    registry: Registry
    judge: Judge
    context: Callable[[ToolCall, str], ToolContext]
    redact: Callable[[str], str]
    background: Background
    place: Place
    changed: Changed
    hooks: CallHooks = NoHooks()


class Words(Struct, frozen=True):
    """The delivery that brings a turn's answer, and where it goes."""

    delivery: DeliveryId
    address: e.Address


class Broker:
    """Runs the calls of one conversation."""

    def __init__(self, log: Log, deps: BrokerDeps) -> None:
        self._log, self._deps = log, deps
        self._words: Words | None = None
        self._for_program: list[CallId] = []

    async def run(self, calls: Sequence[ToolCall], lease: Lease, words: Words | None = None) -> None:
        """Judge and run `calls` side by side; every one leaves a result, or a question to a person. The files that a
        reply names go out after the `words` that its turn ends with; None where it may end without any.
        """
        self._words, self._for_program = words, []
        try:
            async with asyncio.TaskGroup() as group:
                for call in calls:
                    group.create_task(self._one(call, lease))
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None
        await self._hand_over([call.id for call in calls if call.id in self._for_program], lease)

    async def _hand_over(self, calls: Sequence[CallId], lease: Lease) -> None:
        """Let the program have them: one commit, so that it gets all or none of them."""
        if not calls:
            return
        crash_point("tool.before_handing_over")
        only = calls[:1] if offered_tools(self._log.entries).one_by_one else calls
        await self._log.append(e.CallsHandedOver(tuple(only)), lease=lease)
        crash_point("tool.handed_over")

    async def run_own(self, call: ToolCall, command: str, record: Record) -> None:
        """Run a `command` that the person typed themselves, as the `call` that it amounts to. Having typed it is their
        yes to whatever they would be asked; what the rules refuse stays refused. `record` stores that it begins, and
        its end is in the log, whatever happens.

        Raises:
            BadInput: the rules refuse it; nothing was run.
            AngeliaError: it could not be judged; nothing was run.
        """
        parsed, tool = self._deps.registry.parse(call.name, call.arguments), self._deps.registry.get(call.name)
        if isinstance(parsed, BadCall) or tool is None:
            raise BadInput("No command can be run here.", then="What this conversation may call has no `shell`.")
        context = self._deps.context(call, "")
        verdict = await self._deps.judge(await tool.effects(parsed, context))
        if isinstance(verdict, Deny):
            raise BadInput(f"Not allowed: {verdict.reason}", then="Nothing was run.")
        await record(self._deps.background.own(call.id, command))
        crash_point("own_command.started")
        work = Work(e.WorkKind.OWN_COMMAND, command)
        try:
            outcome = await tool.run(parsed, context)
        except AngeliaError as error:
            outcome = ToolOutcome((Text(str(error)),), CallStatus.ERROR)
        except asyncio.CancelledError:
            stopped = ToolOutcome((Text(_STOPPED),), CallStatus.CANCELLED)
            await asyncio.shield(self._deps.background.ended(call.id, work, stopped, context.address))
            raise
        await self._deps.background.ended(call.id, work, outcome, context.address)

    async def settle(self, settled: Settle, opener: e.Opener | None, lease: Lease) -> None:
        """Give calls the result that was decided; whoever opened the turn is told what may be owed for them."""
        await self._log.append(*settlement(self._log, settled, opener), lease=lease)

    async def place_files(self, seq: int, lease: Lease) -> None:
        """Put the files of a person's message into the sandbox; see `engine.attachments`."""
        await place_files(self._log, seq, self._deps.place, lease)

    async def _one(self, call: ToolCall, lease: Lease) -> None:
        if brought := brought_result(self._log.entries, call.id):  # whether or not its tool is still offered
            await self._take_in(call, brought, lease)
            return
        parsed = self._deps.registry.parse(call.name, call.arguments)
        tool = self._deps.registry.get(call.name)
        if isinstance(parsed, BadCall) or tool is None:
            said = parsed.explanation if isinstance(parsed, BadCall) else f"There is no tool {call.name}."
            owed = started_fact(self._log.entries, call.id).may_cost  # by a life that still had the tool
            await self._log.append(finished(call, CallStatus.BAD_CALL, with_owed(said, owed), owed), lease=lease)
            return
        if why := narrowed_away(self._log.entries, call):
            await self._log.append(finished(call, CallStatus.REFUSED, f"Not allowed: {why}"), lease=lease)
            return
        from angelia.engine.questions_meanwhile import QuestionsMeanwhile

        asked, answer = self._answer_to(call)
        meanwhile = QuestionsMeanwhile(self._log, self._deps.judge, call, lease)
        context = replace(self._deps.context(call, answer.answer if answer else ""), ask=meanwhile.ask)
        if context.submitted.job:  # it was allowed and begun by a life that ended, and is only fetched
            again = started_fact(self._log.entries, call.id)
            await self._perform(call, again, lambda: tool.run(parsed, context), context, lease)
            return
        try:
            effects = await tool.effects(parsed, context)
            verdict = await self._guarded(call, effects, lease)
        except AngeliaError as error:
            await self._log.append(finished(call, CallStatus.ERROR, str(error)), lease=lease)
            return
        match verdict:
            case Deny(reason=reason):
                await self._log.append(finished(call, CallStatus.REFUSED, f"Not allowed: {reason}"), lease=lease)
            case Ask() if answer is None or asked not in ("", digest_of(effects)):
                await self._log.append(question(call, verdict, effects), lease=lease)
            case Ask() | Allow() if tool.traits.handed_over:
                self._for_program.append(call.id)
            case Ask() | Allow():
                started = e.ToolStarted(call.id, tool.traits.replayable, may_cost(effects))
                await self._perform(call, started, lambda: tool.run(parsed, context), context, lease)

    async def _guarded(self, call: ToolCall, effects: Sequence[Effect], lease: Lease) -> Verdict:
        """What policy and guards say. A guard may refuse or have a person asked; it never allows by itself."""
        verdict = await self._deps.judge(effects)
        if isinstance(verdict, Deny):
            return verdict
        said = await self._deps.hooks.before(call)
        if said.runs:
            crash_point("hook.judged")
            await self._log.append(*said.runs, lease=lease)
        if said.refused:
            return Deny(f"{said.refused}.")
        if said.asks:
            return await self._deps.judge([*effects, Act(call.name, "go on", said.asks, "", changes=False)])
        return verdict

    def _answer_to(self, call: ToolCall) -> tuple[str, e.ApprovalGiven | None]:
        """The yes to this very call with these very arguments, by somebody who may give it, and the effects that it is
        for.
        """
        given: list[e.ApprovalGiven] = []
        for entry in reversed(self._log.entries):
            fact = entry.fact
            if isinstance(fact, e.ApprovalGiven) and fact.call == call.id:
                given.insert(0, fact)
            if isinstance(fact, e.ApprovalAsked) and fact.call == call.id:
                answers = [one for one in given if one.by in fact.approvers and one.digest == fact.digest]
                bound = fact.digest == digest(call, fact.effects)
                return fact.effects, answers[0] if answers and bound else None
            if isinstance(fact, e.ModelSaid):  # the reply that made the call: nobody was asked before it
                break
        return "", None

    async def _perform(
        self, call: ToolCall, started: e.ToolStarted, run: Run, context: ToolContext, lease: Lease
    ) -> None:
        crash_point("tool.before_start")
        await self._log.append(started, lease=lease)
        crash_point("tool.started")
        began = time.monotonic()
        try:
            await asyncio.sleep(0)  # a wish to stop that came in with the append is heeded here: nothing is run then
            outcome = await run()
        except AngeliaError as error:
            outcome = ToolOutcome((Text(str(error)),), CallStatus.ERROR)
        except asyncio.CancelledError as stop:
            facts = self._stopped(call, stop, started.may_cost, context)
            await asyncio.shield(self._log.append(*facts, lease=lease))
            raise
        crash_point("tool.ran")
        facts = self._facts(call, outcome, time.monotonic() - began, context)
        try:
            await self._log.append(*facts, lease=lease)
        except (StoreError, asyncio.CancelledError):
            self._deps.background.told_in_vain(outcome, context.address)
            raise
        crash_point("tool.finished")
        result = facts[0]
        if isinstance(result, e.ToolFinished) and (runs := await self._deps.hooks.after(call, result)):
            await self._log.append(*runs, lease=lease)

    def _stopped(
        self, call: ToolCall, stop: asyncio.CancelledError, owed: e.Payment, context: ToolContext
    ) -> list[e.AnyFact]:
        """The result of a call that was stopped, with what is known of what it began, for one commit."""
        known = stop.outcome if isinstance(stop, CallStopped) else ToolOutcome(())
        words = " ".join([_STOPPED, *(part.text for part in known.parts if isinstance(part, Text))])
        result = finished(call, CallStatus.CANCELLED, self._deps.redact(with_owed(words, owed)), owed)
        told = notices(self._log.conversation, [call], owed, context.address)
        behind = self._deps.background
        goes_on = behind.facts(call, known)
        return [result, *self._deps.changed(call.id), *goes_on, *told, *behind.notices(call.id, known, context.address)]

    async def _take_in(self, call: ToolCall, brought: e.BroughtResult, lease: Lease) -> None:
        """What a program brought is the call's result."""
        status = CallStatus.ERROR if brought.failed else CallStatus.OK
        parts = tuple(cleaned(part, self._deps.redact) for part in brought.parts)
        fact = e.ToolFinished(call.id, status, parts, digest=_outcome_digest(call, status, parts))
        await self._log.append(fact, lease=lease)
        crash_point("tool.finished")
        if runs := await self._deps.hooks.after(call, fact):
            await self._log.append(*runs, lease=lease)

    def _facts(self, call: ToolCall, outcome: ToolOutcome, seconds: float, context: ToolContext) -> list[e.AnyFact]:
        """The result and what it sends out, for one commit."""
        if is_named(call.id):
            outcome = without_repeats(self._log.entries, outcome)
        parts = tuple(cleaned(part, self._deps.redact) for part in outcome.parts)
        fact = e.ToolFinished(
            call.id,
            outcome.status,
            parts,
            seconds=round(seconds, 3),
            full=outcome.full,
            diffs=tuple(e.Diff(d.path, self._deps.redact(d.old), self._deps.redact(d.new)) for d in outcome.diffs),
            digest=_outcome_digest(call, outcome.status, parts),
            paid=outcome.paid,
            skill=outcome.skill,
        )
        words = self._words if is_named(call.id) else None
        sent = [
            e.DeliveryQueued(
                delivery_id(self._log.conversation, f"{call.id}.{index}"),
                delivery.address,
                delivery.parts,
                call.id,
                after=words.delivery if words and words.address == delivery.address else DeliveryId(""),
            )
            for index, delivery in enumerate(outcome.deliveries)
        ]
        told = self._deps.background.notices(call.id, outcome, context.address)
        return [fact, *self._deps.changed(call.id), *self._deps.background.facts(call, outcome), *sent, *told]


def finished(call: ToolCall, status: CallStatus, said: str, owed: e.Payment = e.NO_PAYMENT) -> e.ToolFinished:
    """The result of a call that did not run, or whose end nobody heard; then with what may be owed for it."""
    parts = (Text(clean(said)),)
    return e.ToolFinished(call.id, status, parts, digest=_outcome_digest(call, status, parts), paid=owed)


def _outcome_digest(call: ToolCall, status: CallStatus, parts: tuple[Content, ...]) -> str:
    """Tells whether the same call brought the same result."""
    seen = [part.text if isinstance(part, Text) else part.blob.sha256 for part in parts]
    whole = "\0".join((call.name, call.arguments, status, *seen))
    return hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:16]


def settlement(log: Log, settled: Settle, opener: e.Opener | None) -> list[e.AnyFact]:
    """The results that were decided, and what whoever opened the turn is told that may be owed for them."""
    calls = find_calls(log, settled.calls)
    facts: list[e.AnyFact] = [finished(call, settled.status, settled.why, settled.owed) for call in calls]
    return [*facts, *notices(log.conversation, calls, settled.owed, opener.address if opener else None)]


def find_calls(log: Log, wanted: Sequence[CallId]) -> list[ToolCall]:
    """The calls of these ids, in order, as the last reply made or named them."""
    for entry in reversed(log.entries):
        if isinstance(entry.fact, e.ModelSaid | e.FilesNamed):
            made = {call.id: call for call in calls_of(entry.fact)}
            return [made[call] for call in wanted if call in made]
    return []
