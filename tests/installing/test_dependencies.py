"""Nothing that Angelia depends on has to be compiled."""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from packaging.utils import parse_wheel_filename

from tests.house.sources import ROOT

PYTHONS = (11, 12, 13)
PLATFORMS: Mapping[str, Callable[[str], bool]] = {
    "Linux on x86-64": lambda tag: tag.endswith("_x86_64") and "manylinux" in tag,
    "Linux on ARM": lambda tag: tag.endswith("_aarch64") and "manylinux" in tag,
    "macOS on ARM": lambda tag: tag.startswith("macosx") and tag.endswith(("_arm64", "_universal2")),
}
ELSEWHERE = {"pywin32"}
"""What the lock file has for Windows alone."""


def locked() -> dict[str, list[dict[str, Any]]]:
    """Every package of the lock file, in all of its versions."""
    found: dict[str, list[dict[str, Any]]] = {}
    for package in tomllib.loads((ROOT / "uv.lock").read_text())["package"]:
        found.setdefault(package["name"], []).append(package)
    return found


def needed(packages: Mapping[str, list[dict[str, Any]]]) -> set[str]:
    """The names of all that `angelia[all]` brings."""
    seen: set[tuple[str, str]] = set()
    waiting = [("angelia", ""), ("angelia", "all")]
    while waiting:
        name, extra = waiting.pop()
        for package in packages[name]:
            always, by_extra = package.get("dependencies", ()), package.get("optional-dependencies", {})
            for one in by_extra.get(extra, ()) if extra else always:
                new = {(one["name"], part) for part in ("", *one.get("extra", ()))} - seen
                seen |= new
                waiting += new
    return {name for name, _ in seen} - {"angelia"} - ELSEWHERE


def fits(wheel: str, minor: int, platform: Callable[[str], bool]) -> bool:
    """Whether a wheel, by its file's name, runs on CPython 3.`minor` there."""
    for tag in parse_wheel_filename(wheel)[3]:
        stable = tag.abi == "abi3" and tag.interpreter.startswith("cp3") and int(tag.interpreter[3:]) <= minor
        if (stable or tag.interpreter in ("py3", f"cp3{minor}")) and (tag.platform == "any" or platform(tag.platform)):
            return True
    return False


def compiled(packages: Mapping[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Whatever has no wheel for one of the Pythons somewhere."""
    for name in sorted(needed(packages)):
        wheels = [wheel["url"].rpartition("/")[2] for package in packages[name] for wheel in package.get("wheels", ())]
        for where, platform in PLATFORMS.items():
            for minor in PYTHONS:
                if not any(fits(wheel, minor, platform) for wheel in wheels):
                    yield f"{name} on Python 3.{minor}, {where}"


def test_everything_in_all_comes_as_a_wheel() -> None:
    assert list(compiled(locked())) == []


@pytest.mark.parametrize("name", ["msgspec", "xllamacpp"])
def test_what_would_have_to_be_compiled_is_found(name: str) -> None:
    packages = locked()
    packages[name] = [{**package, "wheels": []} for package in packages[name]]
    assert len(list(compiled(packages))) == len(PYTHONS) * len(PLATFORMS)
