"""The page's files: what is vendored, how much there is, what is never written in them."""

import gzip
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from angelia.faces.web.page_files import own_page_files, packed, page_files
from tests.npm import installed
from tests.web.page.fake import STATIC

HERE = Path(__file__).parent
SOURCES = sorted(STATIC.glob("js/**/*.js"))
MOST = 60_000


def test_what_is_vendored_is_what_the_packages_hold() -> None:
    """Each file is its package's by hash, but for the names of imports that are listed."""
    listed = json.loads((STATIC / "vendor" / "vendor.json").read_text())["files"]
    for one in listed:
        text = (STATIC / "vendor" / one["file"]).read_text()
        for theirs, ours in one["replaced"]:
            assert text.count(ours) == 1
            text = text.replace(ours, theirs)
        assert hashlib.sha256(text.encode()).hexdigest() == one["sha256"], one["file"]
        assert (STATIC / "vendor" / one["licence_file"]).is_file()
    assert {one["file"] for one in listed} == {file.name for file in (STATIC / "vendor").glob("*.js")}


def test_the_page_is_small() -> None:
    """All that a browser fetches of it, as it is sent; licences are there for people to read."""
    sent = {name: len(packed(file.body)) for name, file in own_page_files().items() if not name.endswith(".txt")}
    assert sum(sent.values()) <= MOST, sent


def test_what_is_served_is_put_together_whole() -> None:
    """Nothing is asked for besides, and what is compressed is what is served as it is."""
    script, style = (own_page_files()[name].body.decode() for name in ("page.js", "page.css"))
    sheets = [file.read_text() for file in STATIC.glob("css/*.css")]
    assert [name for name in own_page_files() if name.endswith((".js", ".css"))] == ["page.js", "page.css"]
    assert not re.findall(r"^(?:import|export)\b|\bimport\(", script, re.MULTILINE)
    assert "js/" not in script
    assert "/*" not in script
    assert all(gzip.decompress(packed(file.body)) == file.body for file in own_page_files().values())
    named = {one for text in sheets for one in re.findall(r"--[a-z][\w-]*", text)}
    given, used = set(re.findall(r"(--[\w-]+):", style)), set(re.findall(r"var\((--[\w-]+)", style))
    assert (len(given), given) == (len(named), used), "as many values of its own, each given and used"
    assert not [one for one in named if one in script]
    assert {one for text in sheets for one in re.findall(r"\.[a-z]\w+", text)} == set(re.findall(r"\.[a-z]\w+", style))


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (
            {"js/main.js": 'import { b } from "./b.js";', "js/b.js": 'import "./c.js"', "js/c.js": 'import "./b.js"'},
            "needs itself",
        ),
        ({"js/main.js": 'import { b } from "./b.js";', "js/b.js": "export const a = 1;"}, "gives no such thing"),
        (
            {"js/main.js": 'import { a } from "./b.js";\nconst b = a;', "js/b.js": "export const a = 1;\nconst b = 2;"},
            "is called b",
        ),
        ({"js/main.js": 'import { a as c } from "./b.js";', "js/b.js": "export const a = 1;"}, "the other name of a"),
        ({"js/main.js": "const a = () => {} /1/ 2;"}, "a slash after"),
    ],
)
def test_modules_that_cannot_be_joined_are_refused(tmp_path: Path, files: dict[str, str], why: str) -> None:
    """Where the sources lie, before anybody is served half of a page."""
    shutil.copytree(STATIC / "css", tmp_path / "css")
    (tmp_path / "js").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=why):
        page_files(tmp_path)


@pytest.mark.real("chromium")
def test_no_module_calls_something_as_every_window_does(chrome: Browser) -> None:
    """They share one scope: a name at the top of one would hide from all others what the browser has by that name."""
    tops = {
        name
        for file in SOURCES
        for name in re.findall(
            r"^(?:export )?(?:async )?(?:const|let|class|function) (\w+)", file.read_text(), re.MULTILINE
        )
    }
    page = chrome.new_page()
    hides = page.evaluate("(names) => names.filter((name) => name in window)", sorted(tops))
    assert set(hides) <= {"when"}, hides  # EventTarget.when, in new browsers: no module asks the window for it
    page.close()


def test_no_html_string_and_no_style_attribute_is_written() -> None:
    """Elements are made by name; what would need a policy of trusted types does not stand anywhere."""
    for file in SOURCES:
        found = re.findall(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|\bstyle=",
            file.read_text(),
        )
        assert not found, f"{file.name}: {found}"


def test_every_module_says_what_it_is_for() -> None:
    """In its first line."""
    for file in SOURCES:
        assert file.read_text().startswith("// "), file.name


def test_what_the_page_names_is_there() -> None:
    """Imports, styles and signs; nothing comes from another place."""
    for file in SOURCES:
        for name in re.findall(r'(?:from|import) "([^"]+)"', file.read_text()):
            assert (file.parent / name).is_file(), f"{file.name} imports {name}"
    text = (STATIC / "index.html").read_text() + (STATIC / "manifest.webmanifest").read_text()
    for name in re.findall(r'"/static/([^"]+)"', text):
        assert name in own_page_files(), name
    assert "http:" not in text
    assert "https:" not in text


@pytest.mark.real("npm")
def test_the_types_hold(tmp_path: Path) -> None:
    """By `tsc --checkJs`, against what we use of Preact."""
    cache = installed("page", HERE / "package.json")
    shutil.copytree(STATIC / "js", tmp_path / "js")
    shutil.copytree(HERE / "types", tmp_path / "vendor")
    shutil.copy(HERE / "tsconfig.json", tmp_path)
    words = [str(cache / "node_modules" / ".bin" / "tsc"), "--project", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
