"""A home, a workspace and a model server, in which Angelia's command line lives, dies and lives again."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from angelia.core.entry import AnyFact, Entry
from angelia.core.ids import wall_clock
from angelia.core.principal import OWNER
from angelia.service.blob_places import blobs_of, in_log, shared_name
from angelia.service.log_places import open_log
from angelia.service.settings.config import load
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.port import LogStore
from angelia.store.sql.upkeep import verify
from angelia.testing import crash
from angelia.testing.crash import Run
from angelia.testing.model.server import ModelServer
from tests import nursery

WIRES = ("openai-chat", "openai-responses", "anthropic")
CHAT = WIRES[0]
PYTHON = (sys.executable, "-m", "angelia")
ROOT = Path(__file__).parents[2]


def environment(folder: Path, server: ModelServer) -> dict[str, str]:
    """What a process of the person knows: where its home is, and that every vendor is the scripted server."""
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        "HOME": str(folder / "person"),
        "ANGELIA_HOME": str(folder / "home"),
        "OPENAI_API_KEY": "key",
        "OPENAI_BASE_URL": server.base_url,
        "ANTHROPIC_API_KEY": "key",
        "ANTHROPIC_BASE_URL": server.url,
    }


class Place:
    """A person's folder, home and workspace, fresh in `folder`; every run is a process of its own. `elsewhere` are the
    variables by which log and bytes lie elsewhere.
    """

    def __init__(
        self,
        folder: Path,
        server: ModelServer,
        *,
        wire: str = CHAT,
        sets: Sequence[str] = (),
        elsewhere: Mapping[str, str] | None = None,
    ) -> None:
        self.folder, self.wire, self.sets = folder, wire, tuple(sets)
        self.home, self.workspace = folder / "home", folder / "workspace"
        self.env = {**environment(folder, server), **(elsewhere or {})}
        for made in (folder / "person", self.workspace):
            made.mkdir(parents=True, exist_ok=True)

    def argv(self, *words: str) -> list[str]:
        """An `ask` in this place."""
        settings = [f"--set={one}" for one in self.sets]
        return ["ask", "--model", f"{self.wire}:m", "-C", str(self.workspace), *settings, *words]

    async def ask(self, *words: str, at: str = "", entry: str = crash.ANGELIA, stdin: bytes = b"") -> Run:
        """Ask; be killed at the crash point `at` if one is named."""
        if at:
            return await nursery.run_killed_at(at, self.argv(*words), self.env, entry=entry, stdin=stdin)
        return await nursery.run(self.argv(*words), self.env, entry=entry, stdin=stdin)

    @contextmanager
    def stored(self) -> Iterator[tuple[LogStore, BlobStore]]:
        """What is stored, wherever it lies."""
        loaded = load(self.home, self.env, [], {})
        with closing(open_log(loaded, self.env, wall_clock)) as db:
            yield db, blobs_of(loaded, self.env, in_log(db), shared_name(loaded, db))

    async def entries(self) -> list[Entry]:
        """The log of the last conversation; empty when there is none."""
        if "ANGELIA_STORE" not in self.env and not (self.home / "angelia.db").exists():
            return []
        with self.stored() as (db, _):
            transcript = Transcript(db)
            last = await transcript.conversations(OWNER, 1)
            return await transcript.entries(last[0].id) if last else []

    async def conversation(self) -> str:
        """The id of the last conversation."""
        with self.stored() as (db, _):
            return (await Transcript(db).conversations(OWNER, 1))[0].id

    async def facts(self) -> list[AnyFact]:
        """The facts of the last conversation."""
        return [entry.fact for entry in await self.entries()]

    async def problems(self) -> list[str]:
        """What `store verify` says."""
        with self.stored() as (db, blobs):
            return await verify(db, blobs)

    def lines(self, name: str) -> int:
        """How often a command left a line in a file of the workspace."""
        file = self.workspace / name
        return len(file.read_text().splitlines()) if file.exists() else 0

    def save(self, saved: Path) -> Path:
        """Copy home and workspace aside."""
        for kept in (self.home, self.workspace):
            shutil.copytree(kept, saved / kept.name, symlinks=True)
        return saved
