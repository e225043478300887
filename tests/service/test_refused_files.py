"""What cannot be attached is refused with a sentence, before anything is stored."""

import os
import shlex
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from angelia.context.media_forms import AsText, form_of, nature
from angelia.core.content import Media, Text
from angelia.core.errors import BadInput
from angelia.core.profile import Ability, Profile
from angelia.installation import installing
from angelia.service.files import attachments as module
from angelia.service.files.attachments import Attachments, pasted_paths
from angelia.store.media.blobs import BlobStore
from angelia.store.media.measure import Intake
from tests.service.attached import BLIND, SEES, medium, png, scan, stored, written

pytestmark = pytest.mark.anyio


async def test_a_file_over_the_limit_is_refused_unread(
    attachments: Attachments, blobs: BlobStore, folder: Path
) -> None:
    with (folder / "huge.bin").open("wb") as file:
        file.truncate(300_000_000)
    with pytest.raises(BadInput) as refused:
        await attachments.file(folder / "huge.bin", SEES)
    assert str(refused.value).startswith(
        'The file "huge.bin" has 300.0 MB; at most 1.0 MB are taken. Give a part of it'
    )
    assert str(folder / "huge.bin") in refused.value.then
    assert stored(blobs) == []


async def test_the_default_limit_takes_100_mb(blobs: BlobStore) -> None:
    assert Intake(blobs).limit == 100_000_000


def a_folder(folder: Path) -> Path:
    return folder


def nothing(folder: Path) -> Path:
    (folder / "receipt.jpg").write_bytes(png())
    return folder / "reciept.jpg"


def a_pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def a_device(_: Path) -> Path:
    return Path("/dev/zero")


def a_loop(folder: Path) -> Path:
    (folder / "loop").symlink_to(folder / "loop")
    return folder / "loop"


def under_a_file(folder: Path) -> Path:
    (folder / "file").write_bytes(b"x")
    return folder / "file" / "x"


def a_long_name(folder: Path) -> Path:
    return folder / ("x" * 300)


def a_nul(folder: Path) -> Path:
    return folder / "a\0b"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (a_folder, "is a folder. Name the files in it"),
        (nothing, "Did you mean receipt.jpg?"),
        (a_pipe, "is not an ordinary file."),
        (a_device, "is not an ordinary file."),
        (a_loop, "cannot be read. "),
        (under_a_file, "cannot be read. "),
        (a_long_name, "cannot be read. "),
        (a_nul, "is not a path."),
    ],
)
async def test_a_path_that_is_no_file_is_refused_with_a_sentence(
    make: object, said: str, attachments: Attachments, blobs: BlobStore, folder: Path
) -> None:
    assert callable(make)
    path = make(folder)
    for act in (attachments.file, attachments.image):
        with pytest.raises(BadInput) as refused:
            await act(path, SEES)
        assert said in str(refused.value)
    assert stored(blobs) == []


async def test_an_unreadable_file_is_refused(
    attachments: Attachments, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(folder / "secret.txt", b"x")
    path.chmod(0)
    if os.geteuid() == 0:  # root may read everything, so the refusal is the file system's in name only

        def refuse(*_: object) -> None:
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(BadInput, match=r"secret.txt may not be read by you. Permission denied."):
        await attachments.file(path, SEES)


async def test_a_file_whose_size_is_unknown_beforehand_is_read(attachments: Attachments) -> None:
    proc = Path("/proc/self/status")
    if not proc.exists():
        pytest.skip("no /proc on this system")
    attached = await attachments.file(proc, SEES)
    assert medium(attached).blob.size > 0


async def test_a_pdf_that_nobody_can_read_says_what_to_install(
    attachments: Attachments, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "can_read", lambda: False)
    (note,) = (await attachments.file(written(folder / "x.pdf", scan()), BLIND)).notes
    assert installing("documents") in note


KINDS = {
    "x.png": png((20, 20)),
    "x.pdf": scan(),
    "x.txt": b"words",
    "x.zip": b"PK\3\4" + bytes(9),
    "x.wav": b"RIFF\0\0\0\0WAVE" + bytes(9),
    "x.mp4": b"\0\0\0\x18ftypisom",
    "x.bin": bytes(range(200)),
    "x.none": b"",
}
capabilities = st.sampled_from(Ability)


@given(
    st.sampled_from(sorted(KINDS)),
    capabilities,
    capabilities,
    capabilities,
    st.sampled_from(["openai-chat", "anthropic", "x"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_the_person_hears_of_everything_that_does_not_reach_the_model(
    attachments: Attachments, folder: Path, name: str, images: Ability, documents: Ability, audio: Ability, wire: str
) -> None:
    profile = Profile("v:m", "v", "m", wire, images=images, documents=documents, audio=audio)
    attached = await attachments.file(written(folder / name, KINDS[name]), profile)
    for part in attached.parts:
        if isinstance(part, Media) and isinstance(form_of(part, profile), AsText):
            assert len(attached.notes) == 1, nature(part)
    assert any(name in (part.text if isinstance(part, Text) else part.name) for part in attached.parts)


def test_dropped_files_are_paths_and_everything_else_is_text(folder: Path) -> None:
    plain, odd = written(folder / "a.txt", b""), written(folder / "b 'c' é.txt", b"")
    quoted = shlex.quote(str(plain))
    assert pasted_paths(f"{quoted} ") == (plain,)
    assert pasted_paths(f"{shlex.quote(str(odd))} {quoted}") == (odd, plain)
    assert pasted_paths(str(odd).replace(" ", "\\ ").replace("'", "\\'")) == (odd,)
    assert pasted_paths(odd.as_uri()) == (odd,)
    for text in (
        "",
        "a.txt",
        f"look at {quoted}",
        f"{quoted} please",
        f"{folder}",
        f"{folder}/none",
        "it's",
        "a\0b /x\0",
    ):
        assert pasted_paths(text) == ()


def test_a_tilde_is_the_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    path = written(folder / "x.txt", b"")
    assert pasted_paths("~/x.txt") == (path,)


@given(st.text())
def test_any_text_can_be_pasted(text: str) -> None:
    assert isinstance(pasted_paths(text), tuple)
