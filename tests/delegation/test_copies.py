"""A helper in a copy of the folder: what it does there comes back as a patch, and nothing of the copy is left."""

import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import CallStatus, Media
from angelia.core.ids import new_conversation
from angelia.core.principal import OWNER
from angelia.sandboxes.workspace import copies_folder, snapshots_folder
from angelia.testing.model.steps import Hang, Speak, call, say
from tests.delegation.family import WAIT, by_task, child_log, delegate, family, until, words
from tests.promise.inside import Conversation

pytestmark = pytest.mark.anyio

IN_A_COPY = {"task": "change it", "workspace": "copy"}


def git(folder: Path, *arguments: str) -> str:
    """What Git says there."""
    own = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    return subprocess.run(["git", *own, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def repository(folder: Path) -> None:
    """One with a commit, a change that is in none, a new file and an ignored one."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "story.txt").write_text("one\ntwo\n")
    (folder / ".gitignore").write_text("build/\n")
    git(folder, "init", "--quiet")
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", "a beginning")
    (folder / "story.txt").write_text("one\ntwo\nthree\n")
    (folder / "new.txt").write_text("new\n")
    (folder / "build").mkdir()
    (folder / "build" / "large.bin").write_bytes(b"\0" * 1000)


async def left_of(talk: Conversation) -> list[str]:
    """What there is of copies, once their conversation was left."""
    await talk.app.conversations.leave(talk.session)
    home = talk.app.loaded.home
    folders = (copies_folder(home), snapshots_folder(home))
    return [str(copy) for folder in folders if folder.is_dir() for copy in folder.iterdir()]


def shell(command: str, **more: object) -> Speak:
    return call("shell", {"command": command, **more})


CHANGE = shell(
    "test ! -e build && printf 'one\\n2\\nthree\\n' > story.txt && rm new.txt && printf '\\0\\1' > raw.bin"
    " && ln -s story.txt link && git log --oneline && git status --short"
)


async def test_what_is_changed_in_a_copy_comes_back_as_a_patch_that_applies_and_the_copy_goes(tmp_path: Path) -> None:
    script = by_task(
        {
            "change it": [CHANGE, say("Changed.")],
            "Begin": [delegate(IN_A_COPY), WAIT, shell("git apply inbox/h1.patch"), say("Taken over.")],
        }
    )
    repository(workspace := tmp_path / "workspace")
    async with family(tmp_path, script, sets=("sandbox.confine=off",)) as (talk, server):
        before = sorted(path.name for path in workspace.iterdir())
        await talk.say("Begin.")
        await until(talk, lambda: bool(talk.facts(e.WorkEnded)))
        (ended,) = talk.facts(e.WorkEnded)
        files = {part.name: part.blob for part in ended.parts if isinstance(part, Media)}
        assert set(files) == {"h1.patch", "story.txt", "raw.bin"}
        assert files["story.txt"].sha256 == sha256(b"one\n2\nthree\n").hexdigest()
        said = words(ended)
        assert said.startswith("Changed.")
        for line in ("4 paths changed in its copy: file h1.patch", "removed: new.txt]", "new, a link: link]"):
            assert line in said
        assert f"[changed: story.txt, file story.txt, 12 bytes, blob:{files['story.txt'].sha256[:12]}" in said
        (ran,) = [fact for fact in await child_log(talk) if isinstance(fact, e.ToolFinished)]
        assert "a beginning" in str(ran.parts), "it has the history"
        assert await talk.ending() == end.Answered()
        assert sorted(path.name for path in workspace.iterdir()) == sorted(
            {*before, "inbox", "raw.bin", "link"} - {"new.txt"}
        )
        assert (workspace / "story.txt").read_text() == "one\n2\nthree\n"
        assert (workspace / "raw.bin").read_bytes() == b"\0\1"
        assert "git apply inbox/h1.patch" in server.requests[-1].raw.decode()
        assert await left_of(talk) == []


async def test_a_folder_without_a_repository_is_copied_too_and_nothing_changed_is_said(tmp_path: Path) -> None:
    script = by_task(
        {"change it": [shell("cat story.txt"), say("Read.")], "Begin": [delegate(IN_A_COPY), WAIT, say("Done.")]}
    )
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "story.txt").write_text("once\n")
    async with family(tmp_path, script, sets=("sandbox.confine=off",)) as (talk, _):
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        (ended,) = talk.facts(e.WorkEnded)
        assert words(ended) == "Read.\n[it changed nothing in its copy]"
        assert await left_of(talk) == []
        assert not (tmp_path / "workspace" / "inbox").exists()


async def test_a_helper_that_is_stopped_hands_back_what_it_had_changed(tmp_path: Path) -> None:
    script = by_task(
        {"change it": [shell("echo x > story.txt"), Hang()], "Begin": [delegate(IN_A_COPY), WAIT, say("Stopped.")]}
    )
    async with family(tmp_path, script, sets=("sandbox.confine=off",)) as (talk, server):
        await talk.say("Begin.")
        await server.when(lambda server: len(server.requests) >= 4)
        await talk.session.stop(OWNER)
        await until(talk, lambda: bool(talk.facts(e.WorkEnded)))
        (ended,) = talk.facts(e.WorkEnded)
        assert ended.child is not None
        assert ended.child.ending == end.Cancelled(OWNER)
        assert "[new: story.txt, file story.txt, 2 bytes" in words(ended)
        assert await left_of(talk) == []


async def test_the_walls_of_a_copy_are_those_of_the_folder(tmp_path: Path) -> None:
    """Confined where commands can be: neither the folder nor another copy is in reach, and no hook is left."""
    outside = tmp_path / "workspace" / "story.txt"
    tries = shell(f"echo x > {outside}; echo x > .git/hooks/post-checkout; echo y > mine; true")
    script = by_task({"change it": [tries, say("Tried.")], "Begin": [delegate(IN_A_COPY), WAIT, say("Done.")]})
    repository(tmp_path / "workspace")
    async with family(tmp_path, script) as (talk, _):
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        (ended,) = talk.facts(e.WorkEnded)
        assert outside.read_text() == "one\ntwo\nthree\n"
        assert "1 path changed in its copy" in words(ended)
        assert "[new: mine" in words(ended)
        facts = await child_log(talk)
        assert any(isinstance(fact, e.FilesChanged) and fact.paths == ("mine",) for fact in facts), "undo keeps it"
        assert await left_of(talk) == []


async def test_a_folder_that_is_too_large_is_not_copied_and_the_helper_ends_with_the_reason(tmp_path: Path) -> None:
    script = by_task({"Begin": [delegate(IN_A_COPY), WAIT, say("Not then.")]})
    repository(tmp_path / "workspace")
    async with family(tmp_path, script, sets=("sandbox.confine=off", "delegation.copy_bytes=10")) as (talk, _):
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        (ended,) = talk.facts(e.WorkEnded)
        assert ended.status is CallStatus.ERROR
        assert "The folder holds 0 MB in 3 files" in words(ended)
        assert await left_of(talk) == []


async def test_what_was_changed_in_the_folder_meanwhile_is_told_as_a_conflict_and_the_rest_goes_in(
    tmp_path: Path,
) -> None:
    script = by_task(
        {
            "change it": [shell("echo two > story.txt; echo two > other.txt; echo x > link; echo x > new.txt")],
            "Begin": [
                delegate(IN_A_COPY),
                shell("until [ -e go ]; do sleep 0.01; done"),
                WAIT,
                shell("git apply --reject inbox/h1.patch"),
                say("Taken over."),
            ],
        }
    )
    (workspace := tmp_path / "workspace").mkdir()
    for name in ("story.txt", "other.txt", "link"):
        (workspace / name).write_text("one\n")
    async with family(tmp_path, script, sets=("sandbox.confine=off",)) as (talk, server):
        await talk.say("Begin.")
        await server.when(lambda server: len(server.requests) >= 4)  # the helper has its copy, and has changed it
        (workspace / "story.txt").write_text("three\n")
        (workspace / "link").unlink()
        (workspace / "link").symlink_to("/dev/zero")
        (workspace / "go").touch()
        assert await talk.ending() == end.Answered()
        (ended,) = talk.facts(e.WorkEnded)
        said = words(ended)
        assert "[2 of them changed in the folder too since then, so the patch conflicts there." in said
        assert "takes it over, after a look" not in said
        conflicts = [line.partition(",")[0] for line in said.splitlines() if "CONFLICT" in line]
        assert conflicts == ["[changed: link", "[changed: story.txt"]
        assert (workspace / "story.txt").read_text() == "three\n"
        assert (workspace / "other.txt").read_text() == "two\n"
        assert (workspace / "story.txt.rej").read_text().count("+two") == 1


async def test_a_patch_for_a_folder_within_a_repository_goes_in_there(tmp_path: Path) -> None:
    """Git skips, without a word, what it takes for paths outside of the folder in which it is called."""
    script = by_task(
        {
            "change it": [shell("echo two > story.txt"), say("Changed.")],
            "Begin": [delegate(IN_A_COPY), WAIT, shell("GIT_DIR=/dev/null git apply inbox/h1.patch"), say("Done.")],
        }
    )
    repository(tmp_path)
    (workspace := tmp_path / "workspace").mkdir()
    (workspace / "story.txt").write_text("one\n")
    async with family(tmp_path, script, sets=("sandbox.confine=off",)) as (talk, _):
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        (ended,) = talk.facts(e.WorkEnded)
        assert "`GIT_DIR=/dev/null git apply inbox/h1.patch` takes it over" in words(ended)
        assert (workspace / "story.txt").read_text() == "two\n"


async def test_a_repository_within_is_named_and_what_is_no_file_of_ours_is_left_alone(tmp_path: Path) -> None:
    script = by_task({"change it": [say("Read.")], "Begin": [delegate(IN_A_COPY), WAIT, say("Done.")]})
    repository(tmp_path / "workspace")
    repository(tmp_path / "workspace" / "vendor")
    async with family(tmp_path, script, sets=("sandbox.confine=off",)) as (talk, _):
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        told = [fact.text for fact in await child_log(talk) if isinstance(fact, e.SystemSaid)]
        assert told == ["vendor is a repository of its own, and is not in your copy."]


async def test_nothing_that_stands_in_the_folder_is_run_by_making_or_comparing_a_copy(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    program = f"sh -c 'echo x >> {ran}; cat'"
    script = by_task(
        {
            "change it": [
                shell("cp evil.cfg .git/config && echo z > a.txt"),
                say("Changed."),
            ],
            "Begin": [delegate(IN_A_COPY), WAIT, say("Done.")],
        }
    )
    repository(workspace := tmp_path / "workspace")
    (workspace / ".gitattributes").write_text("*.txt filter=evil diff=evil text eol=crlf\n")
    for name in ("filter.evil.clean", "filter.evil.smudge", "core.fsmonitor", "diff.evil.textconv"):
        git(workspace, "config", name, program)
    (workspace / "evil.cfg").write_bytes((workspace / ".git" / "config").read_bytes())
    hook = workspace / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho hook >> {ran}\n")
    hook.chmod(0o755)
    async with family(tmp_path, script, sets=("sandbox.confine=off",)) as (talk, _):
        await talk.say("Begin.")
        await until(talk, lambda: bool(talk.session.questions() or talk.facts(e.WorkEnded)))
        (asked,) = talk.session.questions()
        assert "It changes .git/config" in asked.why
        await talk.session.approve(asked, by=OWNER)
        assert await talk.ending() == end.Answered()
        (ended,) = talk.facts(e.WorkEnded)
        assert "[new: a.txt" in words(ended)
        assert not ran.exists()


async def test_what_is_not_in_a_copy_is_told_also_by_the_life_after_one_that_was_killed(tmp_path: Path) -> None:
    repository(workspace := tmp_path / "workspace")
    repository(workspace / "vendor")
    child = new_conversation()
    async with family(tmp_path, by_task({})) as (talk, _):
        told = await talk.app.copies.made(child, workspace)
        assert told == ("vendor is a repository of its own, and is not in your copy.",)
        (snapshots_folder(talk.app.loaded.home) / child / "laid-out").unlink()
        assert await talk.app.copies.made(child, workspace) == told
