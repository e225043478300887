"""A program with nothing of the developer's own keys and settings."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from angelia.testing.model.server import ModelServer
from tests.python.programs import Program

AskModelAt = Callable[[ModelServer], None]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """An empty home, and a folder with one file."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work/harvest.csv").write_text("bed,kg\nsouth,33\nnorth,23.5\n")
    return Program(tmp_path / "home", tmp_path / "work")


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> AskModelAt:
    """Lets programs in this process ask this server."""
    for name in [*os.environ]:
        if name.endswith("_API_KEY") or name.startswith("ANGELIA_"):
            monkeypatch.delenv(name)

    def ask(server: ModelServer) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)

    return ask
