"""Objects as files below a folder that is there already, such as one of another machine that is mounted here."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from angelia.core.days import DAY_MS
from angelia.core.errors import NotFound, StoreUnreachable
from angelia.store.media.durable import UNFINISHED, Unfinished, sync_folder, unfinished
from angelia.store.objects.port import Content, ObjectStore, StoredObject
from angelia.store.sql.faults import explained

_CHUNK = 1024 * 1024


class FolderObjects:
    """See `ObjectStore`. The file system must know hard links, and no other program may write there.

    What a process that was killed had begun to put is gone with the first list a day later.
    """

    def __init__(self, folder: Path) -> None:
        self._root = folder

    @property
    def address(self) -> str:
        """See `ObjectStore`."""
        return str(self._root)

    def create(self, name: str, content: Content) -> bool:
        """See `ObjectStore`."""
        if self.look(name):
            return False
        with self._filled(name, content) as file:
            return file.keep_new(self._root / name)

    def replace(self, name: str, content: Content) -> None:
        """See `ObjectStore`."""
        with self._filled(name, content) as file:
            file.keep(self._root / name)

    def look(self, name: str) -> StoredObject | None:
        """See `ObjectStore`."""
        self._require()
        with explained(self._root):
            try:
                status = (self._root / name).stat()
            except FileNotFoundError:
                return None
        return StoredObject(name, status.st_size, status.st_mtime)

    def fetch(self, name: str, take: Callable[[bytes], object]) -> None:
        """See `ObjectStore`."""
        self._require()
        with explained(self._root):
            try:
                file = (self._root / name).open("rb")
            except FileNotFoundError as error:
                raise NotFound(f"{name} is not in {self._root}.") from error
        with file:
            while True:
                with explained(self._root):
                    chunk = file.read(_CHUNK)
                if not chunk:
                    return
                take(chunk)

    def list(self, folder: str) -> Iterator[StoredObject]:
        """See `ObjectStore`."""
        self._require()
        with explained(self._root):
            names = [path.name for path in (self._root / folder).glob("*") if not _left_over(path)]
        found = (self.look(f"{folder}/{name}") for name in names)
        yield from (one for one in found if one)

    def move(self, name: str, to: str) -> bool:
        """See `ObjectStore`."""
        self._require()
        source, target = self._root / name, self._root / to
        with explained(self._root):
            target.parent.mkdir(mode=0o700, exist_ok=True)
            try:
                os.utime(source)
                source.replace(target)
            except FileNotFoundError:
                return False
            sync_folder(target.parent)
            sync_folder(source.parent)
        return True

    def delete(self, name: str) -> None:
        """See `ObjectStore`."""
        self._require()
        with explained(self._root):
            (self._root / name).unlink(missing_ok=True)

    @contextmanager
    def _filled(self, name: str, content: Content) -> Iterator[Unfinished]:
        self._require()
        with unfinished((self._root / name).parent) as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                with content.open("rb") as source:
                    if not file.share(source):
                        while chunk := source.read(_CHUNK):
                            file.write(chunk)
            yield file

    def _require(self) -> None:
        if not self._root.is_dir():
            raise StoreUnreachable(
                f"The folder {self._root}, in which files are to lie, is not there.",
                then="Nothing was acknowledged. Mount it, or make it; what was stored before is as it was.",
            )


def _left_over(path: Path) -> bool:
    """Whether this is no object: it was not finished, and is taken away if nobody can be at it any more."""
    if not path.name.startswith(UNFINISHED):
        return False
    with suppress(FileNotFoundError):  # it is finished now
        if path.stat().st_mtime < time.time() - DAY_MS / 1000:
            path.unlink()
    return True


def open_objects(address: str, environ: Mapping[str, str]) -> ObjectStore:
    """The objects below this folder; `~` is the person's own."""
    del environ
    return FolderObjects(Path(address).expanduser())
