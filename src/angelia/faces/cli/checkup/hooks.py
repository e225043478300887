"""Fires each hook once with a probe: one that never fires looks like one that approves."""

from collections.abc import AsyncIterator
from pathlib import Path

from angelia.core.entry import HookEvent, HookOutcome
from angelia.faces.cli.checkup.check_result import CheckResult, broken, well
from angelia.service.app import App

_CALL: dict[str, object] = {"tool_input": {"command": "true"}, "tool_use_id": "probe"}
_PROBE: dict[HookEvent, dict[str, object]] = {
    HookEvent.BEFORE_CALL: _CALL,
    HookEvent.AFTER_CALL: {**_CALL, "tool_response": {"status": "ok", "text": "", "seconds": 0.0}},
    HookEvent.MESSAGE: {"prompt": "This is a probe by angelia doctor."},
    HookEvent.ENDING: {"stop_hook_active": False, "ending": "Answered", "last_assistant_message": "This is a probe."},
}


async def look_at_hooks(app: App) -> AsyncIterator[CheckResult]:
    """Each by its name: whether its program answers what can be read, and what."""
    if not app.loaded.config.hooks:
        return
    from angelia.service.hooks.conversation_hooks import NAMES, fired, folder_of

    for name, hook in app.loaded.config.hooks.items():
        event = HookEvent(hook.at)
        told: dict[str, object] = {"session_id": "probe", "cwd": str(Path.cwd()), "hook_event_name": NAMES[event]}
        if event in (HookEvent.BEFORE_CALL, HookEvent.AFTER_CALL):
            told["tool_name"] = next(iter(hook.tools), "shell")
        answer = await fired(hook, {**told, "probe": True, **_PROBE[event]}, folder_of(str(Path.cwd())))
        about = f"hook {name}"
        if answer.came is HookOutcome.FAILED:
            then = "refuses every call that it judges" if event is HookEvent.BEFORE_CALL else "is told of nothing"
            yield broken(about, f"{answer.why}; so it {then}", f"Look at hooks.{name}.command: {hook.command}")
        else:
            why = f" ({answer.why})" if answer.why else ""
            yield well(about, f"{event}: answers a probe with “{answer.came}”{why}")
