"""The shell script that runs one command in a place reached by a stream, and ends all of it on a word or with it.

The far side runs `boot(length)`, reads the request of that length from its input, and answers with one line: its mark
and `ok`, or why not. (What a login script says before that is passed over.) Standard input is spooled to a nameless
file, so that a command that does not read it stops nobody; where it is to stay open, the command reads a FIFO, which a
second stream writes to (`input_boot`), since this one has to be heard at any time. From then on the input is a
lifeline: a word means TERM,
then KILL after a grace, to the whole tree; so does its end, however it came about. The output is the command's own.
The status is the command's, 128 and more for a signal, as in shells.

Its errors come with its output, or by the stream's own second output where they are to be apart.

It needs a POSIX shell and `head`, and `mkfifo` for an input that stays open; `setsid` and /proc where there are any,
else `ps`.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from angelia.sandboxes.local.command import LINGER
from angelia.sandboxes.local.processes import GRACE, MARK
from angelia.sandboxes.port import Command, StderrMode, StdinMode

READY = b"ok"
NO_FOLDER = b"nofolder"
NO_INPUT = b"noinput"
FIFO = b"fifo"
"""Said in place of `READY` by a launcher whose command's input stays open, before the path of it."""
GO = b"go\n"
"""Sent once the second stream has opened that path."""
WORD = b"end\n"
"""Sent to end the command."""

_ROUND = 0.05
"""Seconds between two looks at who is left."""


class Launch(Struct, frozen=True):
    """A request to run `command`: `cwd` is absolute; `mark` is in the environment of all that it starts.

    No mark may begin with another.
    """

    command: Command
    cwd: str
    mark: str
    env: Mapping[str, str] = {}

    @property
    def token(self) -> bytes:
        """What an answer begins with."""
        return f"{MARK}={self.mark} ".encode()

    def request(self) -> bytes:
        """The words that the far side's shell evaluates."""
        command = self.command
        if bool(command.argv) == bool(command.shell):
            raise ValueError("a command has either argv or shell")
        variables = {**self.env, **command.env, MARK: self.mark}
        exports = "; ".join(f"export {_name(name)}={quoted(value)}" for name, value in variables.items())
        run = (
            'exec "$@"' if command.argv else 'if [ -x /bin/bash ]; then exec /bin/bash "$@"; else exec /bin/sh "$@"; fi'
        )
        words = command.argv or ("-c", command.shell)
        lines = (
            f"mark={MARK}={self.mark}; cwd={quoted(self.cwd)}; input={len(command.stdin)}",
            f"open={int(command.input is StdinMode.OPEN)}; exec 7>&{2 if command.errors is StderrMode.APART else 1}",
            f"rounds={round(GRACE / _ROUND)}; pause={_ROUND}; hundredths={round(_ROUND * 100)}; linger={LINGER}",
            f"begin={quoted(f'echo $$ >&6; exec 6>&-; {exports}; {run}')}",
            f"set -- {' '.join(map(quoted, words))}",
            _SCRIPT,
        )
        return "\n".join(lines).encode(errors="surrogateescape")


def boot(length: int) -> str:
    """What the far side's shell is started with: one word, without anything that any shell would take amiss."""
    return f'eval "$(head -c {length})"'


def input_boot(launch: Launch, path: str) -> str:
    """What the second stream is started with: it says `READY` behind the launch's mark, and hands on all that comes.

    It bears a mark of its own, of the same life, so that others' launchers know it for nobody's.
    """
    own = f"{launch.mark.rstrip('.')}in."
    said = f"{MARK}={launch.mark} {READY.decode()}"
    return f"export {MARK}={own}; exec 3>&1 >{quoted(path)} 2>/dev/null && echo {quoted(said)} >&3 && exec cat"


def quoted(word: str) -> str:
    r"""A word as every POSIX shell reads it.

    >>> print(quoted("it's"))
    'it'\''s'
    """
    return "'" + word.replace("'", "'\\''") + "'"


def _name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"{name!r} is no name of a variable")
    return name


_SCRIPT = r"""
exec 3<&0 4>&1 </dev/null 2>/dev/null
say() { printf '%s %s\n' "$mark" "$1" >&4; }
cd -- "$cwd" || { say nofolder; exit 1; }
if [ $open = 1 ]; then
  nest=$(mktemp -d) && mkfifo "$nest/in" || { rm -rf "$nest"; say noinput; exit 1; }
  exec 5<>"$nest/in"  # both ends, so that nobody waits for the other here
  say "fifo $nest/in"
  read -r word <&3
  exec 5<"$nest/in"  # from now on its only writer is the second stream
  rm -rf "$nest"
  [ "$word" = go ] || exit 1
elif say ok; [ $input -gt 0 ]; then
  spool=$(mktemp) && head -c $input <&3 >"$spool" && exec 5<"$spool" || { rm -f "$spool"; say noinput; exit 1; }
  rm -f "$spool"
  say ok
else
  exec 5</dev/null
fi
setsid= watcher=; command -v setsid >&2 && setsid=setsid

# Sets `all` to " PID PID ": what lives of the tree of $c, which is judged by descent, group, session and mark. A mark
# may be missed: a process that becomes another program has no environment for a moment. So where one had none of any
# command, and is no launcher, we look again.
members() {
  look; looks=0
  while [ "$all" = " " ] && [ "$unsure" ] && [ $looks -lt 2 ]; do sleep $pause; look; looks=$((looks + 1)); done
}
look() {
  rows=; unsure=
  if [ -r /proc/self/stat ]; then
    read -r x x x x newest </proc/loadavg
    near=$((newest - c))
    if [ $near -ge 0 ] && [ $near -lt 2000 ]; then
      p=$c
      while [ $p -le $newest ]; do [ -d /proc/$p ] && row $p; p=$((p + 1)); done
    else
      for p in /proc/[0-9]*; do row ${p#/proc/}; done
    fi
  else
    rows=$(ps -A -o pid= -o ppid= -o pgid= -o pgid= -o stat= | while read -r p pp g s st; do
      case $st in Z*) ;; *) printf ' %s:%s:%s:%s' $p $pp $g $s;; esac; done)
  fi
  found=" $c "; others=" "; close
  if [ "$others" != " " ] && [ -r /proc/self/stat ]; then
    grown=
    for p in $others; do bears $p && { found="$found$p "; grown=1; }; done
    [ "$grown" ] && close
  fi
  all=" "; for x in $rows; do p=${x%%:*}; case $found in *" $p "*) all="$all$p ";; esac; done
}
row() {
  line=; while read -r x; do line=$x; done <"/proc/$1/stat"  # a program's name may hold line ends
  [ "$line" ] || return
  set -- $1 ${line##*") "}
  case $2 in Z|X) ;; *) [ $(($8 & 2097152)) -gt 0 ] || rows="$rows $1:$3:$4:$5";; esac  # no threads of the kernel
}
bears() {  # an environment is words between zeros, which `read` leaves out and some greps stop at
  [ -r /proc/$1/environ ] || return
  bears=1; marked=
  while read -r x || [ "$x" ]; do
    case $x in *"$mark"*) bears=0; marked=1;; *"${mark%%=*}="*) marked=1;; esac
  done <"/proc/$1/environ"
  if ! [ "$marked" ]; then
    x=; read -r x </proc/$1/cmdline
    case $x in *'eval "$(head -c '*) ;; *) [ ! -d /proc/$1 ] || unsure=1;; esac
  fi
  return $bears
}
close() {
  more=1
  while [ "$more" ]; do
    more=; others=" "
    for x in $rows; do
      p=${x%%:*}; x=${x#*:}; parent=${x%%:*}; x=${x#*:}; group=${x%%:*}; session=${x#*:}
      case $found$watcher in
        *" $p "*|*" $p") ;;
        *" $parent "*|*" $group "*|*" $session "*) found="$found$p "; more=1;;
        *) others="$others$p ";;
      esac
    done
  done
}
clock() {  # hundredths of a second, 0 where nobody tells
  now=0
  if [ -r /proc/uptime ]; then read -r x y </proc/uptime; now=$((${x%.*} * 100 + 1${x#*.} - 100)); fi
}
finish() {  # a look takes its time on a busy machine: where there is a clock it ends the grace, else the rounds do
  told=" "; round=0; clock; late=$((now + $1 * hundredths))
  while members; [ "$all" != " " ] && [ $round -lt $1 ] && clock && [ $now -lt $late ]; do
    for p in $all; do case $told in *" $p "*) ;; *) kill -TERM $p; told="$told$p ";; esac; done
    sleep $pause; round=$((round + 1))
  done
  round=0
  while members; [ "$all" != " " ] && [ $round -lt 40 ]; do kill -KILL $all; sleep $pause; round=$((round + 1)); done
}
supervise() {
  read -r c
  { read -r word; finish $rounds; } <&3 >/dev/null 4>&- 7>&- &
  watcher=$!
  read -r status
  members
  [ "$all" = " " ] || { sleep $linger; finish 0; }
  kill -KILL $watcher
  exit $status
}
{ (exec $setsid /bin/sh -c "$begin" sh "$@" <&5 6>&1 >&4 2>&7 3<&- 4>&- 5<&- 7>&-); echo $?; } | supervise
"""
