r"""Formulas in TeX as a tree of known MathML nodes, which a page makes elements of one by one.

A node is as in `markdown_nodes`. Elements and attributes are of a closed list (MathML Core, and the box of `\boxed`);
whatever else a formula would come to leaves it as TeX.
"""

import html
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MOST = 2_000
"""Characters of a formula that is read: a large one takes some 40 ms."""
_DEEPEST = 60

_MANY = -1
_ELEMENTS: Mapping[str, int] = {
    **dict.fromkeys(("mrow", "mstyle", "msqrt", "mpadded", "mphantom", "menclose", "mtable", "mtr", "mtd"), _MANY),
    **dict.fromkeys(("mi", "mn", "mo", "mtext", "mspace"), 0),
    **dict.fromkeys(("mfrac", "mroot", "msub", "msup", "mover", "munder"), 2),
    **dict.fromkeys(("msubsup", "munderover"), 3),
}
"""By name: how many children each has."""
_ATTRIBUTES = frozenset(
    {"accent", "columnalign", "displaystyle", "fence", "form", "linethickness", "maxsize", "minsize", "movablelimits"}
    | {"scriptlevel", "stretchy", "width"}
)
_LEFT_OUT = frozenset({"rowspacing", "columnspacing", "lspace", "rspace", "accentunder"})
"""Attributes without which a formula says the same."""
_SPELT = {"{aligned}": "{align*}", "{gathered}": "{gather*}"}
"""What stands within a formula, and the same under a name that is known."""


class _Unknown(Exception):
    """Something that is not on the list."""


@lru_cache(maxsize=512)
def formula(tex: str) -> list[Any] | None:
    """The nodes within `math`; None where the formula is wrong, too large, or says what is not known here."""
    if len(tex) > MOST:
        return None
    from latex2mathml.converter import convert_to_element

    try:
        return [_node(one, 0) for one in convert_to_element(_spelt(tex))]
    except Exception:  # noqa: BLE001 - a formula that cannot be read raises anything there, and stays as it is written
        return None


def _spelt(tex: str) -> str:
    for name, known in _SPELT.items():
        tex = tex.replace(name, known)
    return tex


def _node(element: "Element", depth: int) -> list[Any]:
    """Raises: _Unknown: it is not on the list, or has not the children that it has to have."""
    wanted = _ELEMENTS.get(element.tag)
    words, inner = html.unescape(element.text or ""), list(element)
    given = {name: value for name, value in element.attrib.items() if name in _ATTRIBUTES}
    if element.tag == "menclose" and element.get("notation") != "box":
        wanted = None
    rest = set(element.attrib) - _ATTRIBUTES - _LEFT_OUT - ({"notation"} if element.tag == "menclose" else set())
    if wanted is None or rest or depth > _DEEPEST or words.startswith("\\"):
        raise _Unknown
    if (element.tag == "mi" and words == "&") or (wanted != _MANY and len(inner) != wanted):
        raise _Unknown
    return [element.tag, given, [words] if words else [_node(one, depth + 1) for one in inner]]
