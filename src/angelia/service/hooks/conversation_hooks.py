"""A conversation's hooks: guards before its calls, and observers of calls, messages and endings.

Each run is a fact. A guard may refuse or have it asked about, and never widens what the policy allows; one that breaks
refuses. An observer changes nothing; of one that breaks the person is told once for each conversation. After a crash a
guard is asked again with its call, a message may be told of again, and an ending whose program was cut off is not.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
from msgspec import Struct

from angelia.beginning import named_folder, persons_home
from angelia.core import entry as e
from angelia.core.content import Content, Text, ToolCall
from angelia.core.crash import crash_point
from angelia.core.entry import HookEvent, HookOutcome
from angelia.core.errors import ConfigError
from angelia.core.ids import delivery_id
from angelia.engine.hooks import GuardAnswer
from angelia.service.conversation.session import Session
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.service.hooks.answers import HookAnswer, guard_answer, observer_answer
from angelia.service.hooks.program import HookBroke, run_hook
from angelia.service.hooks.project_hooks import RunHook
from angelia.service.settings.config import HookSettings

NAMES = {
    HookEvent.BEFORE_CALL: "PreToolUse",
    HookEvent.AFTER_CALL: "PostToolUse",
    HookEvent.MESSAGE: "UserPromptSubmit",
    HookEvent.ENDING: "Stop",
}
"""What Claude Code calls each, so that programs written for it understand."""


class HookSources(Struct, frozen=True):
    """What hooks work with. `redact` hides known secrets in what they say. `project` are those that the person has seen
    in the folder of the conversation, and what is to be told of it.
    """

    settings: Mapping[str, HookSettings]
    redact: Callable[[str], str]
    project: Callable[[], Awaitable[tuple[Mapping[str, RunHook], Sequence[str]]]]


class ConversationHooks:
    """See `engine.hooks.CallHooks`, and `turned` for the rest."""

    def __init__(self, session: Session, sources: HookSources) -> None:
        self._session, self._sources = session, sources
        self._told_to = -1
        self._telling = asyncio.Lock()
        self._broken: set[str] = set()
        self._untold: list[str] = []
        self._hooks: Mapping[str, RunHook] | None = None
        self._loading = asyncio.Lock()
        self._news: list[str] = []

    async def before(self, call: ToolCall) -> GuardAnswer:
        """See `CallHooks`."""
        ran = await self._run_all(HookEvent.BEFORE_CALL, call.id, _about_call(call), call.name)
        objecting = [one for one in ran if one.came in (HookOutcome.REFUSED, HookOutcome.FAILED)]
        asking = [one for one in ran if one.came is HookOutcome.ASKED]
        refused = "; ".join(_refusal(one) for one in objecting)
        return GuardAnswer(ran, refused, "; ".join(f"the hook {one.hook}: {one.why}" for one in asking))

    async def after(self, call: ToolCall, result: e.ToolFinished) -> Sequence[e.HookRan]:
        """See `CallHooks`."""
        response = {"status": str(result.status), "text": _text(result.parts), "seconds": result.seconds}
        told = {**_about_call(call), "tool_response": response}
        return await self._run_all(HookEvent.AFTER_CALL, call.id, told, call.name)

    async def turned(self) -> None:
        """Tell of messages and endings since the last time; what the log says was told of is not told again.

        Whoever leaves the conversation waits for this: an ending is stored before its programs are run.
        """
        async with self._telling:
            await self._turned()

    async def _turned(self) -> None:
        await self._all()
        entries, opened = self._session.log.entries, self._session.turn.opened
        if opened:
            await self._tell_news(entries)
            entries = self._session.log.entries
        if self._told_to < 0:
            self._told_to = opened - 1 if opened else len(entries)
        known = {(one.fact.hook, one.fact.about) for one in entries[self._told_to :] if isinstance(one.fact, e.HookRan)}
        fresh = list(entries[self._told_to :])
        for at, entry in enumerate(fresh):
            ran: tuple[e.HookRan, ...] = ()
            match entry.fact:
                case e.Opening(parts=parts):
                    ran = await self._run_all(HookEvent.MESSAGE, str(entry.seq), {"prompt": _text(parts)}, "", known)
                case e.TurnClosed(ending=ending):
                    said = next((one.fact for one in fresh[at:] if isinstance(one.fact, e.DeliveryQueued)), None)
                    told = {
                        "stop_hook_active": False,
                        "ending": type(ending).__name__,
                        "last_assistant_message": _text(said.parts) if said else "",
                    }
                    ran = await self._run_all(HookEvent.ENDING, str(entry.seq), told, "", known)
                case _:
                    pass
            facts: list[e.AnyFact] = [*ran, *self._notices()]
            if facts:
                crash_point("hook.ran")
                await self._session.log.append(*facts)
        self._told_to = len(self._session.log.entries)

    async def _tell_news(self, entries: Sequence[e.Entry]) -> None:
        """What of the project's hooks the person has to see, once in a conversation."""
        said = {entry.fact.text for entry in entries if isinstance(entry.fact, e.SystemSaid)}
        news, self._news = [one for one in self._news if one not in said], []
        self._untold += news
        if news:
            await self._session.log.append(*map(e.SystemSaid, news))

    async def _all(self) -> Mapping[str, RunHook]:
        """Every hook, as it was when the conversation was opened."""
        async with self._loading:
            if self._hooks is None:
                project, news = await self._sources.project()
                own = {name: RunHook(hook) for name, hook in self._sources.settings.items()}
                self._hooks, self._news = {**own, **project}, [*news]
            return self._hooks

    def _notices(self) -> list[e.DeliveryQueued]:
        """That an observer broke, to who spoke last; a terminal shows the run itself."""
        broken, self._untold = self._untold, []
        spoke = next((one.fact for one in reversed(self._session.log.entries) if isinstance(one.fact, e.Opening)), None)
        if not broken or spoke is None or spoke.address == TERMINAL:
            return []
        name = delivery_id(self._session.conversation, f"hooks{len(self._session.log.entries)}")
        return [e.DeliveryQueued(name, spoke.address, (Text("\n".join(broken)),), "notice")]

    async def _run_all(
        self,
        event: HookEvent,
        about: str,
        told: Mapping[str, object],
        tool: str,
        known: Collection[tuple[str, str]] = (),
    ) -> tuple[e.HookRan, ...]:
        """Every hook of this event side by side, in the order of the settings, the project's last."""
        wanted = [
            (name, hook)
            for name, hook in (await self._all()).items()
            if HookEvent(hook.settings.at) is event and (name, about) not in known and _means(hook.settings, tool)
        ]
        return tuple(await asyncio.gather(*(self._run(name, hook, event, about, told) for name, hook in wanted)))

    async def _run(
        self, name: str, hook: RunHook, event: HookEvent, about: str, told: Mapping[str, object]
    ) -> e.HookRan:
        began = time.monotonic()
        here = self._session.workspace if self._session.sandbox == "local" else ""
        answer = await fired(name, hook, {**self._common(event), **told}, here)
        why = self._sources.redact(answer.why)
        if answer.came is HookOutcome.FAILED and event is not HookEvent.BEFORE_CALL and name not in self._broken:
            self._broken.add(name)
            self._untold.append(f"The hook {name} ({event}) broke: {why}. `angelia doctor` tries it.")
        return e.HookRan(name, event, about, answer.came, why, round(time.monotonic() - began, 3))

    def _common(self, event: HookEvent) -> dict[str, object]:
        session = self._session
        return {"session_id": session.conversation, "cwd": session.workspace, "hook_event_name": NAMES[event]}


async def fired(name: str, run: RunHook, told: Mapping[str, object], workspace: str) -> HookAnswer:
    """What a hook's program says when it is told this; what went wrong is `FAILED`, with why. `workspace` is the
    conversation's folder, empty where that is on another machine.
    """
    hook = run.settings
    try:
        folder = run.folder or _named(name, hook, workspace)
        ended = await run_hook(hook.command, msgspec.json.encode(told), hook.seconds, folder)
    except (HookBroke, ConfigError) as error:
        return HookAnswer(HookOutcome.FAILED, error.what)
    return guard_answer(ended) if HookEvent(hook.at) is HookEvent.BEFORE_CALL else observer_answer(ended)


def _named(name: str, hook: HookSettings, workspace: str) -> Path:
    return Path(named_folder(hook.cwd, workspace, f"hooks.{name}.cwd") if hook.cwd else persons_home())


def _means(hook: HookSettings, tool: str) -> bool:
    return not tool or not hook.tools or any(fnmatchcase(tool, pattern) for pattern in hook.tools)


def _about_call(call: ToolCall) -> dict[str, object]:
    try:
        arguments = msgspec.json.decode(call.arguments or "{}")
    except msgspec.DecodeError:
        arguments = call.arguments
    return {"tool_name": call.name, "tool_input": arguments, "tool_use_id": call.id}


def _refusal(one: e.HookRan) -> str:
    if one.came is HookOutcome.REFUSED:
        return f"the hook {one.hook} refuses it: {one.why}"
    return f"the hook {one.hook} could not judge it ({one.why}), and a guard that breaks refuses"


def _text(parts: Sequence[Content]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, Text))
