#!/bin/sh
# Installs Angelia for the user who runs it, without root: a version of its own beneath ~/.local/share/angelia, and a
# link ~/.local/bin/angelia. Nothing else is changed. Run it again for another version; `angelia update` does the same
# and tries the new version first.
set -eu

usage() {
  cat <<'TEXT'
usage: ./install.sh [--from WHEEL|FOLDER|URL] [--extras a,b] [--offline]

  --from     where the wheel is; default: the folder dist beside this script (`make wheel` fills it)
  --extras   optional parts, such as web,documents,local, or all; default: web,documents
  --offline  take everything from the folder, ask no index

ANGELIA_BASE is where it goes (default ~/.local/share/angelia), PYTHON the interpreter (default: the newest found).
TEXT
}

say() { printf '%s\n' "$*"; }
fail() { printf 'install.sh: %s\n' "$*" >&2; exit 1; }

from=$(dirname "$0")/dist extras=web,documents index=
base=${ANGELIA_BASE:-$HOME/.local/share/angelia} commands=$HOME/.local/bin
while [ $# -gt 0 ]; do
  case $1 in
    --from) from=${2:?--from needs a value}; shift ;;
    --extras) extras=${2-}; shift ;;
    --offline) index=--no-index ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done

new_enough='import sys; sys.exit(sys.version_info < (3, 11))'
python=
for one in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
  if "$one" -I -c "$new_enough" 2>/dev/null; then python=$one; break; fi
done
[ -n "$python" ] || fail "Python 3.11 or newer is needed, and ${PYTHON:-python3} is none. Name one: PYTHON=/path/to/python3.12"
"$python" -I -c 'import ensurepip, venv' 2>/dev/null ||
  fail "$python has no venv. Debian: apt install python3-venv"

case $from in
  *://*) wheel=$from find= ;;
  *.whl) [ -f "$from" ] || fail "There is no $from."
         wheel=file://$(cd "$(dirname "$from")" && pwd)/$(basename "$from") find=$(dirname "$from") ;;
  *) newest=$(ls -t "$from"/angelia-*.whl 2>/dev/null | head -n 1)
     [ -n "$newest" ] || fail "There is no wheel of Angelia in $from. In a checkout, \`make wheel\` builds one."
     wheel=file://$(cd "$from" && pwd)/$(basename "$newest") find=$from ;;
esac

version=$(date -u +%Y%m%dT%H%M%SZ) target=$base/versions/$(date -u +%Y%m%dT%H%M%SZ)
say "This makes, and nothing else:"
say "  $target    Angelia in an environment of its own"
say "  $base/current -> versions/$version"
say "  $commands/angelia -> $base/current/bin/angelia"
if [ -e "$commands/angelia" ] && [ ! -L "$commands/angelia" ]; then
  fail "$commands/angelia is there already, and no link. Move it away first; nothing was changed."
fi

mkdir -p "$base/versions" "$commands"
trap 'rm -rf "$target"; fail "It was not installed; nothing else was changed."' INT TERM
if ! { "$python" -P -m venv "$target" && "$target/bin/python" -P -m pip install --quiet --disable-pip-version-check \
  $index ${find:+--find-links "$find"} "angelia${extras:+[$extras]} @ $wheel"; }; then
  rm -rf "$target"
  fail "It could not be installed (the lines above say why); nothing else was changed."
fi
trap - INT TERM
ln -s "versions/$version" "$base/.current-$$"
mv -T "$base/.current-$$" "$base/current" 2>/dev/null || { rm -f "$base/current"; mv "$base/.current-$$" "$base/current"; }
ln -sf "$base/current/bin/angelia" "$commands/angelia"

say "Installed: $("$commands/angelia" --version)"
case ":$PATH:" in
  *":$commands:"*) ;;
  *) say "Add to your PATH:  export PATH=\"$commands:\$PATH\"" ;;
esac
[ "$(uname)" != Linux ] || command -v bwrap >/dev/null ||
  say "To confine what it runs, install bubblewrap (Debian: apt install bubblewrap). Without it every command asks."
say "Now:  angelia"
