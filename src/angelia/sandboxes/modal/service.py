"""Sandboxes of one app at Modal: found by name, made from an image or a snapshot, saved, ended."""

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING

from angelia.sandboxes.modal.errors import plain_words
from angelia.sandboxes.modal.settings import ModalSettings
from angelia.sandboxes.modal.stream_windows import narrow_streams

if TYPE_CHECKING:
    from modal import Image, Sandbox

LIFETIME = 24 * 3600
"""Seconds that a sandbox may live at most (modal.com/docs/guide/sandbox, "Timeouts")."""
_SNAPSHOT_SECONDS = 300
_IDLE = "while sleep 1000; do :; done"
"""What a sandbox runs by itself: nothing."""


class Service:
    """Modal's, for one sandbox. Its SDK takes more than a second to load, so that is done in a thread."""

    def __init__(self, settings: ModalSettings) -> None:
        self._settings = settings

    async def find(self, name: str) -> "Sandbox | None":
        """The running sandbox of that name."""
        await _loaded()
        from modal import Sandbox
        from modal.exception import NotFoundError

        with plain_words("look for the sandbox"):
            try:
                return await Sandbox.from_name.aio(self._settings.app, name)
            except NotFoundError:  # there is no such app yet, or no such sandbox
                return None

    async def create(self, name: str, image: str, snapshot: str) -> "Sandbox":
        """Make one, from the snapshot if there is one.

        Raises:
            SandboxMissing: the image cannot be built, or the account may not have it.
        """
        await _loaded()
        from modal import App, Sandbox

        settings = self._settings
        memory = round(settings.memory_mb * 1_000_000 / 2**20)
        with plain_words(f"start a sandbox of {image}"):
            app = await App.lookup.aio(settings.app, create_if_missing=True)
            return await Sandbox.create.aio(
                *("/bin/sh", "-c", _IDLE),
                app=app,
                name=name,
                image=_image(image, snapshot),
                timeout=LIFETIME,
                idle_timeout=max(settings.idle_minutes * 60, 60),
                block_network=settings.network == "none",
                cpu=(settings.cpus, settings.cpus) if settings.cpus else None,
                memory=(memory, memory) if memory else None,
            )

    async def save(self, sandbox: "Sandbox") -> str:
        """Take a snapshot of its files; the snapshot's id."""
        with plain_words("save the sandbox"):
            days = self._settings.snapshot_days
            taken = await sandbox.snapshot_filesystem.aio(_SNAPSHOT_SECONDS, ttl=days * 86_400 if days else None)
            return taken.object_id

    async def end(self, sandbox: "Sandbox") -> None:
        """End it; one that has ended already is fine."""
        with plain_words("end the sandbox"):
            await sandbox.terminate.aio()

    async def detach(self, sandbox: "Sandbox") -> None:
        """Close the connection to it."""
        await sandbox.detach.aio()  # type: ignore[no-untyped-call]  # the SDK gives it no types

    async def forget(self, snapshot: str) -> None:
        """Delete a snapshot; one that is gone already is fine."""
        await _loaded()
        from modal.exception import NotFoundError
        from modal.experimental import image_delete

        with plain_words("delete a snapshot"):
            try:
                await image_delete.aio(snapshot)
            except NotFoundError:
                return


async def _loaded() -> None:
    await asyncio.to_thread(import_module, "modal.experimental")
    narrow_streams()


def _image(image: str, snapshot: str) -> "Image":
    from modal import Image

    if snapshot or image.startswith("im-"):
        return Image.from_id(snapshot or image)
    return Image.from_registry(image).entrypoint([])
