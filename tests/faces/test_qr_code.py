"""A link is drawn as the QR code that it is, where a terminal can show one."""

import segno

from angelia.faces.cli.qr_code import qr_code
from angelia.faces.words.paint import Paint

LINK = "https://t.me/angelia_test_bot"
MODULES = {"█": (1, 1), "▀": (1, 0), "▄": (0, 1), " ": (0, 0)}


def test_what_is_drawn_is_the_code_of_the_link_in_black_on_white() -> None:
    lines = qr_code(LINK, Paint(colour=True, columns=50))
    assert all(line.startswith("\x1b[30;107m") and line.endswith("\x1b[0m") for line in lines)
    pairs = [[MODULES[sign] for sign in line.removeprefix("\x1b[30;107m").removesuffix("\x1b[0m")] for line in lines]
    drawn = [[module[half] for module in pair] for pair in pairs for half in (0, 1)]
    wanted = [[int(module == 1) for module in row] for row in segno.make_qr(LINK, error="l").matrix_iter(border=2)]
    assert drawn[: len(wanted)] == wanted
    assert not any(map(any, drawn[len(wanted) :]))


def test_no_code_is_drawn_that_would_be_cut_or_could_not_be_read() -> None:
    assert qr_code(LINK, Paint(colour=True, columns=20)) == []
    assert qr_code(LINK, Paint(colour=False, columns=80)) == []
