"""A link as a QR code of half blocks, for a phone's camera in front of the screen."""

from angelia.faces.words.output import Painted
from angelia.faces.words.paint import Paint

_BORDER = 2
"""Light modules around it. ISO/IEC 18004 asks for four; cameras of today read two, and it fits in 50 columns."""
_BLACK_ON_WHITE = "30;107"
"""So that it is dark on light in terminals of either kind (ECMA-48, 8.3.117, and the bright colours of aixterm)."""
_SIGNS = {(True, True): "█", (True, False): "▀", (False, True): "▄", (False, False): " "}


def qr_code(link: str, paint: Paint) -> list[Painted]:
    """A painted line for every two rows of it; none where the terminal has no colours, or is too narrow."""
    import segno

    if not paint.colour:
        return []
    rows = [[module == 1 for module in row] for row in segno.make_qr(link, error="l").matrix_iter(border=_BORDER)]
    if len(rows[0]) > paint.columns:
        return []
    rows += [[False] * len(rows[0])] if len(rows) % 2 else []
    pairs = zip(rows[::2], rows[1::2], strict=True)
    lines = ("".join(_SIGNS[one] for one in zip(*pair, strict=True)) for pair in pairs)
    return [paint.style(line, _BLACK_ON_WHITE) for line in lines]
