"""The log file: what cannot be written into it fails nothing else, and is counted."""

import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from angelia.service.logs import log_to

logger = logging.getLogger("angelia.tests.logs")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    ours = logging.getLogger("angelia")
    before = list(ours.handlers), ours.level, ours.propagate
    yield
    ours.handlers[:], ours.level, ours.propagate = before


def test_lines_without_a_folder_fail_nothing_and_are_counted_when_it_is_there_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    log_to(home / "angelia.log", lambda text: text)
    logger.warning("one")
    logger.warning("two")
    home.mkdir()
    logger.warning("three")
    logger.warning("four")
    lines = (home / "angelia.log").read_text().splitlines()
    assert lines[0] == "(2 lines of this log could not be written)"
    assert [re.sub(r".* ", "", line) for line in lines[1:]] == ["three", "four"]


def test_a_full_disk_fails_nothing(tmp_path: Path) -> None:
    log_to(Path("/dev/full"), lambda text: text)
    logger.warning("one")
    assert not list(tmp_path.iterdir())


def test_what_is_secret_is_hidden_in_traces_too(tmp_path: Path) -> None:
    log_to(tmp_path / "angelia.log", lambda text: text.replace("s3cret", "***"))
    try:
        raise ValueError("s3cret")
    except ValueError:
        logger.exception("s3cret")
    assert "s3cret" not in (tmp_path / "angelia.log").read_text()


ALONE = """
import asyncio, gc, logging, sys, threading, warnings
from pathlib import Path
from angelia.service.logs import log_all, log_to

async def fails():
    raise KeyError("nobody waited")

async def main():
    asyncio.create_task(fails())
    await asyncio.sleep(0)
    gc.collect()
    asyncio.get_running_loop().call_soon(lambda: 1 / 0)
    await asyncio.sleep(0)
    logging.getLogger("some.library").warning("a library is not content")
    warnings.warn("something is odd", RuntimeWarning)
    thread = threading.Thread(target=lambda: {}["in a thread"])
    thread.start()
    thread.join()
    Dying()
    gc.collect()

class Dying:
    def __del__(self):
        raise ValueError("at its very end")

log_to(Path(sys.argv[1]), str)
log_all()
asyncio.run(main())
"""


def test_what_nobody_waited_for_or_libraries_warn_of_stands_there_and_not_on_the_terminal(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", ALONE, tmp_path / "angelia.log"], capture_output=True, text=True, check=True, timeout=60
    )
    assert (ran.stdout, ran.stderr) == ("", "")
    log = (tmp_path / "angelia.log").read_text()
    assert "KeyError: 'nobody waited'" in log
    assert "ZeroDivisionError" in log
    assert "a library is not content" in log
    assert "something is odd" in log
    assert "KeyError: 'in a thread'" in log
    assert "ValueError: at its very end" in log
