"""Hypothesis strategies for facts and logs; the one module of the kit that needs hypothesis (`angelia[testing]`).

@given(logs())
def test_a_law(log: list[Entry]) -> None: ...
"""

from enum import Enum
from typing import Any, get_args

import msgspec
from hypothesis import strategies as st
from msgspec import inspect as shapes

from angelia.core import entry as e
from angelia.core.ending import Ending, Outcome
from angelia.core.principal import ALONE, ANGELIA, OWNER, Principal
from angelia.testing.logs.random_logs import log_from

KINDS: tuple[type[e.Fact], ...] = get_args(e.AnyFact)
"""Every kind of fact."""

RAW_JSON = (b"{}", b'{ "a" : 1.0 }', b"[1e2,\t-0]", b'"\\u00e9\\/"', b'{"b":1,"a":2,"a":3}', b"12345678901234567890123")
"""JSON that a decoder and an encoder would not write back as it was."""


def any_fact(*kinds: type[e.Fact]) -> st.SearchStrategy[e.AnyFact]:
    """A fact of any of these kinds, of all by default, every field drawn from its type; it need not make sense."""
    return st.one_of(*(_of(shapes.type_info(kind)) for kind in kinds or KINDS))


def logs(*, most: int = 300) -> st.SearchStrategy[list[e.Entry]]:
    """A well-formed log with interruptions (see `random_logs`), from a tape of at most `most` choices."""
    return st.binary(max_size=most).map(log_from)


def facts() -> st.SearchStrategy[e.AnyFact]:
    """A fact as it stands in a well-formed log."""
    return logs().flatmap(lambda log: st.sampled_from(log)).map(lambda entry: entry.fact)


_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)


def principals() -> st.SearchStrategy[Principal]:
    """Anybody: those without an id, and somebody of any door."""
    plain = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=20)
    doors = plain.filter(lambda door: ":" not in door and door not in ALONE)
    return st.one_of(st.sampled_from((OWNER, ANGELIA)), st.builds(Principal, doors, plain))


def _of(shape: Any) -> st.SearchStrategy[Any]:
    match shape:
        case shapes.StructType(cls=cls) if cls is Principal:
            return principals()
        case shapes.StructType(cls=cls, fields=fields):
            required = {f.name: _of(f.type) for f in fields if f.required}
            optional = {f.name: _of(f.type) for f in fields if not f.required}
            return st.fixed_dictionaries(required, optional=optional).map(lambda given: cls(**given))
        case shapes.UnionType(types=types):
            return st.one_of(*map(_of, types))
        case shapes.VarTupleType(item_type=item):
            return st.lists(_of(item), max_size=3).map(tuple)
        case shapes.TupleType(item_types=items):
            return st.tuples(*map(_of, items))
        case shapes.EnumType(cls=cls):
            return st.sampled_from(list[Enum](cls))
        case _:
            return _SIMPLE[type(shape)]


_SIMPLE: dict[type, st.SearchStrategy[Any]] = {
    shapes.StrType: _TEXT,
    shapes.BytesType: st.binary(max_size=20),
    shapes.IntType: st.integers(-(2**53), 2**53),
    shapes.FloatType: st.floats(allow_nan=False, allow_infinity=False),
    shapes.BoolType: st.booleans(),
    shapes.NoneType: st.none(),
    shapes.RawType: st.sampled_from(RAW_JSON).map(msgspec.Raw),
}


def ending_of(kind: type[Outcome]) -> st.SearchStrategy[Ending]:
    """An ending of this kind, every field drawn from its type."""
    return _of(shapes.type_info(kind))
