"""Members are put into JSON with comments; nothing else of the text changes."""

import json
from typing import Any

import pytest

from angelia.faces.acp.jsonc import plain, put_in

WANTED = {"x": {"y": {"n": 1, "s": "t", "l": [1]}}}

TEXTS = [
    "",
    "// only this",
    "{}",
    "{ /* none */ }",
    '{"a": 1}',
    '{ "a": 1 }',
    '{\n\t"a": 1, // about a\n}',
    '{ // about all\n    "a": [1, /* two */ 2,],\n    // the end\n}\n',
    '{\r\n  // one\r\n  "a": "// none /* either */ ,}",\r\n}\r\n',
    '/* { "x": */\n{"a": "\\"//", "x": {}}',
    '{"x": {"z": 0, // stays\n}, }',
    '{"x": {"y": {"n": 5, /* five */ "l": [7], "e": {},},},}',
    '{"a": [1, // ' + "/" * 5000 + "\n 2], /* */ // ,}\n}",
]


def joined(tree: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """What the tree is to be."""
    result = dict(tree)
    for name, value in wanted.items():
        old = tree.get(name, {} if isinstance(value, dict) else value)
        result[name] = joined(old, value) if isinstance(value, dict) else old if isinstance(old, list) else value
    return result


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_what_is_wanted_is_there_and_what_stood_there_stands(text: str) -> None:
    new = put_in(text, WANTED)
    assert json.loads(plain(new)) == joined(json.loads(plain(text).strip() or "{}"), WANTED)
    left = iter(new)
    lost = [one for one in text.replace(" 5,", " 1,") if one not in left]  # what stood there, in its order
    assert not lost
    assert new.count("\r\n") == (new.count("\n") if "\r" in text else 0)
    assert put_in(new, WANTED) == new


def test_it_stands_as_the_rest_does() -> None:
    assert put_in('{ // mine\n\t"a": {\n\t\t"b": 1,\n\t},\n}\n', {"a": {"c": {"d": []}}}) == (
        '{ // mine\n\t"a": {\n\t\t"c": {\n\t\t\t"d": []\n\t\t},\n\t\t"b": 1,\n\t},\n}\n'
    )
    assert put_in("", {"a": 1}) == '{\n  "a": 1\n}\n'
