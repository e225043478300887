"""Each store of objects keeps what the port promises; that of S3 on two servers of different origin."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from angelia.store.media.durable import UNFINISHED
from angelia.store.objects.folder import FolderObjects
from angelia.store.objects.port import ObjectStore
from angelia.testing.objects.checks import ObjectCheck, checks


@pytest.mark.soak(every=4)
@pytest.mark.parametrize("check", checks(), ids=lambda check: check.name)
def test_a_store_of_objects_keeps_its_promise(
    check: ObjectCheck, make: Callable[[], ObjectStore], tmp_path: Path
) -> None:
    check.run(make, tmp_path)


def test_what_a_killed_process_had_begun_to_put_goes_a_day_later(tmp_path: Path) -> None:
    objects = FolderObjects(tmp_path)
    objects.create("blobs/whole", b"whole")
    for name, days in (("old", 2), ("now", 0)):
        begun = tmp_path / "blobs" / f"{UNFINISHED}{name}"
        begun.write_bytes(b"half")
        os.utime(begun, (time.time() - days * 86_400,) * 2)
    assert [one.name for one in objects.list("blobs")] == ["blobs/whole"]
    assert {path.name for path in (tmp_path / "blobs").iterdir()} == {"whole", f"{UNFINISHED}now"}
