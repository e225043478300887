"""A part that blocks, hangs or ends the process that tries it gets its certificate as well, and that one is red."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from angelia.testing.certificates.certificate import Certificate, certificate
from angelia.testing.certificates.kit_process import Bounds
from angelia.testing.certificates.watched_kit import OPENED, watched_kit
from angelia.testing.sandboxes import checks as sandboxes

pytestmark = pytest.mark.anyio

SANDBOX = """
import os
import time
from pathlib import Path

from angelia.sandboxes.port import Description, SandboxGone


class Once:
    async def describe(self):
        return Description("once", "Linux", "/", confined=False, network="none")

    async def start(self, command):
        if not (mark := Path(__file__).with_name("mark")).exists():
            mark.touch()
            DEED
        raise SandboxGone("It was started before.")

    async def close(self):
        pass


def open_once(rest, place, settings):
    return Once()
"""

BENT = """
from pathlib import Path

from angelia.sandboxes.local.sandbox import LocalSandbox


class Bent(LocalSandbox):
    async def put(self, path, content, **how):
        await super().put(path, content, **{**how, "mode": 0o600})


def open_once(rest, place, settings):
    return Bent(Path(place.workspace), home=place.home, state=place.state, confine=place.confine)
"""

MODEL = """
import asyncio

from angelia.core.profile import Profile

PROFILE = Profile("parrot:grey", "parrot", "grey", "parrot")


class Parrot:
    def session(self):
        return self

    async def ask(self, request, key):
        await asyncio.Event().wait()
        yield


make = Parrot
"""

OBJECTS = """
import time
from pathlib import Path


class Once:
    def create(self, name, content):
        if not (mark := Path(__file__).with_name("mark")).exists():
            mark.touch()
            time.sleep(1e9)
        raise OSError("It was used before.")


def open_once(address, environ):
    return Once()
"""

Put = Callable[[str], None]


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Puts a package of somebody else's where the kit is begun, with entry points for what it opens."""
    monkeypatch.chdir(tmp_path)
    about = tmp_path / "theirs-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
    opened = "once = theirs_once:open_once\n"
    (about / "entry_points.txt").write_text(f"[angelia.sandboxes]\n{opened}\n[angelia.objects]\n{opened}")

    def put(source: str) -> None:
        (tmp_path / "theirs_once.py").write_text(source)

    return put


@pytest.fixture
def told() -> list[str]:
    """What was told of claims that nobody lived to tell of."""
    return []


@pytest.mark.soak(every=2)
@pytest.mark.parametrize(
    ("deed", "broken"),
    [
        ("time.sleep(1e9)", "the event loop was blocked for 5 s, in start ({at}, line 16)"),
        ("os._exit(3)", "it ended the process in which it was tried (exit code 3)"),
    ],
)
async def test_the_claim_in_which_a_sandbox_blocks_or_dies_is_broken_and_the_rest_is_tried(
    deed: str, broken: str, tmp_path: Path, put: Put, told: list[str]
) -> None:
    put(SANDBOX.replace("DEED", deed))
    own = tmp_path / "own"
    own.mkdir()
    claims = await watched_kit(("sandbox", "once"), own, told.append, Bounds(blocked_s=5.0))
    assert [claim.claim for claim in claims] == [check.name for check in sandboxes.checks()]
    said = broken.format(at=f"{tmp_path.name}/theirs_once.py")
    (first,) = (claim for claim in claims if claim.broken == (said,))
    assert told == [f"{first.claim}: {said}"]
    assert not certificate("once", "now", claims, tmp_path).held


async def test_a_module_that_blocks_where_it_is_imported_could_not_be_opened(
    tmp_path: Path, put: Put, told: list[str]
) -> None:
    put("import time\n\ntime.sleep(1e9)\n")
    (claim,) = await watched_kit(("model", "theirs_once"), tmp_path, told.append, Bounds(blocked_s=1.0))
    assert claim.claim == OPENED
    assert claim.broken[0].startswith("the event loop was blocked for 1 s, in <module> (")


async def test_a_model_that_never_answers_is_ended_though_its_loop_turns(
    tmp_path: Path, put: Put, told: list[str]
) -> None:
    put(MODEL)
    (claim,) = await watched_kit(("model", "theirs_once"), tmp_path, told.append, Bounds(claim_s=1.0))
    assert claim.broken == ("it did not come to an end within 1 s",)


async def test_a_thread_that_is_left_over_keeps_nobody_from_the_certificate(
    tmp_path: Path, put: Put, told: list[str]
) -> None:
    left = "import threading, time\n\nthreading.Thread(target=time.sleep, args=(1e9,)).start()\n"
    put(f"{left}{MODEL}".replace("await asyncio.Event().wait()", 'raise OSError("No cage.")'))
    (claim,) = await watched_kit(("model", "theirs_once"), tmp_path, told.append, Bounds(blocked_s=5.0))
    assert claim.broken == ("No cage.",)
    assert told == []


async def test_a_store_that_blocks_its_thread_is_ended_where_it_stood(
    tmp_path: Path, put: Put, told: list[str]
) -> None:
    put(OBJECTS)
    claims = await watched_kit(("store", "once://here"), tmp_path, told.append, Bounds(claim_s=1.0))
    at = f"{tmp_path.name}/theirs_once.py"
    assert claims[0].broken == (f"it did not come to an end within 1 s, in create ({at}, line 10)",)
    assert len(claims) > 1
    assert not any(claim.held for claim in claims)


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.real("bwrap")
async def test_the_command_line_certifies_in_red_the_one_rule_that_a_sandbox_breaks(tmp_path: Path, put: Put) -> None:
    put(BENT)
    words = [sys.executable, "-P", "-m", "angelia", "test-kit", "sandbox", "once", "-o", "out"]
    home = {**os.environ, "ANGELIA_HOME": str(tmp_path / "home")}
    process = await asyncio.create_subprocess_exec(*words, env=home)
    assert await process.wait() == 1
    made = msgspec.json.decode((tmp_path / "out/certificate.json").read_bytes(), type=Certificate)
    assert [claim.claim for claim in made.claims] == [check.name for check in sandboxes.checks()]
    assert not made.held
    assert {claim.claim: claim.broken for claim in made.claims if not claim.held} == {
        "permissions are given and told": ("the mode is told wrong",),
        "a time is kept and told": ("the mode is lost where a time is given",),
    }
    assert "<b class=no>did not hold</b>" in (tmp_path / "out/certificate.html").read_text()
