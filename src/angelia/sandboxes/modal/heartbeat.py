"""A sign of life: while it comes the commands of a sandbox run; without it they are ended inside, a minute later.

Modal keeps a command's input open when whoever held it has died, so the launcher's lifeline tells nothing there.
"""

import asyncio
from contextlib import suppress

from angelia.cancellation import end_if_cancelled
from angelia.sandboxes.local.processes import MARK
from angelia.sandboxes.modal.exec_stream import ModalExecStream
from angelia.sandboxes.port import SandboxError

EVERY = 10
"""Seconds between two signs."""
_MISSED = 6
"""So many that did not come are a death."""

_WATCH = r"""
f=$(mktemp) && exec 4<&0 </dev/null 2>/dev/null || exit 1
{ while read -r word; do echo "$word" >"$f"; done; rm -f "$f"; } <&4 &
last=; missed=0
while sleep $2; [ -e "$f" ] && [ $missed -lt $3 ]; do
  read -r now <"$f"; if [ "$now" = "$last" ]; then missed=$((missed + 1)); else missed=0; fi; last=$now
done
[ -e "$f" ] || exit 0
rm -f "$f"
for p in /proc/[0-9]*; do
  while read -r x || [ "$x" ]; do case $x in *"$1"*) kill -KILL ${p#/proc/};; esac; done <"$p/environ"
done
kill $!
"""


def watch(life: str) -> tuple[str, ...]:
    """The command that waits for signs, and ends all that bears a mark of `life` when they fail to come."""
    return ("/bin/sh", "-c", _WATCH, "sh", f"{MARK}={life}.", str(EVERY), str(_MISSED))


async def give_signs(wire: ModalExecStream) -> None:
    """Until cancelled, or until there is nobody any more who wants one."""
    count = 0
    with suppress(SandboxError):
        while True:
            count += 1
            await wire.write(f"{count}\n".encode())
            end_if_cancelled()
            await asyncio.sleep(EVERY)
