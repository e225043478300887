"""Facts survive being written and read; whatever is unknown is refused by name."""

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from angelia.core import codec
from angelia.core import entry as e
from angelia.core.content import ProviderBlock, Text
from angelia.core.errors import CodecError
from angelia.testing.logs.playbook import log, reply, said
from angelia.testing.logs.strategies import KINDS, RAW_JSON, any_fact, logs
from tests.examples import examples


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_fact_comes_back_as_it_was(kind: type[e.Fact]) -> None:
    seen: set[type] = set()

    @settings(max_examples=examples(30))
    @given(any_fact(kind))
    def comes_back(fact: e.AnyFact) -> None:
        seen.add(type(fact))
        assert codec.decode(codec.encode(fact)) == fact
        assert codec.kind_of(fact) == json.loads(codec.encode(fact))["kind"] == kind.__name__

    comes_back()
    assert seen == {kind}


@pytest.mark.parametrize("kind", [*KINDS, e.Entry], ids=lambda kind: kind.__name__)
def test_the_collector_passes_facts_over_since_they_are_built_of_immutable_values_alone(kind: type) -> None:
    assert not kind.__struct_config__.gc  # type: ignore[attr-defined]  # every Struct has one
    infos, seen = [msgspec.inspect.type_info(kind)], list[msgspec.inspect.Type]()
    while infos:
        info = infos.pop()
        if any(info is known for known in seen):
            continue
        seen.append(info)
        match info:
            case msgspec.inspect.StructType():
                assert info.cls.__struct_config__.frozen, info.cls
                infos += [field.type for field in info.fields]
            case msgspec.inspect.UnionType():
                infos += info.types
            case msgspec.inspect.VarTupleType():
                infos.append(info.item_type)
            case msgspec.inspect.TupleType():
                infos += info.item_types
            case _:
                assert isinstance(info, IMMUTABLE), info


IMMUTABLE = (
    *(msgspec.inspect.NoneType, msgspec.inspect.BoolType, msgspec.inspect.IntType, msgspec.inspect.FloatType),
    *(msgspec.inspect.StrType, msgspec.inspect.BytesType, msgspec.inspect.EnumType, msgspec.inspect.RawType),
)


def test_no_kind_of_fact_is_missing_from_the_union() -> None:
    defined = {one for one in vars(e).values() if isinstance(one, type) and issubclass(one, e.Fact)}
    assert set(KINDS) == defined - {e.Fact, e.Opening}, "those two are what others have in common"


@given(logs(most=60))
def test_a_log_survives_its_export(log: list[e.Entry]) -> None:
    assert codec.from_json_lines(map(codec.to_json_line, log)) == log


@pytest.mark.parametrize("raw", RAW_JSON)
def test_a_native_block_is_kept_byte_for_byte(raw: bytes) -> None:
    fact = e.ModelSaid(
        "a:m", (ProviderBlock("a", msgspec.Raw(raw)), Text("x", ProviderBlock("a", msgspec.Raw(raw)))), e.StopReason.END
    )
    again = codec.decode(codec.encode(codec.decode(codec.encode(fact))))
    assert isinstance(again, e.ModelSaid)
    first, second = again.parts
    assert isinstance(first, ProviderBlock)
    assert isinstance(second, Text)
    assert second.native is not None
    assert bytes(first.raw) == bytes(second.native.raw) == raw


@pytest.mark.parametrize(
    ("written", "names"),
    [
        (b'{"kind":"PlanMade","plan":"x"}', "PlanMade"),
        (b'{"kind":"SystemSaid","text":"x","mood":"glad"}', "mood"),
        (b'{"kind":"ModelSaid","model":"m","parts":[{"kind":"hologram"}],"stop":"end"}', "hologram"),
        (b'{"kind":"TurnClosed","ending":{"kind":"Vanished"}}', "Vanished"),
        (b'{"kind":"SystemSaid"}', "text"),
        (b'{"kind":"SystemSaid","te', "truncated"),
    ],
)
def test_what_is_unknown_or_damaged_is_refused_by_name(written: bytes, names: str) -> None:
    with pytest.raises(CodecError, match=names) as refused:
        codec.decode(written, where="Entry 7 of c1")
    assert str(refused.value).startswith("Entry 7 of c1 cannot be read")
    assert refused.value.then


def test_a_newer_version_is_refused_with_both_numbers() -> None:
    written = codec.encode(e.SystemSaid("x"))
    with pytest.raises(CodecError, match=rf"format {codec.VERSION + 1}.*format {codec.VERSION}"):
        codec.decode(written, version=codec.VERSION + 1)


def test_a_damaged_line_is_named_by_its_number() -> None:
    good = [codec.to_json_line(entry) for entry in log(said("hi"), reply("Hello."))]
    with pytest.raises(CodecError, match="Line 3"):
        codec.from_json_lines([*good[:2], good[2][:-5], *good[3:]])


@given(st.text())
def test_what_is_encoded_is_one_line_of_utf8(text: str) -> None:
    written = codec.encode(e.SystemSaid(text.encode("utf-8", "replace").decode()))
    assert b"\n" not in written
    assert written.decode()
