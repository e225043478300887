"""Greets each helper that is another agent, and each known agent that is installed, in the sandbox it would work in."""

import shutil
from collections.abc import AsyncIterator

from angelia.core.errors import AngeliaError
from angelia.faces.cli.checkup.check_result import CheckResult, CheckState, absent, broken, well
from angelia.held_folder import HeldFolder
from angelia.service.app import App
from angelia.service.delegation.settings import ChildPreset
from angelia.service.delegation.workers import worker_of, works_elsewhere
from angelia.service.places.presets import chosen
from angelia.workers.agents import KNOWN

_OURSELVES = "angelia"
"""Is there whenever this runs: whoever wants it as a helper of its own names it."""


async def look_at_workers(app: App) -> AsyncIterator[CheckResult]:
    """Each by its name: whether its program is there, and speaks the protocol. It is given no task.

    Known agents on the PATH that no helper names are greeted as well, and how one of them becomes a helper is said.
    """
    there = {name: one for name, one in app.loaded.config.helpers.items() if works_elsewhere(one)}
    if chosen(app.loaded.config.sandbox, "").spec != "local":
        if there:
            yield absent("helpers", f"{', '.join(there)}: they work in a sandbox that is not opened for a look")
        return
    for name, preset in there.items():
        try:
            yield await _greeted(app, name, preset)
        except AngeliaError as error:
            yield broken(f"helper {name}", error.what, error.then or f"Look at [helpers.{name}].")
    named = {one.worker for one in there.values()}
    for agent, known in KNOWN.items():
        worker = f"acp:{agent}"
        if worker in named or agent == _OURSELVES or not shutil.which(known.argv[0]):
            continue
        found = await _greeted(app, agent, ChildPreset(worker=worker))
        if found.state is CheckState.WELL:
            yield well(found.about, f'{found.seen}; [helpers.{agent}] with worker = "{worker}" makes it a helper')
        else:
            yield absent(found.about, f"{found.seen} (no helper names it)", found.mend)


async def _greeted(app: App, name: str, preset: ChildPreset) -> CheckResult:
    from angelia.sandboxes.local.sandbox import LocalSandbox
    from angelia.sandboxes.port import reach_here
    from angelia.service.delegation.employed_worker import program_of
    from angelia.workers.acp.trial import greeted

    named, about = worker_of(name, preset), f"helper {name}"
    program = program_of(name, named, preset, app.secret_refs)
    with HeldFolder() as folder:
        confine = app.loaded.config.sandbox.confine
        sandbox = LocalSandbox(folder, home=app.loaded.home, state=app.running, confine=confine)
        try:
            reach = await reach_here(sandbox, program.reach)
            answers, said = await greeted(await sandbox.start(await program.command("", "", reach)))
        finally:
            await sandbox.close()
    if answers:
        return well(about, f"{named.name} answers: {said}")
    known = KNOWN.get(named.name.partition(":")[2])
    how = f"Is it installed? {known.install}" if known and not preset.command else f"Look at helpers.{name}.command."
    return broken(about, f"{named.name} does not answer: {said}", how)
