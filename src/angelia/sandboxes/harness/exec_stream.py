"""A stream to a sandbox that only tells how a line ended: what goes in and comes out lies there, in files, in pieces.

One line runs the command, feeds it `in0`, `in1`, … as they come and keeps what it says as `out0`, `out1`, …; it is held
back while four of them lie there. Further lines hand pieces in, and wait for those that come out. All of it stands in
one folder, and whoever takes that away ends the command: its input ends, which its launcher takes for the word.
"""

import asyncio
import base64
import shlex
from collections.abc import Sequence
from contextlib import suppress

from angelia.cancellation import cancel_and_wait
from angelia.core.ids import sortable_id
from angelia.core.text import clean, one_line
from angelia.sandboxes.harness.lending import ExecResult, HarnessEnvironment
from angelia.sandboxes.port import KEPT_ERRORS, SandboxGone, StderrMode

_PIECE = 60_000
"""Bytes that go in at once, as one argument; Linux takes 131,071 (execve(2)), and base64 makes four of three."""

PATIENCE = 30.0
"""Seconds that a command has to end beyond its grace, and lines once their folder is gone: each word takes two lines
that look now and then, and the launcher looks through all processes, which takes seconds on a busy machine.
"""

_RUN = r"""
d=$1; (umask 077; mkdir "$d") || exit 1
printf %s "$3" | base64 -d >"$d/in0"
feed() {
  k=0; i=0
  while [ -d "$d" ] && [ $i -lt 864000 ]; do
    if [ -e "$d/in$k" ]; then cat "$d/in$k"; rm -f "$d/in$k"; k=$((k + 1))
    elif [ -e "$d/eof" ]; then return
    else sleep 0.1; i=$((i + 1)); fi
  done
}
keep() {
  k=0
  while dd bs=65536 count=1 of="$d/part" 2>/dev/null && [ -s "$d/part" ]; do
    mv "$d/part" "$d/out$k" || return; k=$((k + 1))
    while [ -e "$d/out$((k - 4))" ]; do sleep 0.1; done
  done
}
feed | { /bin/sh -c "$2" 2>"$d/err"; echo $? >"$d/status"; : >"$d/eof"; } | keep
[ ! -d "$d" ] || : >"$d/end"
"""
_READ = r"""
d=$1; k=$2; i=0
if [ $k = 0 ]; then
  for p in base64 cat dd mkdir mv rm sleep tail tr; do command -v $p >/dev/null || { echo "missing $p"; exit 0; }; done
  while [ ! -d "$d" ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done
fi
while [ -d "$d" ] && [ ! -e "$d/out$k" ] && [ ! -e "$d/end" ] && [ $i -lt 200 ]; do sleep 0.1; i=$((i + 1)); done
[ -d "$d" ] || { echo gone; exit 0; }
n=0
while [ -e "$d/out$k" ] && [ $n -lt 8 ]; do
  echo "out $(base64 <"$d/out$k" | tr -d '\n')"; rm -f "$d/out$k"; k=$((k + 1)); n=$((n + 1))
done
if [ $n = 0 ] && [ -e "$d/end" ]; then
  echo "err $(tail -c $3 "$d/err" | base64 | tr -d '\n')"; read -r status <"$d/status"; echo "end $status"; rm -rf "$d"
fi
"""
_WRITE = r"""
d=$1; k=$2; i=0
while [ -d "$d" ] && [ -e "$d/in$((k - 4))" ] && [ $i -lt 200 ]; do sleep 0.1; i=$((i + 1)); done
[ -d "$d" ] || { echo gone; exit 0; }
[ ! -e "$d/in$((k - 4))" ] || { echo full; exit 0; }
printf %s "$3" | base64 -d >"$d/piece" && mv "$d/piece" "$d/in$k" && echo taken
"""
_LEAVE = r"""
d=$1; i=0
while [ ! -d "$d" ] && [ $i -lt $2 ]; do sleep 0.1; i=$((i + 1)); done
mv "$d" "$d.left" 2>/dev/null && d=$d.left
rm -rf "$d"
"""
"""Were the folder taken away before the line that runs the command has made it, or while something is put there (`rm`
leaves it then), that line would run for ever.
"""
_MAKING = 50
"""Tenths of a second that it has to make it."""


class HarnessExecStream:
    """See `sandboxes.by_commands.stream_port.ExecStream`. It begins when it is written to or read first."""

    def __init__(self, environment: HarnessEnvironment, line: str, errors: StderrMode) -> None:
        self._environment = environment
        self._line, self._errors = line, errors
        self._folder = f"/tmp/.angelia-{sortable_id()}"  # noqa: S108 - the sandbox's own
        self._written = self._read = 0
        self._running: asyncio.Task[ExecResult] | None = None
        self._reading: asyncio.Task[ExecResult] | None = None
        self._lines = set[asyncio.Task[ExecResult]]()
        self._status, self._last_errors = -1, b""
        self._let_go = False

    @property
    def last_errors(self) -> bytes:
        """The end of what came by its second output, where that is apart."""
        return self._last_errors if self._errors is StderrMode.APART else b""

    async def read(self) -> bytes:
        """Some output, nothing at its end.

        Raises:
            SandboxGone: the harness runs nothing there any more.
        """
        if self._running is None:
            self._begin("")
        while self._status < 0 and not self._let_go:
            if self._reading is None:  # or whoever read before went away, and what the line brings is for us
                self._reading = self._begun(_READ, self._folder, str(self._read), str(KEPT_ERRORS))
            reading = self._reading
            try:
                said = _words(await asyncio.shield(reading))
            except asyncio.CancelledError:
                if reading.cancelled():  # by `close`, and not whoever reads
                    return b""
                raise
            self._reading = None
            chunks = [base64.b64decode(rest) for word, rest in said if word == "out"]
            self._read += len(chunks)
            for word, rest in said:
                if word == "err":
                    self._last_errors = base64.b64decode(rest)
                elif word == "end":
                    self._status = int(rest)
                elif word == "missing":  # what is said there would never come, and what is sent never arrive
                    raise SandboxGone(
                        f"Nothing can be run in the harness's sandbox: it has no `{rest}`.",
                        then="Put coreutils or busybox into the image of the task.",
                    )
                elif word == "gone" and not self._let_go:
                    raise await self._gone()
            if chunks:
                return b"".join(chunks)
        return b""

    async def write(self, data: bytes) -> None:
        """Send input; waits while the far side takes none.

        Raises:
            SandboxGone: there is nothing any more that takes it.
        """
        for at in range(0, len(data), _PIECE):
            piece = base64.b64encode(data[at : at + _PIECE]).decode()
            if self._running is None:
                self._begin(piece)
            else:
                while ("taken", "") not in (said := await self._asked(_WRITE, self._folder, str(self._written), piece)):
                    if ("full", "") not in said:
                        raise await self._gone()
                self._written += 1

    def _begin(self, piece: str) -> None:
        self._running, self._written = self._begun(_RUN, self._folder, self._line, piece), 1

    async def end_input(self) -> None:
        """Let the input end after what was sent."""
        await self._asked('[ ! -d "$1" ] || : >"$1/eof"', self._folder)

    async def status(self) -> int:
        """The launcher's status."""
        if self._status < 0:
            raise SandboxGone("The command was left before it had ended.", then="See what it has done.")
        return self._status

    async def close(self) -> None:
        """Let go; the launcher takes that for the word to end."""
        if self._let_go:
            return
        self._let_go = True
        if self._status < 0 and self._running is not None:
            words = (_LEAVE, "sh", self._folder, "0" if self._running.done() else str(_MAKING))
            with suppress(SandboxGone):
                await _told(self._environment, shlex.join(["/bin/sh", "-c", *words]))
        if self._lines:  # they end with the folder, and leave nothing
            _, late = await asyncio.wait(self._lines, timeout=PATIENCE)
            await cancel_and_wait(*late)  # the harness ends what it ran, in its own time

    async def _asked(self, script: str, *words: str) -> Sequence[tuple[str, str]]:
        """What a line of ours said: words, each with the rest of its line. Once all is let go none is begun.

        Raises:
            SandboxGone: the harness could not run it, or it is too late.
        """
        if self._let_go:
            raise await self._gone()
        return _words(await asyncio.shield(self._begun(script, *words)))

    def _begun(self, script: str, *words: str) -> asyncio.Task[ExecResult]:
        """A line that runs to its end whoever waits for it; `close` waits for all of them."""
        line = asyncio.ensure_future(_told(self._environment, shlex.join(["/bin/sh", "-c", script, "sh", *words])))
        self._lines.add(line)
        line.add_done_callback(self._lines.discard)
        line.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return line

    async def _gone(self) -> SandboxGone:
        """Why nothing is there any more, as far as the line that ran it tells."""
        why = ""
        if self._running is not None and self._running.done() and not self._running.cancelled():
            error = self._running.exception()
            why = str(error) if error else self._running.result().stderr or ""
        told = one_line(clean(why), 300).strip()
        return SandboxGone(f"The command was lost in the harness's sandbox{f': {told}' if told else ''}.")


def _words(said: ExecResult) -> Sequence[tuple[str, str]]:
    parted = [line.partition(" ") for line in (said.stdout or "").splitlines()]
    return [(word, rest) for word, _, rest in parted]


async def _told(environment: HarnessEnvironment, line: str) -> ExecResult:
    """How a line ended.

    Raises:
        SandboxGone: the harness could not run it; says why, in its words.
    """
    try:
        return await environment.exec(line)
    except Exception as error:
        why = one_line(clean(str(error)), 300).strip() or type(error).__name__
        raise SandboxGone(f"The harness could not run a command in its sandbox: {why}.") from error
