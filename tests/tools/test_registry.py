"""What models are told of tools, and what becomes of the text of a call."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from angelia.context.tokens import text_tokens
from angelia.core.content import Text
from angelia.core.errors import ConfigError
from angelia.policy.verdict import Effect, NoEffect
from angelia.tools.discovery import default_registry, found_toolsets
from angelia.tools.port import JsonArguments, Schema, Tool, ToolContext, ToolOutcome, Traits
from angelia.tools.registry import BadCall, Registry, made
from angelia.tools.schema import compact_schema
from angelia.tools.shell.shell import ShellArguments
from angelia.tools.standalone import Standalone

REGISTRY = default_registry()

CALLS: dict[str, dict[str, Any]] = {
    "shell": {
        "command": "printf 'ü' && true",
        "seconds": 5,
        "background": False,
        "reach": "network",
        "hosts": ["a.org"],
        "cwd": "src",
    },
    "process": {"action": "wait", "id": "c1_0", "seconds": 3},
    "read": {"path": "a b", "offset": 2, "limit": 10},
    "write": {"path": "a", "content": 'x\n"\\u0000"'},
    "edit": {"path": "a", "old": "1", "new": "", "replace_all": True},
    "find": {"pattern": "\\bx", "kind": "content", "path": "src", "glob": "*.py"},
    "fetch": {"url": "https://example.org/"},
    "look_again": {"id": "ab12cd34"},
    "send_file": {"path": "a.pdf", "caption": "yours", "as_": "document", "name": "b.pdf"},
    "todo": {"items": [{"text": "one", "status": "active"}, {"text": "two"}]},
    "remember": {"text": "The person likes tea.", "scope": "person", "kind": "preference", "replaces": 2},
    "recall": {"query": "tea"},
    "search_past": {"query": "tea", "since": "2026-01-01", "before": "2026-02-01", "folder": "/work", "kind": "people"},
    "read_past": {"conversation": "7kq2m9xd", "around": 4, "turns": 2},
    "schedule": {
        "when": "every day at 8:00",
        "text": "Sum up.",
        "to": "telegram",
        "late": "skip",
        "watch": "folder: inbox",
    },
    "schedules": {},
    "unschedule": {"id": "7kq2m9xd"},
    "stay_silent": {"why": "nothing new"},
    "delegate": {
        "tasks": [
            {
                "task": "Look.",
                "helper": "reader",
                "files": ["a.txt"],
                "model": "openai:x",
                "tools": ["read"],
                "max_cost": 0.5,
                "max_steps": 3,
            }
        ]
    },
    "helper": {"action": "tell", "names": ["h1"], "text": "There."},
    "ask_user": {"question": "Which?", "choices": ["a", "b"]},
}


class Greeting(Struct, frozen=True):
    """Whom to greet."""

    name: str = "you"


class Greet:
    """A stranger's tool."""

    name = "greet"
    description = "Greets."
    arguments: type[Struct] = Greeting
    traits = Traits()

    async def effects(self, arguments: Greeting, context: ToolContext) -> Sequence[Effect]:
        return (NoEffect(),)

    async def run(self, arguments: Greeting, context: ToolContext) -> ToolOutcome:
        return ToolOutcome((Text(f"Hello, {arguments.name}."),))


class Named(Greet):
    """The same under a name of choice."""

    def __init__(self, name: str) -> None:
        self.name = name


def test_every_default_tool_has_a_call_in_this_file() -> None:
    assert set(CALLS) == set(REGISTRY.names)


def test_all_default_tools_together_are_at_most_8700_bytes_for_the_model() -> None:
    assert len(msgspec.json.encode(REGISTRY.specs())) <= 8_700


def test_the_four_tools_of_notes_and_past_are_at_most_1500_tokens_for_the_model() -> None:
    four = [spec for spec in REGISTRY.specs() if spec.name in ("remember", "recall", "search_past", "read_past")]
    assert len(four) == 4
    assert text_tokens(msgspec.json.encode(four).decode()) <= 1_500


def test_specs_are_the_same_bytes_in_another_process() -> None:
    script = (
        "import sys, msgspec; from angelia.tools.discovery import default_registry; "
        "sys.stdout.buffer.write(msgspec.json.encode(default_registry().specs()))"
    )
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert other.stdout == msgspec.json.encode(REGISTRY.specs())


def test_loading_the_tools_imports_nothing_heavy() -> None:
    script = (
        "import sys; from angelia.tools.discovery import default_registry; default_registry().specs(); "
        "print([m for m in ('html_to_markdown', 'httpx2', 'PIL', 'importlib.metadata', 'pypdfium2', 'tree_sitter') "
        "if m in sys.modules])"
    )
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert other.stdout.strip() == "[]"


@pytest.mark.parametrize("spec", REGISTRY.specs(), ids=lambda spec: spec.name)
def test_a_schema_is_one_plain_object_without_references(spec: Any) -> None:
    schema = msgspec.json.decode(spec.schema)
    assert schema["type"] == "object"
    assert "$ref" not in bytes(spec.schema).decode()
    assert "title" not in schema
    assert not re.search(rb'"minLength":1\b|"required":\[\]', bytes(spec.schema))
    assert schema["additionalProperties"] is False


def test_words_of_several_kinds_to_choose_from_stand_in_one_list() -> None:
    class Step(Struct):
        do: Annotated[Literal["look"] | Literal["act", "stop"], Meta(description="What.")]

    shown = msgspec.json.decode(compact_schema(Step))["properties"]["do"]
    assert shown == {"type": "string", "enum": ["look", "act", "stop"], "description": "What."}


@pytest.mark.parametrize("name", CALLS)
def test_a_good_call_parses_into_its_arguments(name: str) -> None:
    parsed = REGISTRY.parse(name, msgspec.json.encode(CALLS[name]).decode())
    tool = REGISTRY.get(name)
    assert tool is not None
    assert isinstance(tool.arguments, type)
    assert parsed == msgspec.convert(CALLS[name], tool.arguments)


@pytest.mark.parametrize("name", CALLS)
def test_a_call_cut_at_any_byte_never_parses(name: str) -> None:
    whole = msgspec.json.encode(CALLS[name])
    for length in range(len(whole)):
        cut = whole[:length].decode("utf-8", "surrogateescape")
        assert isinstance(REGISTRY.parse(name, cut), BadCall), cut


@pytest.mark.parametrize(
    ("name", "arguments", "explains"),
    [
        ("shel", "{}", "The tools are: shell, process"),
        ("shell", "", "not complete, valid JSON"),
        ("shell", "null", "must match this schema"),
        ("shell", '{"command": "ls"} {}', "not complete, valid JSON"),
        ("shell", '{"command": "ls",}', "not complete, valid JSON"),
        ("shell", "{'command': 'ls'}", "not complete, valid JSON"),
        ("shell", '{"command": 1}', "Expected `str`, got `int` - at `$.command`"),
        ("shell", '{"command": "ls", "seconds": "5"}', "at `$.seconds`"),
        ("shell", '{"command": "ls", "seconds": 3601}', "at `$.seconds`"),
        ("shell", '{"command": "ls", "cmd": ""}', "unknown field `cmd`"),
        ("shell", '{"command": ""}', "at `$.command`"),
        ("shell", '{"command": "a\\u0000b"}', "NUL"),
        ("shell", '{"command": "a\\\\\\u0000b"}', "NUL"),
        ("shell", '{"command": "\\ud83d"}', "not complete, valid JSON"),
        ("shell", '{"command": "\ud83d"}', "not complete, valid JSON"),
        ("ask_user", '{"question": "?", "choices": ["1","2","3","4","5","6","7"]}', "at `$.choices`"),
    ],
)
def test_a_bad_call_explains_itself(name: str, arguments: str, explains: str) -> None:
    answer = REGISTRY.parse(name, arguments)
    assert isinstance(answer, BadCall)
    assert explains in answer.explanation


def test_an_escaped_backslash_before_u0000_is_no_nul() -> None:
    assert REGISTRY.parse("shell", r'{"command": "printf \\u0000"}') == ShellArguments(command=r"printf \u0000")


@given(st.text(max_size=60))
def test_no_text_is_too_odd_to_be_refused_in_words(arguments: str) -> None:
    parsed = REGISTRY.parse("write", arguments)
    assert isinstance(parsed, BadCall)
    assert parsed.explanation


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="two tools"):
        Registry([Greet(), Greet()])


@pytest.mark.parametrize("name", ["", "a b", "a.b", "ä", "x" * 65])
def test_a_name_that_providers_refuse_is_refused_here(name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be called"):
        Registry([Named(name)])


class Weighed:
    """A tool that brings a schema of its own, and takes whatever has a weight."""

    name = "weigh"
    description = "Weighs."
    arguments = Schema(
        msgspec.Raw(b'{"type":"object","properties":{}}'), lambda given: "" if "kg" in given else "no kg"
    )
    traits = Traits()

    async def effects(self, arguments: JsonArguments, context: ToolContext) -> Sequence[Effect]:
        return (NoEffect(),)

    async def run(self, arguments: JsonArguments, context: ToolContext) -> ToolOutcome:
        return ToolOutcome((Text(str(arguments.values)),))


def with_weighed() -> Registry:
    """The tools that there are, and one more."""
    return Registry.of([*made(found_toolsets().makers)[0], Standalone("more", Weighed())])


def test_a_tool_with_a_schema_of_its_own_gets_the_object_that_was_written() -> None:
    registry = with_weighed()
    assert registry.names == (*REGISTRY.names, "weigh")
    assert bytes(registry.specs()[-1].schema) == b'{"type":"object","properties":{}}'
    assert registry.parse("weigh", '{"kg": 3, "more": [1, null]}') == JsonArguments({"kg": 3, "more": [1, None]})


@pytest.mark.parametrize(
    "arguments",
    ['{"g": 3}', "[]", "null", "", '{"kg": 3', '{"kg": "a\u0000"}', pytest.param('{"kg": ' + "[" * 3000, id="endless")],
)
def test_a_call_that_its_own_schema_refuses_explains_itself(arguments: str) -> None:
    answer = with_weighed().parse("weigh", arguments)
    assert isinstance(answer, BadCall)
    assert "weigh was not run" in answer.explanation


class Node(Struct):
    """Refers to itself."""

    children: list["Node"] = []


def test_arguments_that_refer_to_themselves_are_no_schema() -> None:
    with pytest.raises(ConfigError, match="refers to itself"):
        compact_schema(Node)


class Odd(Struct):
    """Fields whose names are words of JSON schema."""

    title: str
    default: Annotated[int, Meta(description="A number.")] = 0
    enum: bool = True


def test_fields_may_be_called_like_words_of_the_schema_language() -> None:
    schema = msgspec.json.decode(compact_schema(Odd))
    assert set(schema["properties"]) == {"title", "default", "enum"}
    assert schema["properties"]["default"] == {"description": "A number.", "type": "integer"}


def _install(folder: Path, name: str, lines: str) -> None:
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[angelia.tools]\n{lines}\n")


def test_a_strangers_tool_is_found_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(tmp_path, "stranger", f"greet = {__name__}:Greet")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = default_registry()
    assert registry.names == (*REGISTRY.names, "greet")
    assert registry.faults == ()
    assert registry.parse("greet", "{}") == Greeting()


def test_a_strangers_tool_that_is_installed_meanwhile_is_found_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    assert default_registry().names == REGISTRY.names
    os.utime(tmp_path, ns=(1, 1))  # as if that had been long ago: a file system's clock ticks in milliseconds
    assert default_registry().names == REGISTRY.names
    _install(tmp_path, "stranger", f"greet = {__name__}:Greet")
    assert default_registry().names == (*REGISTRY.names, "greet")


def test_a_strangers_fault_is_told_and_harms_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(tmp_path, "broken", "gone = no_such_module_at_all:Tool")
    _install(tmp_path, "thief", f"shell = {__name__}:shell_again")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = default_registry()
    assert registry.names == REGISTRY.names
    assert "'gone' of broken could not be loaded: ModuleNotFoundError" in registry.faults[0]
    assert "'shell' of thief is not used: that name is taken" in registry.faults[1]


def shell_again() -> Tool:
    """Wants a name that is ours."""
    return Named("shell")
