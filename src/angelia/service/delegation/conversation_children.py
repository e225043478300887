"""What a conversation's tools do with its children."""

import asyncio
import hashlib
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from angelia.context.in_view import InViewFold
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.days import day_of
from angelia.core.errors import BadInput, NotFound
from angelia.core.ids import CallId, ConversationId, sortable_id
from angelia.core.principal import ANGELIA, OWNER
from angelia.core.text import clean
from angelia.engine.allowed_tools import skills_in_use
from angelia.engine.caps import money_left
from angelia.sandboxes.registry import works_here
from angelia.service.conversation.speakers import guests_in
from angelia.service.delegation.children import Children
from angelia.service.delegation.presets import ConversationPresets
from angelia.service.delegation.rights import may_call
from angelia.service.delegation.settings import ChildPreset
from angelia.service.delegation.workers import works_elsewhere
from angelia.service.people.budgets import limits_for
from angelia.service.places.presets import kept
from angelia.service.settings.rules import limits_in, turn_caps
from angelia.tools.delegation.access import DelegatedTask

if TYPE_CHECKING:
    from angelia.service.delegation.plan import Means, Planned


class ConversationChildren:
    """See `tools.port.ChildrenAccess`."""

    def __init__(self, children: Children, presets: ConversationPresets) -> None:
        self._children, self._presets = children, presets
        self._parent = children.parent
        self._view = InViewFold(children.parent.owner)

    async def look(self) -> None:
        """See `ChildrenAccess`."""
        await self._presets.look()

    def offered(self) -> str:
        """See `ChildrenAccess`."""
        presets = self._allowed(())
        lines = [f"- {name}: {_described(preset)}" for name, preset in presets.items()]
        return "\n".join(["Helpers that are set up, for `delegate`:", *lines]) if lines else ""

    async def planned(self, call: CallId, tasks: Sequence[DelegatedTask]) -> tuple[e.Child, ...]:
        """See `ChildrenAccess`."""
        from angelia.service.delegation.plan import plan

        parent, terms = self._parent, self._parent.terms
        plans = plan(tasks, await self._means())
        before = sum(1 for started in self._begun())
        guests = [one for one in guests_in(parent) if one != parent.owner]
        opener = parent.turn.opener.principal if parent.turn.opener else OWNER
        forwarded = self._outside_in_view()
        return tuple(
            e.Child(
                self._id_of(call, number),
                self._terms(f"h{before + number}", planned, terms),
                clean(planned.task),
                planned.files,
                guests[0] if guests else opener,
                forwarded,
                planned.copy,
            )
            for number, planned in enumerate(plans, 1)
        )

    def _outside_in_view(self) -> bool:
        return self._view.advance(self._parent.log.entries).untrusted  # it has no notes, so what is quoted is no matter

    def _terms(self, name: str, planned: "Planned", own: e.ChildTerms | None) -> e.ChildTerms:
        return e.ChildTerms(
            parent=self._parent.conversation,
            root=self._parent.root,
            name=name,
            depth=own.depth + 1 if own else 1,
            model=planned.model,
            tools=() if planned.worker else planned.tools or (own.tools if own else ()),
            max_cost=planned.max_cost,
            max_steps=planned.max_steps,
            skills=tuple(dict.fromkeys(skills_in_use(self._parent.log.entries))),
            copy_of=self._parent.original_workspace if planned.copy else own.copy_of if own else "",
            worker=planned.worker,
        )

    def _allowed(self, tools: Collection[str]) -> dict[str, ChildPreset]:
        """The helpers that this conversation may have: one whose own tools are narrowed has no other agents."""
        named, terms = self._presets.named(tools), self._parent.terms
        narrow = bool(terms and terms.tools)
        return {name: preset for name, preset in named.items() if not (narrow and works_elsewhere(preset))}

    async def _means(self) -> "Means":
        from angelia.service.delegation.plan import Means

        sources, parent = self._children.sources, self._parent
        config, turn = sources.config, self._parent.turn
        now = parent.log.entries[-1].at
        today = await sources.transcript.spent(OWNER, day_of(now))
        caps = turn_caps(limits_for(config, parent.owner, limits_in(config, parent.door, parent.terms)))
        left = money_left(turn, caps, max(today.cost - turn.cost, 0))
        theirs = await sources.budgets.left(parent.owner)
        if theirs is not None:
            theirs = max(theirs - sum(turn.reserved.values()), 0)
            left = theirs if left is None else min(left, theirs)
        tools = tuple(name for name in sources.registry().names if may_call(e.PARENT, self._nested(), name))
        presets = self._allowed(tools)
        models = [self._children.model, *config.fallback, *(preset.model for preset in presets.values())]
        since = parent.log.entries[max(turn.opened - 1, 0) :]
        return Means(
            settings=config.delegation,
            presets=presets,
            opened=sum(isinstance(entry.fact, e.WorkStarted) and entry.fact.child is not None for entry in since),
            money=left,
            model=self._children.model,
            models=tuple(dict.fromkeys(model for model in models if model)),
            tools=tools,
            no_copy=self._no_copy(),
        )

    def _no_copy(self) -> str:
        at = kept(self._children.sources.config.sandbox, self._parent.sandbox, self._parent.preset)
        if not works_here(at.spec, at.settings):
            return f"The folder lies in {at.spec.partition(':')[0]}, and only one of this machine can be copied."
        from shutil import which

        return "" if which("git") else "Copies are made by git, which is not installed."

    def _nested(self) -> e.ChildTerms:
        """Terms that narrow nothing by themselves: what any child may have."""
        return e.ChildTerms(self._parent.conversation, self._parent.root, "")

    def _id_of(self, call: CallId, number: int) -> ConversationId:
        """The same for the same call, so that one that is run again after a crash opens nothing twice."""
        started = self._parent.turn.started_at
        digest = hashlib.sha256(f"{self._parent.conversation}:{call}:{number}".encode()).digest()
        return ConversationId(sortable_id(lambda: started, lambda size: digest[:size]))

    def _begun(self) -> list[e.WorkStarted]:
        facts = (entry.fact for entry in self._parent.log.entries)
        return [fact for fact in facts if isinstance(fact, e.WorkStarted) and fact.child]

    # -- those that run -----------------------------------------------------------------------------------------------

    async def wait(self, names: Sequence[str], seconds: float) -> str:
        """See `ChildrenAccess`."""
        parent = self._parent
        wanted = [self._found(name).call for name in names] or [started.call for started in parent.children]
        if not wanted:
            return "No helper runs."
        heard = parent.turn.unread

        def over() -> bool:
            return not set(wanted) & self._running() or parent.turn.unread != heard

        self._children.waited.update(wanted)
        try:
            async with asyncio.timeout(seconds):
                await parent.wait(over)
        except TimeoutError:
            pass
        finally:
            self._children.waited.subtract(wanted)
        lines = [*map(self._line, wanted)]
        if set(wanted) & self._running() and parent.turn.unread != heard:
            lines.append("[somebody wrote meanwhile; wait again if that changes nothing]")
        return "\n".join(lines)

    def _line(self, name: CallId) -> str:
        if name not in self._running():
            return f"{name} has ended; a note says how."
        session = self._children.session(name)
        if session is None:
            return f"{name} waits for its turn, or is being opened."
        from angelia.service.delegation.words import progress_line

        asks = " · waits for an answer" if session.questions() else ""
        return f"{name} works: {progress_line(session.log.entries)}{asks}"

    async def tell(self, call: CallId, name: str, text: str) -> str:
        """See `ChildrenAccess`."""
        child = self._running_child(name)
        forwarded = self._outside_in_view()
        address = e.Address(e.PARENT, self._parent.conversation)
        key = f"{self._parent.conversation}:{call}"
        said = e.Delegated((Text(clean(text)),), child.sender, address, key, forwarded=forwarded)
        await self._children.sources.transcript.append(child.id, [said])
        return f"{name} reads it at its next step."

    async def stop(self, name: str) -> str:
        """See `ChildrenAccess`."""
        child = self._running_child(name)
        await self._children.sources.transcript.append(child.id, [e.CancelAsked(ANGELIA)])
        return f"{name} is ended; a note says how far it came."

    def _running(self) -> set[CallId]:
        return {started.call for started in self._parent.children}

    def _running_child(self, name: str) -> e.Child:
        started = self._found(name)
        assert started.child is not None
        if started.call not in self._running():
            raise BadInput(f"{name} has ended; a note says how.", then="`delegate` opens another one.")
        return started.child

    def _found(self, name: str) -> e.WorkStarted:
        begun = self._begun()
        found = next((started for started in begun if started.call == name), None)
        if found is None:
            there = ", ".join(started.call for started in begun) or "none"
            raise NotFound(f"There is no helper {name!r}.", f"There are: {there}.")
        return found


def _described(preset: ChildPreset) -> str:
    said = preset.description or "no description"
    return f"{said} (another agent, with its own model and tools)" if works_elsewhere(preset) else said
