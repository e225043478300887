"""The reference says what the code says."""

from pathlib import Path

import pytest
from docs.print_reference import FOLDER, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_the_checked_in_page_is_what_the_program_prints(name: str) -> None:
    checked_in = (FOLDER / name).read_text("utf-8")
    assert checked_in == PAGES[name](), f"docs/reference/{name} is out of date: run `make docs` and look at the change"


def test_no_other_page_is_in_the_reference() -> None:
    assert {path.name for path in Path(FOLDER).iterdir()} == set(PAGES)
