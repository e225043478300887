"""A certificate is green where it held, red for a disk that loses what was synced and for walls that are gone."""

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from angelia.core.errors import BadInput, ConfigError
from angelia.store.objects.folder import FolderObjects
from angelia.testing.certificates.certificate import Certificate, TriedClaim, certificate, digest, write
from angelia.testing.certificates.crash_test import ANSWERED, FULL, KEPT, ONCE, WHOLE, crash_test
from angelia.testing.certificates.kits import kit
from angelia.testing.certificates.walls import walls

pytestmark = pytest.mark.anyio


def unheard(line: str) -> None:
    """Nobody wants to know."""


class Unread:
    """Nobody reads how far a kit is."""

    def begun(self, claim: str) -> None:
        """See `KitReport`."""

    def came(self, claim: TriedClaim) -> None:
        """See `KitReport`."""


def loses_what_was_synced(home: Path) -> None:
    """What stood in the write-ahead log is gone, as on a disk that only says that it has written."""
    for name in ("angelia.db-wal", "angelia.db-shm"):
        (home / name).unlink(missing_ok=True)


async def test_on_this_file_system_it_holds(tmp_path: Path) -> None:
    claims = await crash_test(tmp_path, 60.0, unheard, most=2)
    assert {claim.claim: claim.held for claim in claims} == dict.fromkeys((KEPT, WHOLE, ANSWERED, ONCE, FULL), True), (
        claims
    )


async def test_a_disk_that_loses_what_was_synced_is_red(tmp_path: Path) -> None:
    claims = await crash_test(tmp_path, 60.0, unheard, loses_what_was_synced, most=1)
    broken = {claim.claim for claim in claims if not claim.held}
    assert KEPT in broken or WHOLE in broken, claims


@pytest.mark.slow
@pytest.mark.real("bwrap")
@pytest.mark.soak
async def test_walls_hold_here_and_without_them_it_says_so(tmp_path: Path) -> None:
    there = await walls(tmp_path, unheard)
    assert all(claim.held for claim in there), [claim for claim in there if not claim.held]
    gone = await walls(tmp_path, unheard, "off")
    assert {claim.claim for claim in gone if not claim.held} >= {
        "what is in Angelia's home cannot be read",
        "a confined command connects to nothing of this machine",
    }


THEIRS = """
from angelia.core.profile import Profile

PROFILE = Profile("parrot:grey", "parrot", "grey", "parrot")


class Parrot:
    def session(self):
        return {}["cage"]


make = Parrot
"""


@pytest.fixture
def their_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """Puts a module of somebody else's where they are; its name."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)

    def put(name: str, source: str) -> str:
        (tmp_path / f"{name}.py").write_text(source)
        return name

    return put


async def test_a_mistake_in_what_is_tried_is_certified_with_its_kind(
    tmp_path: Path, their_module: Callable[[str, str], str]
) -> None:
    (claim,) = await kit("model", their_module("mistaken_parrot", THEIRS), tmp_path, Unread())
    assert claim.broken == ("KeyError: 'cage'",)


async def test_a_sandbox_that_nobody_knows_is_told_and_not_certified(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="There is no sandbox 'nowhere:x'"):
        await kit("sandbox", "nowhere:x", tmp_path, Unread())


async def test_a_module_that_cannot_be_imported_is_not_said_to_be_missing(
    tmp_path: Path, their_module: Callable[[str, str], str]
) -> None:
    with pytest.raises(BadInput, match="There is no module no_parrot"):
        await kit("model", "no_parrot", tmp_path, Unread())
    with pytest.raises(BadInput, match=r"The module needy_parrot cannot be imported. No module named 'no_seeds'"):
        await kit("model", their_module("needy_parrot", "import no_seeds"), tmp_path, Unread())


async def test_it_is_written_with_its_machine_and_a_digest_that_fits(tmp_path: Path) -> None:
    made = certificate("x", "now", [TriedClaim("it holds", 3), TriedClaim("<b>", 1, ("it broke",))], tmp_path)
    write(made, tmp_path / "out")
    read = msgspec.json.decode((tmp_path / "out/certificate.json").read_bytes(), type=Certificate)
    assert read.sha256 == digest(read)
    assert not read.held
    assert read.machine["code"]
    page = (tmp_path / "out/certificate.html").read_text()
    assert "did not hold" in page
    assert "&lt;b&gt;" in page
    assert not certificate("x", "now", [TriedClaim("never tried", 0)], tmp_path).held


async def test_a_kit_holds_for_our_store_and_not_for_one_that_forgets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        folder.mkdir()
    assert all(claim.held for claim in await kit("store", str(tmp_path / "blobs"), ours, Unread()))
    monkeypatch.setattr(FolderObjects, "create", lambda *_: True)
    broken = await kit("store", str(tmp_path / "blobs"), theirs, Unread())
    assert "what is put comes back" in {claim.claim for claim in broken if not claim.held}
