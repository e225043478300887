"""One wheel for all tests that install it."""

from pathlib import Path

import pytest

from tests.installing.building import build_wheel


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What would be published."""
    return build_wheel(tmp_path_factory.mktemp("dist"))
