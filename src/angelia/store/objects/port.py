"""The port of a store of objects: named bytes that are put whole, listed, moved and deleted.

What may be believed of one, and what `angelia.testing.objects` puts to a test:

* What was put is durable once the call returns, and is there whole or not at all, whoever reads or is killed meanwhile.
* `create` never touches what is there; of several that create one name at once exactly one is told that it did.
* Whoever puts, lists or moves sees what was put before, by whomever.

Every method blocks, and is called in a thread; any number may be called at once. A name is two or three parts of
`[a-z0-9.-]` with a slash between them, such as `blobs/ab12…`.

Each raises StoreUnreachable where the store does not answer or refuses us, with what it said; StoreFull and
StoreReadOnly as they say. What was being put then is not acknowledged, and may or may not be there.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from msgspec import Struct

Content = Path | bytes
"""What is put: the content of a file, or bytes."""


class StoredObject(Struct, frozen=True):
    """One object: its bytes, and when it was put last, Unix seconds by the store's own clock."""

    name: str
    size: int
    put_at: float


class ObjectStore(Protocol):
    """One place for objects. `address` is how a person wrote it, without secrets."""

    @property
    def address(self) -> str: ...

    def create(self, name: str, content: Content) -> bool:
        """Put what is not there yet; False if there is an object of this name, which stays as it is: somebody else's,
        or the one of this very call, if the reply to that was lost.
        """
        ...

    def replace(self, name: str, content: Content) -> None:
        """Put it, in place of what may be there; it counts as put now."""
        ...

    def look(self, name: str) -> StoredObject | None:
        """What is known of it; None if it is not there."""
        ...

    def fetch(self, name: str, take: Callable[[bytes], object]) -> None:
        """Give `take` its bytes, piece by piece, in order, each once.

        Raises:
            NotFound: it is not there; `take` was given nothing.
        """
        ...

    def list(self, folder: str) -> Iterator[StoredObject]:
        """All whose names begin with `folder` and a slash, in any order."""
        ...

    def move(self, name: str, to: str) -> bool:
        """Give it another name, in place of what may be there; it counts as put now. False if it is not there.

        A crash within leaves it under the old name, the new one, or both.
        """
        ...

    def delete(self, name: str) -> None:
        """Delete it for good; nothing happens if it is not there."""
        ...
