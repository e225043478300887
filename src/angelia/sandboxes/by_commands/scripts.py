"""The shell scripts that read and write files in a place where commands are all we have.

They need a POSIX shell on Linux with coreutils and find, or busybox. Each is run as `sh -c SCRIPT sh PATH SETTINGS
ROOT…`, words encoded by `encoded`; it says one line first, beginning with a word of `WORDS`, and bytes after it.

A folder is entered before it is judged (`cd -P`, and `$PWD` says where that was), and a file is opened before it is
judged (`/proc/self/fd` says what was opened), so that nothing swapped in between leads anywhere else. With `straight`
no link is followed at all.
"""

from collections.abc import Sequence

WORDS = ("ok", "missing", "outside", "loop", "folder", "nofolder", "other", "denied", "large", "changed", "failed")
SAME = "same"
"""What a trusted get ends with, unless the file was written to meanwhile."""

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/,+@=")


def encoded(word: str) -> str:
    r"""A word for `printf %b`, in plain ASCII whatever bytes it stands for.

    >>> encoded("a b")
    'a\\0040b'
    """
    return "".join(chr(byte) if byte in _PLAIN else f"\\0{byte:03o}" for byte in word.encode(errors="surrogateescape"))


def words(script: str, path: str, settings: Sequence[str], roots: Sequence[str]) -> tuple[str, ...]:
    """The command line of a script; `settings` are shell assignments of numbers and names we made ourselves."""
    return ("/bin/sh", "-c", _BEGIN + script, "sh", encoded(path), ";".join(settings), *map(encoded, roots))


_BEGIN = r"""
LC_ALL=C; export LC_ALL; unset CDPATH
say() { printf '%s\n' "$*"; exit 0; }
enter() {
  [ "$1" = . ] && return
  if [ "$make" ] && [ ! -e "./$1" ] && [ ! -L "./$1" ]; then
    e=$(mkdir "./$1" 2>&1) || say failed "$e"
  fi
  into "$1" || { [ -d "./$1" ] && say denied; say missing; }
  within || say outside
}
into() {
  here=$PWD
  cd -P "./$1" 2>/dev/null || return 1
  [ -z "$straight" ] || [ "$1" = . ] || [ "$PWD" = "${here%/}/$1" ] || say changed
}
begin() {
  i=0
  while [ $((i += 1)) -le $roots ]; do
    eval "r=\$root$i n=\$name$i"
    for r in "$r" "$n"; do
      case $rest in "$r"|"${r%/}"/*) rest=${rest#"${r%/}"}; eval "cd \"\$root$i\"" || say missing; return;; esac
    done
  done
  say outside
}
walk() {
  rest=$1; f=.
  case $rest in /*) begin;; esac
  while [ "$rest" ]; do
    step=${rest%%/*}
    case $rest in */*) rest=${rest#*/};; *) rest=;; esac
    case $step in ''|.) continue;; esac
    enter "$f"; f=$step
    [ "$f" = .. ] && { enter ..; f=.; }
  done
}
follow() {
  links=0
  while [ -L "./$f" ]; do
    [ -z "$straight" ] || say changed
    links=$((links + 1)); [ $links -gt 40 ] && say loop
    t=$(readlink -n "./$f" && echo .) || say changed
    walk "${t%.}"
  done
}
size() { stat -c %s "./$1" 2>/dev/null; }
path=$(printf '%b.' "$1"); path=${path%.}; eval "$2"; shift 2
roots=0
for r; do
  r=$(printf '%b.' "$r"); r=${r%.}; cd -P "$r" 2>/dev/null || say missing
  roots=$((roots + 1)); eval "root$roots=\$PWD name$roots=\$r"
done
within() {
  i=0
  while [ $((i += 1)) -le $roots ]; do
    eval "r=\$root$i"
    case ${PWD%/}/ in "${r%/}"/*) return 0;; esac
  done
  return 1
}
cd "$root1" || say missing
"""

GET = r"""
walk "$path"; follow
[ -e "./$f" ] || say missing
[ -d "./$f" ] && say folder
[ -f "./$f" ] || say other
[ -r "./$f" ] || say denied
feed() { [ $whole -gt 0 ] && dd bs=65536 count=$whole; [ $rest -gt 0 ] && head -c $rest; } 2>/dev/null
look() { stat -L -c '%s %y' /proc/self/fd/3; }
{
  [ "$(readlink -n /proc/self/fd/3; echo .)" = "${PWD%/}/$f." ] && [ -f /proc/self/fd/3 ] || say changed
  case $(stat -f -c %T /proc/self/fd/3) in proc|sysfs|cgroup2fs) say made;; esac  # their sizes are not true
  before=$(look); size=${before%% *}
  [ "$size" -gt "$limit" ] && say large "$size"
  printf 'ok %s\n' "$size"
  whole=$((size / 65536)); rest=$((size % 65536))
  feed <&3
  if [ $hashed = 1 ]; then
    feed </proc/self/fd/3 | sha256sum | head -c 64
  else
    [ "$(look)" = "$before" ] && printf same
  fi
} 2>/dev/null 3<"./$f" || say changed
"""
"""`limit hashed`. Says `ok SIZE`; then come the bytes, and 64 hexadecimal digits, or `SAME` where nothing is hashed."""

PUT = r"""
make=; [ $offset = 0 ] && make=1
[ "$word" = begun ] && exec 4>&1
walk "$path"; follow
[ -d "./$f" ] && say folder
[ ! -e "./$f" ] || [ -f "./$f" ] || say other
[ $offset != 0 ] || { e=$( (set -C; : >"./$draft") 2>&1 ) || say failed "$e"; }
[ "$(size "$draft")" = $offset ] || say changed
e=$( { { echo "$word" >&4; eval "$source"; } >>"./$draft"; } 2>&1 ) || { rm -f "./$draft"; say failed "$e"; }
[ "$(size "$draft")" = $((offset + count)) ] || { rm -f "./$draft"; say changed; }
[ $last = 0 ] && say ok
[ "$(sha256sum <"./$draft" | head -c 64)" = $sha256 ] || { rm -f "./$draft"; say changed; }
dress() { chmod $mode "./$draft" && { [ -z "$modified" ] || touch -d "@$modified" "./$draft"; }; }
e=$( { dress && mv -f "./$draft" "./$f"; } 2>&1 ) || { rm -f "./$draft"; say failed "$e"; }
sync "./$f" 2>/dev/null
say ok
"""
"""`draft offset count source last sha256 mode modified word`: appends to a draft beside the file; the last piece
renames it. Says `word` once all is open (on 4: past base64, where all goes through that), and then works for as long
as it takes, for so many bytes, on that disk."""

DROP = r"""
walk "$path"; follow
rm -f "./$draft"
say ok
"""
"""`draft`: removes what a transfer left that broke off."""

STAT = r"""
walk "$path"
[ -e "./$f" ] || [ -L "./$f" ] || say missing
echo ok
stat -c '%f %s %Y' "./$f" 2>/dev/null
[ -L "./$f" ] && readlink -n "./$f"
exit 0
"""
"""Says `ok`; then a line of mode in hex, size and time, and where a link leads."""

LIST = r"""
walk "$path"; follow
[ -e "./$f" ] || say missing
[ -d "./$f" ] || say nofolder
into "$f" || say denied
within || say outside
[ -r . ] || say denied
echo ok
find . ! -name . -prune -exec stat -c '%f %s %Y %n' {} + 2>/dev/null
exit 0
"""
"""Says `ok`; then lines of mode in hex, size, time and `./NAME`. A name holds no `/`, so none can be taken for two."""
