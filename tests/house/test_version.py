"""The version is the same wherever it is written."""

import tomllib

import angelia
from tests.house.sources import ROOT


def test_the_package_and_its_project_file_say_the_same_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == angelia.__version__
