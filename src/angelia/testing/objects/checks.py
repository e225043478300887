"""Claims that every store of objects must meet: what a package that brings one runs against it.

@pytest.mark.parametrize("check", checks(), ids=lambda check: check.name)
def test_my_objects(check: ObjectCheck, tmp_path: Path) -> None:
    check.run(lambda: MyObjects(...), tmp_path)
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

from angelia.core.errors import NotFound
from angelia.store.objects.port import ObjectStore
from angelia.testing.claims import expect

MakeObjects = Callable[[], ObjectStore]
"""Gives a way to one store, which is empty at first; several ways are as several processes have them."""

SIZES = (0, 1, 65_537, 12_000_001)
"""Bytes; the last one is more than S3 takes in one part."""

SKEW_S = 120.0
"""Seconds by which the store's clock may differ from ours."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What a claim is tried on: the store, another way to it, a folder for files."""

    here: ObjectStore
    there: ObjectStore
    folder: Path


@dataclass(frozen=True, slots=True)
class ObjectCheck:
    """One claim about a store of objects. `run` raises `CheckFailed`."""

    name: str
    claim: Callable[[Ground], None]

    def run(self, make: MakeObjects, folder: Path) -> None:
        """Put the claim to a test; files are made in `folder`."""
        self.claim(Ground(make(), make(), folder))


def what_is_put_comes_back(ground: Ground) -> None:
    for size in SIZES:
        data = some(size)
        expect(ground.here.create(f"blobs/{size}", data), "what was not there is said to have been there")
        expect(read(ground.there, f"blobs/{size}") == data, f"{size} bytes come back as others")


def a_file_is_put_as_bytes_are(ground: Ground) -> None:
    for size in SIZES:
        path = ground.folder / f"{size}"
        path.write_bytes(some(size))
        expect(ground.here.create(f"blobs/{size}", path), "what was not there is said to have been there")
        expect(
            read(ground.there, f"blobs/{size}") == path.read_bytes(), f"a file of {size} bytes comes back as another"
        )


def what_is_there_is_not_created_again(ground: Ground) -> None:
    for size in (3, SIZES[-1]):
        ground.here.create(f"blobs/{size}", b"a" * size)
        expect(not ground.there.create(f"blobs/{size}", b"b" * size), "what is there is said to be created")
        expect(read(ground.here, f"blobs/{size}") == b"a" * size, "what is there was changed by who creates")


def of_several_who_create_one_is_told_so(ground: Ground) -> None:
    for round_ in range(5):
        contents = [f"{number}".encode() for number in range(8)]
        with ThreadPoolExecutor(8) as threads:
            told = list(threads.map(partial(ground.here.create, f"blobs/{round_}"), contents))
        expect(told.count(True) == 1, f"{told.count(True)} of 8 are told that they created it")
        expect(read(ground.there, f"blobs/{round_}") == contents[told.index(True)], "another one's bytes are there")


def replaced_it_is_another_and_new(ground: Ground) -> None:
    ground.here.create("blobs/one", b"before")
    ground.here.replace("blobs/one", b"afterwards")
    expect(read(ground.there, "blobs/one") == b"afterwards", "what was replaced is as before")
    ground.here.replace("blobs/two", b"new")
    expect(read(ground.there, "blobs/two") == b"new", "nothing cannot be replaced")
    found = ground.there.look("blobs/one")
    expect(found is not None and found.size == 10, f"it is known as {found}")
    expect(found is not None and abs(found.put_at - time.time()) < SKEW_S, f"it was put at {found}, says the store")


def who_reads_sees_one_or_the_other(ground: Ground) -> None:
    first, second = b"a" * 200_000, b"b" * 200_000
    ground.here.create("blobs/one", first)

    def change(number: int) -> None:
        ground.here.replace("blobs/one", second if number % 2 else first)

    with ThreadPoolExecutor(4) as threads:
        changing = threads.map(change, range(20))
        seen = list(threads.map(lambda _: read(ground.there, "blobs/one"), range(20)))
        list(changing)
    expect(all(data in (first, second) for data in seen), "who reads while it is replaced sees a mixture")


def what_is_not_there_is_told(ground: Ground) -> None:
    expect(ground.here.look("blobs/none") is None, "what is not there is known")
    given: list[bytes] = []
    try:
        ground.here.fetch("blobs/none", given.append)
    except NotFound:
        expect(not given, "bytes came of what is not there")
    else:
        expect(False, "what is not there is read without a word")
    expect(not ground.here.move("blobs/none", "trash/none"), "what is not there is said to be moved")
    ground.here.delete("blobs/none")
    expect(list(ground.here.list("blobs")) == [], "something is there where nothing was put")


def a_folder_lists_what_is_in_it(ground: Ground) -> None:
    names = {f"blobs/{number:04d}" for number in range(30)}
    for name in names:
        ground.here.create(name, name.encode())
    ground.here.create("trash/0001", b"x")
    ground.here.create("blobs-not/0001", b"x")
    found = list(ground.there.list("blobs"))
    expect({one.name for one in found} == names, f"{len(found)} are listed, and {len(names)} are there")
    expect(all(one.size == len(one.name) for one in found), "sizes are not those of the bytes")
    expect(all(abs(one.put_at - time.time()) < SKEW_S for one in found), "times are not those of the puts")


def moved_it_has_the_other_name_only(ground: Ground) -> None:
    data = some(SIZES[-1])
    ground.here.create("blobs/one", data)
    ground.here.create("trash/one", b"older")
    expect(ground.here.move("blobs/one", "trash/one"), "what is there is said not to be")
    expect(ground.there.look("blobs/one") is None, "what was moved is still there")
    expect(read(ground.there, "trash/one") == data, "what was moved is another")
    expect(ground.here.move("trash/one", "blobs/one"), "it cannot be moved back")
    expect(read(ground.there, "blobs/one") == data, "what was moved back is another")


def deleted_it_is_gone(ground: Ground) -> None:
    ground.here.create("blobs/one", b"x")
    ground.here.create("blobs/two", b"y")
    ground.here.delete("blobs/one")
    expect([one.name for one in ground.there.list("blobs")] == ["blobs/two"], "what was deleted is listed")
    expect(ground.there.look("blobs/one") is None, "what was deleted is known")
    expect(ground.there.create("blobs/one", b"z"), "what was deleted cannot be created again")


def the_address_can_be_shown(ground: Ground) -> None:
    expect(bool(ground.here.address) and ground.here.address.isprintable(), "the address cannot be shown")
    expect(ground.here.address == ground.there.address, "one place has two addresses")


def some(size: int) -> bytes:
    """So many bytes of which no two pieces are alike."""
    return b"".join(sha256(at.to_bytes(8)).digest() for at in range(0, size, 32))[:size]


def read(objects: ObjectStore, name: str) -> bytes:
    """All bytes of an object."""
    pieces: list[bytes] = []
    objects.fetch(name, pieces.append)
    return b"".join(pieces)


_CLAIMS = (
    what_is_put_comes_back,
    a_file_is_put_as_bytes_are,
    what_is_there_is_not_created_again,
    of_several_who_create_one_is_told_so,
    replaced_it_is_another_and_new,
    who_reads_sees_one_or_the_other,
    what_is_not_there_is_told,
    a_folder_lists_what_is_in_it,
    moved_it_has_the_other_name_only,
    deleted_it_is_gone,
    the_address_can_be_shown,
)


def checks() -> tuple[ObjectCheck, ...]:
    """All claims, in the order in which they are best read."""
    return tuple(ObjectCheck(claim.__name__, claim) for claim in _CLAIMS)
