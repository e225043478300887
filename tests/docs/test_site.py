"""The site is built of all documents, its links lead somewhere, and it works from disk."""

import json
import re
import subprocess
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from docs import record, record_page, site
from tests.docs.read_documents import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of this version, beside that of an older one."""
    folder = tmp_path_factory.mktemp("site") / "site"
    (folder / "0.0.9").mkdir(parents=True)
    (folder / "0.0.9/index.html").write_text("as it was")
    site.build(folder)
    return folder / site.here()


def test_every_document_is_in_the_menu_once() -> None:
    listed = [page for pages in site.NAV.values() for page in pages]
    assert sorted(listed) == sorted(set(site.pages().values()))


def test_every_page_is_built_and_found_by_search(built: Path) -> None:
    built_pages = {path.relative_to(built).as_posix() for path in built.rglob("*.html")} - {"404.html"}
    assert built_pages == {page.removesuffix(".md") + ".html" for page in site.pages().values()}
    found = json.loads((built / "search.json").read_text())
    assert "what does not hold" in json.dumps(found).lower()


def test_every_page_names_its_version_and_leads_to_the_others(built: Path) -> None:
    told = f"Angelia {site.said(site.here())} · <a href="
    for page in built.rglob("*.html"):
        text = page.read_text()
        assert told in text
        if page.name != "404.html":
            (to,) = re.findall(r"<a href='?\"?([^'\">]*)'?\"?>other versions", text)
            assert (page.parent / to).resolve() == built.parent / site.LIST
    assert (built.parent / "0.0.9/index.html").read_text() == "as it was"
    assert f'href="{built.name}/index.html"' in (built.parent / site.LIST).read_text()


def test_versions_are_listed_the_newest_first_and_the_first_page_leads_to_the_newest_release(tmp_path: Path) -> None:
    for name in ("0.9.0", "next", "0.10.0"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").touch()
    site.list_versions(tmp_path)
    listed = re.findall(r'href="([^/]*)/index.html"', (tmp_path / site.LIST).read_text())
    assert listed == ["next", "0.10.0", "0.9.0"]
    assert 'content="0; url=0.10.0/index.html"' in (tmp_path / "index.html").read_text()


def test_it_works_from_disk(built: Path) -> None:
    for page in built.rglob("*.html"):
        if page.name == "404.html":
            continue
        for target in re.findall(r'(?:href|src)="([^"#?]*)', page.read_text()):
            if not target or target.startswith(("http:", "https:", "mailto:", "data:")):
                continue
            assert not target.startswith("/"), f"{target} in {page.name} would be looked for at the root of the disk"
            assert (page.parent / target).exists(), f"{target} in {page.relative_to(built)}"
    assert (built / "search.js").exists(), "a browser reads no JSON from disk"


def test_nothing_is_fetched_from_elsewhere(built: Path) -> None:
    loaded = re.compile(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(https?://[^"]+)"')
    for page in built.rglob("*.html"):
        assert not loaded.findall(page.read_text()), page


@pytest.mark.soak
def test_a_link_that_leads_nowhere_ends_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assemble = site.assemble

    def broken(folder: Path) -> None:
        assemble(folder)
        (folder / "docs/concepts.md").write_text("# Concepts\n\n[Nowhere](nowhere.md)\n")

    monkeypatch.setattr(site, "assemble", broken)
    with pytest.raises(subprocess.CalledProcessError):
        site.build(tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_a_link_is_turned_round_and_one_to_a_file_that_is_no_page_becomes_words() -> None:
    path, places = ROOT / "docs/how-to/keys.md", site.pages()
    text = "[a](../../SECURITY.md#what-holds) [b](../../pyproject.toml) [c](undo.md) ![d](../pictures/turn.svg) [e](https://e)"
    assert site.turned(text, path, places) == (
        "[a](../project/SECURITY.md#what-holds) b [c](undo.md) ![d](../pictures/turn.svg) [e](https://e)"
    )
    assert site.turned("```text\n[b](../../pyproject.toml)\n```", path, places).count("](") == 1


@pytest.mark.parametrize("picture", sorted((ROOT / "docs/pictures").glob("*.svg")), ids=lambda path: path.name)
def test_a_picture_says_what_it_shows_and_has_colours_for_light_and_dark(picture: Path) -> None:
    drawn = picture.read_text()
    assert "<title" in drawn
    assert "prefers-color-scheme: dark" in drawn
    assert "<script" not in drawn


@pytest.mark.real("bwrap")
@pytest.mark.soak
def test_the_recording_of_the_terminal_is_made_from_a_real_run() -> None:
    pictures = record.record()
    words = ["".join(text for text, *_ in row) for row in pictures[-1][1]]
    assert "The table is in harvest.md. I have not pushed it, as you said." in "\n".join(words)
    assert [at for at, _ in pictures] == sorted(at for at, _ in pictures)
    drawn = record.drawn(record.lines(pictures), pictures[-1][0] + record.END_S)
    assert drawn.count("<text") == drawn.count("@keyframes")
    assert "angelia-record-" not in drawn


@pytest.mark.real("bwrap")
@pytest.mark.real("chromium")
@pytest.mark.soak
def test_the_picture_of_the_page_is_taken_from_a_real_run() -> None:
    """It is taken once a push is asked about."""
    taken = record_page.smaller(record_page.take())
    with Image.open(BytesIO(taken)) as image:
        assert image.size == tuple(record_page.SIZE.values())
    assert len(taken) < 100_000
