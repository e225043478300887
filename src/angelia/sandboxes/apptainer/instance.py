"""One instance: found by its name, or started; others of its place end; gone by itself when idle."""

import asyncio
import fcntl
import hashlib
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from angelia.sandboxes.apptainer.program import ApptainerProgram, complaint, news, run_and_tell
from angelia.sandboxes.by_commands.launcher import quoted
from angelia.sandboxes.port import SandboxMissing
from angelia.sandboxes.shared.tree_removal import remove_tree

LOOK = 5
"""Seconds between two looks whether anybody is there."""
_LIVE = f"n=0; while [ $n -lt $0 ]; do sleep {LOOK}; set -- /proc/[0-9]*; "
_LIVE += f"if [ $# -gt 2 ]; then n=0; else n=$((n + {LOOK})); fi; done; kill -TERM 1"
"""Runs inside beside the first process; ends that, and the instance with it, after $0 seconds alone with it."""
_USED = 3
"""Beyond so many processes that came from outside somebody is there: the first, the one above, the one that counts."""
_COUNT = "exec 2>/dev/null; n=0; for p in /proc/[0-9]*; do read -r x <$p/stat && "
_COUNT += "case ${x##*') '} in Z*) ;; ?' 0 '*) n=$((n + 1));; esac; done; "
"""Those whose parent is unknown here, and who are no zombies (proc(5), `/proc/PID/stat`)."""
_END = f"{_COUNT} [ $n -gt $0 ] || kill -TERM 1"
_EVEN_IF_USED = 1_000_000
PREFIX = "angelia-"
_PAUSES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Seconds between looks whether it is gone; `instance stop` takes more than one."""
_STOPPED_WRITING = 128 + 13
"""It had started, and nobody was there any more to hear it say so (SIGPIPE)."""

_ALLOW_NAMESPACES = (
    "Let users make namespaces (as root, what your kernel knows of: sysctl kernel.unprivileged_userns_clone=1, "
    "user.max_user_namespaces=15000, kernel.apparmor_restrict_unprivileged_userns=0), or install apptainer-suid."
)
"""apptainer.org/docs/admin, "User Namespaces & Fakeroot"; the third one is Ubuntu's."""


class InstancePlan(Struct, frozen=True):
    """What an instance is to be: `stem` names its place (`stem_of`), `options` are those of `instance start`."""

    stem: str
    image: str
    remote: bool
    options: tuple[str, ...]
    idle: int
    scratch: Path
    lock: Path

    @property
    def name(self) -> str:
        """The name of an instance that is exactly so."""
        facts = "\0".join((self.image, *self.options, str(self.idle)))
        return f"{self.stem}-{hashlib.sha256(facts.encode(errors='surrogateescape')).hexdigest()[:8]}"


def stem_of(place: str, home: str) -> str:
    """How the names begin that belong to a place of a home (`sandboxes.shared.persistent.owner`)."""
    return f"{PREFIX}{place}-{hashlib.sha256(home.encode()).hexdigest()[:8]}"


async def ensure(program: ApptainerProgram, plan: InstancePlan, progress: Callable[[str], None]) -> str:
    """The name of a running instance that is as planned; the same one for everybody who asks.

    Its `scratch` is empty when it starts.

    Raises:
        SandboxMissing: the image cannot be had, or the machine cannot start such an instance.
    """
    async with _alone(plan.lock):
        there = await program.instances(f"{plan.stem}-*")
        for other in there:
            if other != plan.name:
                await end(program, other)
        if plan.name not in there:
            await asyncio.to_thread(remove_tree, plan.scratch)
            plan.scratch.mkdir(mode=0o700, parents=True)
            await asyncio.shield(_start(program, plan, progress))
    return plan.name


async def end(program: ApptainerProgram, name: str) -> None:
    """End it, and all that runs in it; one that is gone already is fine."""
    await _ask_to_end(program, name, unless=_EVEN_IF_USED)
    for pause in _PAUSES:
        await asyncio.sleep(pause)
        if name not in await program.instances(name):
            return
    await program.said("instance", "stop", "--force", name)


async def end_unless_used(program: ApptainerProgram, name: str) -> bool:
    """End it, unless somebody holds it or runs a command in it; whether it has ended."""
    await _ask_to_end(program, name, unless=_USED)
    for pause in _PAUSES:
        await asyncio.sleep(pause)
        if name not in await program.instances(name):
            return True
        if await in_use(program, name):
            return False
    await program.said("instance", "stop", "--force", name)
    return True


async def in_use(program: ApptainerProgram, name: str) -> bool:
    """Whether somebody holds it, or runs a command in it."""
    said = await program.said(*inside(name, "/bin/sh", "-c", f"{_COUNT} echo $n"))
    return said.strip().isdigit() and int(said) > _USED


async def is_idle(program: ApptainerProgram, name: str) -> bool:
    """Whether it runs, and nobody uses it."""
    return name in await program.instances(name) and not await in_use(program, name)


async def _ask_to_end(program: ApptainerProgram, name: str, *, unless: int) -> None:
    """`unless` more processes than so many are there."""
    await program.said(*inside(name, "/bin/sh", "-c", _END, str(unless)))


def inside(name: str, *words: str) -> tuple[str, ...]:
    """The words, after the program's own, that run a command in an instance, without privileges or our variables."""
    return ("exec", "--cleanenv", "--no-privs", "--pwd", "/", f"instance://{name}", *words)


async def _start(program: ApptainerProgram, plan: InstancePlan, progress: Callable[[str], None]) -> None:
    """Start it, and what watches over it: both in one process, so that it is watched even if we die meanwhile."""
    words = [program.path, "--nocolor", "instance", "start", *plan.options, plan.image, plan.name]
    watch = program.line(*inside(plan.name, "/bin/sh", "-c", _LIVE, str(plan.idle)))
    line = (
        f"{_line(words)}; status=$?; "
        f"case $status in 0|{_STOPPED_WRITING}) {_line(watch)} </dev/null >/dev/null 2>&1 & esac; exit $status"
    )

    def told(line: str) -> None:
        if plan.remote and (word := news(line)):
            progress(f"the image {plan.image}: {word}")

    status, said = await run_and_tell(("/bin/sh", "-c", line), program.env, told)
    if status:
        raise _not_started(program, plan, complaint(said))


def _line(words: Sequence[str]) -> str:
    return " ".join(map(quoted, words))


def _not_started(program: ApptainerProgram, plan: InstancePlan, why: str) -> SandboxMissing:
    folded = why.lower()
    if "cgroup" in folded:
        mend = "Take memory_mb, cpus and processes away under [sandbox.apptainer]: limits need cgroups v2 and systemd."
    elif "namespace" in folded:
        mend = _ALLOW_NAMESPACES
    elif "image" in folded or plan.image in why:
        mend = f"Check its name, and that `{program.path} exec {plan.image} true` works."
    else:
        mend = f"See that `{program.path} exec --containall {plan.image} true` works, and [sandbox.apptainer]."
    return SandboxMissing(f"No instance of {plan.image} could be started: {why}.", then=mend)


@asynccontextmanager
async def _alone(lock: Path) -> AsyncIterator[None]:
    """One at a time, of all processes: two starts of one name would leave an instance that nobody knows."""
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        await asyncio.to_thread(fcntl.flock, handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
