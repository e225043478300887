"""The sandboxes at Modal of this home, by what was noted of them (`sandboxes.shared.persistent.Keeper`).

Modal is not asked: a list of places should not need the network, and a saved one runs nowhere.
"""

from collections.abc import Sequence
from pathlib import Path

from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.modal.holder_lock import is_held
from angelia.sandboxes.modal.sandbox import name_of
from angelia.sandboxes.modal.saved import Note, Saved
from angelia.sandboxes.modal.service import Service
from angelia.sandboxes.modal.settings import ModalSettings
from angelia.sandboxes.shared.persistent import PersistentPlace, Use


async def found(state: Path, settings: Sequence[object]) -> Sequence[PersistentPlace]:
    """See the port. What is saved is idle: Modal forgets it after `snapshot_days`."""
    folders = state / "modal"
    noted = [(folder, Note(folder).read()) for folder in (sorted(folders.iterdir()) if folders.is_dir() else ())]
    return [_seen(state, folder, saved) for folder, saved in noted if saved]


async def end(place: PersistentPlace) -> None:
    """See the port. Its snapshot is deleted as well."""
    note = Note(Path(place.at))
    if saved := note.read():
        service = Service(ModalSettings(app=saved.app))
        if sandbox := await service.find(place.name):
            await service.end(sandbox)
            await service.detach(sandbox)
        if saved.snapshot:
            await service.forget(saved.snapshot)
        note.remove()


def _seen(state: Path, folder: Path, saved: Saved) -> PersistentPlace:
    return PersistentPlace(
        kind="modal",
        at=str(folder),
        name=name_of(SandboxContext(folder.name, "", state, state)),
        place=folder.name,
        what=saved.image,
        use=Use.IN_USE if is_held(folder) else Use.IDLE,
        since=saved.started or saved.taken,
        only_copy=True,
    )
