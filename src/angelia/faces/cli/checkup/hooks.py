"""Fires each hook once with a probe: one that never fires looks like one that approves."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from angelia.core.entry import HookEvent, HookOutcome
from angelia.faces.cli.checkup.check_result import CheckResult, absent, broken, well
from angelia.path_queries import is_folder
from angelia.service.app import App

if TYPE_CHECKING:
    from angelia.service.hooks.project_hooks import RunHook

_CALL: dict[str, object] = {"tool_input": {"command": "true"}, "tool_use_id": "probe"}
_PROBE: dict[HookEvent, dict[str, object]] = {
    HookEvent.BEFORE_CALL: _CALL,
    HookEvent.AFTER_CALL: {**_CALL, "tool_response": {"status": "ok", "text": "", "seconds": 0.0}},
    HookEvent.MESSAGE: {"prompt": "This is a probe by angelia doctor."},
    HookEvent.ENDING: {"stop_hook_active": False, "ending": "Answered", "last_assistant_message": "This is a probe."},
}


async def look_at_hooks(app: App) -> AsyncIterator[CheckResult]:
    """Each by its name: whether its program answers what can be read, and what. Those of the project that the person
    has seen are among them; of those that they have not, it is said that they are not run.
    """
    here = Path.cwd()
    listed = (is_folder(above / ".angelia" / "hooks") for above in (here, *here.parents))
    if not (app.loaded.config.hooks or (app.loaded.home / "pinned-hooks").is_dir() or any(listed)):
        return
    from angelia.service.hooks.project_hooks import RunHook, hooks_in_force

    project, news = await hooks_in_force(app.trusted_files, app.loaded.home, here)
    for one in news:
        yield absent("hooks of this folder", one)
    for name, hook in app.loaded.config.hooks.items():
        yield await _fired(name, RunHook(hook), f"hooks.{name}.command")
    for name, run in project.items():
        yield await _fired(name, run, "hooks.toml")


async def _fired(name: str, run: "RunHook", where: str) -> CheckResult:
    from angelia.service.hooks.conversation_hooks import NAMES, fired

    hook, here, about = run.settings, str(Path.cwd()), f"hook {name}"
    event = HookEvent(hook.at)
    told: dict[str, object] = {"session_id": "probe", "cwd": here, "hook_event_name": NAMES[event]}
    if event in (HookEvent.BEFORE_CALL, HookEvent.AFTER_CALL):
        told["tool_name"] = next(iter(hook.tools), "shell")
    answer = await fired(name, run, {**told, "probe": True, **_PROBE[event]}, here)
    if answer.came is HookOutcome.FAILED:
        then = "refuses every call that it judges" if event is HookEvent.BEFORE_CALL else "is told of nothing"
        return broken(about, f"{answer.why}; so it {then}", f"Look at {where}: {hook.command}")
    why = f" ({answer.why})" if answer.why else ""
    return well(about, f"{event}: answers a probe with “{answer.came}”{why}")
