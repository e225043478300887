"""Each store of objects keeps what the port promises; that of S3 on two servers of different origin."""

from collections.abc import Callable
from pathlib import Path

import pytest

from angelia.store.objects.port import ObjectStore
from angelia.testing.objects.checks import ObjectCheck, checks


@pytest.mark.soak(every=4)
@pytest.mark.parametrize("check", checks(), ids=lambda check: check.name)
def test_a_store_of_objects_keeps_its_promise(
    check: ObjectCheck, make: Callable[[], ObjectStore], tmp_path: Path
) -> None:
    check.run(make, tmp_path)
