"""The instances of this home, found by their names, and never anybody else's (`sandboxes.shared.persistent.Keeper`)."""

from collections.abc import Sequence
from pathlib import Path

from angelia.sandboxes.apptainer import instance
from angelia.sandboxes.apptainer.program import ApptainerProgram, ListedInstance, find
from angelia.sandboxes.apptainer.settings import ApptainerSettings
from angelia.sandboxes.port import SandboxMissing
from angelia.sandboxes.shared.persistent import PersistentPlace, Use, owner


async def found(state: Path, settings: Sequence[object]) -> Sequence[PersistentPlace]:
    """See the port. Without the program there are none."""
    places: list[PersistentPlace] = []
    for named in sorted({known.program for known in settings if isinstance(known, ApptainerSettings)}):
        try:
            program = find(named)
        except SandboxMissing:
            continue
        for one in await program.running(f"{instance.PREFIX}*"):
            place = one.instance.removeprefix(instance.PREFIX).rsplit("-", 2)[0]
            ours = one.instance.startswith(f"{instance.stem_of(place, owner(state))}-")
            if ours and all(one.instance != place.name for place in places):
                places.append(await _seen(program, one, state, place))
    return places


async def end(place: PersistentPlace) -> None:
    """See the port."""
    await instance.end(find(place.at), place.name)


async def _seen(program: ApptainerProgram, one: ListedInstance, state: Path, place: str) -> PersistentPlace:
    scratch = state / "apptainer" / place / "scratch"  # made when it was started
    return PersistentPlace(
        kind="apptainer",
        at=program.path,
        name=one.instance,
        place=place,
        what=one.img,
        use=Use.IN_USE if await instance.in_use(program, one.instance) else Use.IDLE,
        since=scratch.stat().st_mtime if scratch.is_dir() else 0.0,
    )
