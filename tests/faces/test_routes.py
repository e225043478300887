"""A server that has Chat Completions alone works at once, is remembered, and is named in a note."""

from pathlib import Path

import pytest

from angelia.testing.model.steps import call, say
from tests.faces.angelia import Place, requests, serving

NEWER = ("--model", "openai:m")
"""The vendor whose own protocol is Responses."""


def wires(place: Place) -> list[str]:
    return [one["wire"] for one in requests(place)]


def test_a_server_with_chat_completions_alone_answers_and_is_remembered(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Hello."), say("Again.")], "--wire", "openai-chat") as place:
        first = place.run("ask", *NEWER, "hello")
        assert (first.code, first.out) == (0, "Hello.\n")
        assert f"{place.url}/v1 has no /responses: it is asked at /chat/completions from now on." in first.err
        again = place.run("ask", *NEWER, "--continue", "once more")
        assert (again.code, again.out, "has no /responses" in again.err) == (0, "Again.\n", False)
        assert wires(place) == ["openai-chat", "openai-chat"]


def test_calls_and_their_results_go_by_the_route_that_is_there(tmp_path: Path) -> None:
    steps = [say("I look.") + call("read", {"path": "a.txt"}), say("It says so."), say("Still.")]
    with serving(tmp_path, steps, "--wire", "openai-chat") as place:
        (place.work / "a.txt").write_text("so\n")
        assert place.run("ask", *NEWER, "what does a.txt say?").out == "It says so.\n"
        assert place.run("ask", *NEWER, "--continue", "and now?").out == "Still.\n"
        assert wires(place) == ["openai-chat"] * 3


def test_a_server_with_both_routes_is_asked_by_the_newer_one(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Hello.")]) as place:
        ended = place.run("ask", *NEWER, "hello")
        assert (ended.code, "has no /responses" in ended.err) == (0, False)
        assert wires(place) == ["openai-responses"]


@pytest.mark.parametrize("wire", ["anthropic"])
def test_where_neither_route_is_the_address_is_what_is_wrong(tmp_path: Path, wire: str) -> None:
    with serving(tmp_path, [say("Hello.")], "--wire", wire) as place:
        ended = place.run("ask", *NEWER, "hello")
        assert ended.code == 5
        assert f"There is no model server at {place.url}/v1/responses" in ended.err
        assert "from now on" not in ended.err


def test_a_gateway_without_a_model_refuses_to_start_with_the_cause(place: Place) -> None:
    place.run("channels", "add", "telegram", "--token", "1:x", "--unchecked", "--owner", "1")
    nothing = place.run("gateway", OPENAI_API_KEY="")
    assert nothing.code == 1
    assert "There is no model to answer with." in nothing.err
    assert "MB, once" in nothing.err
    assert "angelia setup" in nothing.err
    named = place.run("gateway", "--set", "model=anthropic:claude-x", "--set", 'fallback=["mistral:y"]')
    assert "There is no key for anthropic:claude-x." in named.err
    assert "There is no key for mistral:y." in named.err
