"""A home whose files lie in a bucket: said by a setting, used by every command, with keys that nobody inherits."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from angelia.service.app import App
from angelia.service.settings.config import load
from angelia.store.objects.s3 import SECRET
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say
from tests import nursery
from tests.objects.s3_server import Fault, Line, credentials

pytestmark = pytest.mark.anyio


@pytest.fixture
def environ(tmp_path: Path, line: Line) -> Mapping[str, str]:
    """The environment of a home with the way to a bucket; no setting says that files lie there."""
    (tmp_path / "home").mkdir()
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "ANGELIA_HOME": str(tmp_path / "home"),
        "OPENAI_API_KEY": "none",
        **credentials(line.port),
    }


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "notes.bin").write_bytes(b"\0no picture, but bytes" * 20)
    return tmp_path / "work"


async def test_files_move_to_a_bucket_and_back_and_a_server_that_is_away_is_told(
    tmp_path: Path, environ: Mapping[str, str], line: Line, prefix: str, workspace: Path
) -> None:
    folder = tmp_path / "home" / "blobs"
    there = {**environ, "ANGELIA_BLOBS": prefix}

    async def angelia(*words: str, env: Mapping[str, str] = there) -> tuple[int, str]:
        run = await nursery.run(words, env)
        assert "Traceback" not in run.stderr
        return run.status, run.stdout + run.stderr

    async with ModelServer([say("Bytes."), say("Still there.")]) as server:
        ask = ("ask", "-C", str(workspace), "--model", "openai-chat:scripted", "--set", "sandbox.confine=off")
        env = {"OPENAI_BASE_URL": server.base_url}
        status, said = await angelia(
            *ask, "--file", str(workspace / "notes.bin"), "What is it?", env={**environ, **env}
        )
        assert status == 0, said
        files = {path.name for path in folder.iterdir()}
        status, said = await angelia("store", "copy", prefix, env=environ)
        assert (status, said.splitlines()[0]) == (
            0,
            f"{len(files)} files (0.0 MB) copied to {prefix}; there already: 0.",
        )
        assert f"; there already: {len(files)}." in (await angelia("store", "copy", prefix, env=environ))[1]
        for path in folder.iterdir():
            path.unlink()
        assert (await angelia("store", "verify"))[0] == 0
        assert (await angelia("store", "verify", env=environ))[0] == 1, "in the home they are no more"
        assert (await angelia(*ask, "--continue", "And now?", env={**there, **env}))[1].endswith("Still there.\n")

    line.fail(Fault.FORBIDDEN)
    status, said = await angelia("store", "verify")
    assert status == 1
    assert "refuses to list files" in said
    assert "AWS_ACCESS_KEY_ID" in said
    line.fail(Fault.NONE)
    status, said = await angelia("store", "copy", "home")
    assert status == 0
    assert "remove `blobs`" in said
    assert (await angelia("store", "verify", env=environ))[0] == 0


async def test_no_program_inherits_the_keys_to_a_bucket(
    environ: Mapping[str, str], prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**environ, "ANGELIA_BLOBS": prefix, "AWS_SESSION_TOKEN": "of-an-hour"}.items():
        monkeypatch.setenv(name, value)
    app = await App.open_alone(load(Path(environ["ANGELIA_HOME"]), os.environ))
    try:
        assert not set(SECRET) & set(os.environ)
        ref = await app.blobs.put(b"stored all the same")
        app.blobs.path(ref.sha256).unlink()
        assert await app.blobs.get(ref.sha256) == b"stored all the same"
        assert environ["AWS_SECRET_ACCESS_KEY"] not in app.redaction.text(f"key: {environ['AWS_SECRET_ACCESS_KEY']}")
    finally:
        await app.close()
