"""Takes the picture of the page for README: `python -m docs.record_page` writes `page.png`.

The program is the real one, in a browser of 1200 × 760; what the model says is scripted, as in the recording of the
terminal, and the temporary folder that it works in is shown as `/home/ann`.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from angelia.browsers.chromium.program import find_chromium
from angelia.testing.model.server_process import model_server_process
from angelia.testing.model.steps import dump_steps
from docs.record import CSV, EARLIER, MODEL, STEPS, environment

PICTURE = Path(__file__).parent / "pictures/page.png"
SIZE = {"width": 1200, "height": 760}
COLOURS = 128
"""So few that the picture stays small, and so many that letters stay smooth."""

_SHOWN = """(there) => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(there, "~");
}"""


def take() -> bytes:
    """The picture, as PNG."""
    with tempfile.TemporaryDirectory(prefix="angelia-record-") as temporary:
        place = Path(temporary)
        work = place / "garden"
        work.mkdir()
        (work / "harvest.csv").write_text(CSV)
        (place / "steps.json").write_bytes(dump_steps(STEPS))
        with model_server_process("--by-replies", str(place / "steps.json")) as url:
            given = environment(place, url)
            for asked in EARLIER:
                words = _line("ask", "--model", MODEL, asked)
                subprocess.run(words, cwd=work, env=given, capture_output=True, check=True)  # noqa: S603 - our own
            with _served(work, given) as link, sync_playwright() as driver:
                found = find_chromium()
                assert found is not None
                browser = driver.chromium.launch(executable_path=str(found.path), args=["--no-sandbox"])
                page = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")  # type: ignore[arg-type]  # a TypedDict
                _talk(page, link)
                page.evaluate(_SHOWN, temporary)
                taken = page.screenshot()
                browser.close()
    return taken


def _line(*words: str) -> list[str]:
    return [sys.executable, "-P", "-m", "angelia", *words]


@contextmanager
def _served(work: Path, given: dict[str, str]) -> Iterator[str]:
    """The page, until the end; gives the link that logs in."""
    words = _line("web", "--no-open", "--listen", "127.0.0.1:0", "--set", f"model={MODEL}")
    told, rest = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(words, cwd=work, env=given, stdout=told, stderr=rest, text=True) as process:  # noqa: S603 - our own
        assert process.stdout is not None
        link = re.search(r"http\S+", process.stdout.readline())
        assert link is not None
        try:
            yield link[0]
        finally:
            process.terminate()


def _talk(page: Page, link: str) -> None:
    """What somebody says, until they are asked."""
    page.goto(link)
    page.goto(f"{link.partition('#')[0]}#/new")
    for words, until in (("Which bed brought more? @harvest.csv", "23.5 kg in the north"), ("Push it.", "Allow once")):
        pen = page.locator("#pen")
        pen.fill(words)
        pen.press("Enter")
        page.get_by_text(until).first.wait_for()
    page.wait_for_timeout(1_000)


def smaller(png: bytes) -> bytes:
    """The same in few colours."""
    held = BytesIO()
    Image.open(BytesIO(png)).convert("RGB").quantize(COLOURS).save(held, "PNG", optimize=True)
    return held.getvalue()


if __name__ == "__main__":
    PICTURE.write_bytes(smaller(take()))
    print(f"{PICTURE}: {PICTURE.stat().st_size // 1000} kB")
