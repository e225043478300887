"""Each rule that is taken out for good still stands where its row says: a row that does not apply claims nothing."""

import ast
import tomllib

import pytest
from msgspec import convert

from tests.house.sources import ROOT
from tests.mutants.__main__ import Mutant

ROWS = convert(tomllib.loads((ROOT / "tests/mutants/mutants.toml").read_text())["mutant"], list[Mutant])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.says)
def test_a_mutant_applies_and_names_a_test_that_there_is(row: Mutant) -> None:
    assert (ROOT / row.file).read_text().count(row.old) == 1, f"{row.file} has not once: {row.old}"
    file, _, name = row.test.partition("::")
    defined = {one.name for one in ast.walk(ast.parse((ROOT / file).read_text())) if hasattr(one, "name")}
    assert name.partition("[")[0] in defined, f"{file} has no {name}"
