"""What somebody closed, led nowhere or made a FIFO in a folder neither ends nor holds up whoever looks there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from angelia.path_queries import UNKNOWN, beginning_of, exists, is_file, is_folder, is_link, real_path
from tests.service.closed_places import PLACES, SHAPES

NOBODY_SPECIAL = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
"""Without what lets root into closed folders."""


@pytest.mark.skipif(sys.platform != "linux", reason="it is Linux's links and setpriv")
def test_nothing_that_anybody_laid_out_ends_or_holds_up_who_looks_at_a_folder(tmp_path: Path) -> None:
    words = [*NOBODY_SPECIAL, sys.executable, "-m", "tests.service.closed_places", str(tmp_path)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[2])
    assert (ended.stdout, ended.returncode) == ("", 0), ended.stderr[-2000:]
    assert len(ended.stderr.splitlines()) > 7 * len(PLACES) * len(SHAPES)


@pytest.mark.parametrize("shape", sorted(set(SHAPES) - {"a closed folder", "a link out of all that is seen"}))
def test_a_question_about_a_path_has_an_answer(shape: str, tmp_path: Path) -> None:
    SHAPES[shape](path := tmp_path / "x")
    assert not is_file(path)
    assert not is_folder(path / "inner")
    assert exists(path) is (shape == "a FIFO")
    assert is_link(path) is (shape != "a FIFO")
    assert beginning_of(path, 9) == b""
    assert real_path(path)


def test_a_path_that_no_file_can_have_leads_nowhere() -> None:
    assert real_path("a\0b") == UNKNOWN
    assert not exists("a\0b")
    assert beginning_of("a\0b", 9) == b""
