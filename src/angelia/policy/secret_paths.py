"""Which paths hold secrets, and which decide what runs later, by their names alone."""

import fnmatch
import posixpath
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

from angelia.core.secret_places import SECRET_EVERYWHERE, SECRET_IN_HOME, SECRET_PLACES
from angelia.core.startup_files import STARTUP_EVERYWHERE, STARTUP_IN_HOME, STARTUP_OF_THE_SYSTEM
from angelia.policy.shell.words import GLOB, HOLE

# Patterns are compiled (and kept, by `re`) when they are first used: 8 ms that no start should pay.
_PROC_ROOT = r"^/proc/(?:self|thread-self|\d+)(?:/task/\d+)?/root(?=/|$)"

_BENEATH_A_HOME = r"^/(?:home/[^/]+|users/[^/]+|root|var/root|var/lib/[^/]+)/"
"""Homes as they are laid out on Linux and macOS; for any other, `seen_from_home` says where a path lies."""


def _places(places: Iterable[str]) -> str:
    """An alternation of these places, each with what lies in it."""
    return f"(?:{'|'.join(re.escape(place.casefold()) for place in places)})(?:/|$)"


def _by_kind(places: Mapping[str, str], before: str) -> Iterator[tuple[str, str]]:
    named = {place: kind for place, kind in places.items() if place != ".ssh"}
    for kind in dict.fromkeys(named.values()):
        yield before + _places(place for place in named if named[place] == kind), kind


_SECRET: tuple[tuple[str, str], ...] = (
    # Of `.ssh` what is no secret may be read: whom it knows, what it is set to, public keys.
    (r"/\.ssh/(?!known_hosts|[^/]*\.pub$|config$|authorized_keys$).", "SSH keys"),
    (r"/\.ssh$|/\.ssh/$", "SSH keys"),
    (r"/id_(?:rsa|dsa|ecdsa|ed25519|xmss)(?:[._-](?!pub$)[^/]*)?$|/id_[a-z0-9_-]+$", "a private key"),
    (r"\.(?:pem|key|p12|pfx|jks|keystore|ppk|kdbx)$", "a private key"),
    (r"/ssh_host_[a-z0-9]+_key$", "a private key"),
    (r"/\.env(?:\.(?!example$|sample$|template$|dist$|defaults$)[^/]*)?$|/[^/]*[^/.]\.env$|/\.envrc$", "secrets"),
    (r"/[._]netrc(?:\.gpg)?$", "passwords"),
    (r"/\.htpasswd$", "credentials"),
    (r"/\.docker$", "registry credentials"),
    (r"/gcloud(?:/|$)|/application_default_credentials\.json$", "cloud credentials"),
    (r"/keyrings(?:/|$)|/kwalletd?(?:/|$)|\.keychain(?:-db)?$", "a keychain"),
    (r"/firefox/profiles(?:/|$)|/user data/(?:default|profile [0-9]+|local state)(?:/|$)", "a browser profile"),
    (r"/\.config/google-chrome[^/]*(?:/|$)", "a browser profile"),
    (r"/\.[a-z0-9]*_?history$|/fish_history$|/\.lesshst$|/\.viminfo$", "a history of commands"),
    (r"^/etc/(?:shadow|gshadow|sudoers|master\.passwd)(?:-|$|\.d)|^/proc/[^/]+/(?:environ|mem)$", "system secrets"),
    (r"^/(?:var/)?run/secrets(?:/|$)", "secrets"),
    *_by_kind(SECRET_EVERYWHERE, "/"),
    *_by_kind(SECRET_IN_HOME, _BENEATH_A_HOME),
)

_STARTUP = (
    f"/{_places(STARTUP_EVERYWHERE)}|{_BENEATH_A_HOME}{_places(STARTUP_IN_HOME)}"
    f"|^(?:{'|'.join(re.escape(place.casefold()) for place in STARTUP_OF_THE_SYSTEM)})"
    r"|/\.git/(?:modules/.+/)?(?:hooks(?:/|$)|config(?:\.worktree)?$|info/attributes$)|/\.git$"
)

_ANY = "|".join(f"(?:{pattern})" for pattern, _ in _SECRET)
"""Most paths hold no secret: one search says so."""

_LIKELY = tuple(
    dict.fromkeys(
        (
            *(part.casefold() for place in SECRET_PLACES for part in place.split("/")),
            *(".env", ".bash_history", ".zsh_history", "id_rsa", "id_ed25519", "id_ecdsa", "shadow", "sudoers"),
            *("environ", "gcloud", "credentials", "config.json", "server.key", "server.pem"),
        )
    )
)
"""Names that a wildcard is tried against."""


def folded(path: str) -> str:
    """A path as the most forgiving file system would read it: one case, one normal form, no trailing dots or blanks.

    >>> folded("/proc/self/root/Home//u/.SSH. /id_rsa")
    '/home/u/.ssh/id_rsa'
    """
    plain = unicodedata.normalize("NFKC", path).casefold()
    parts = [part if part in {".", ".."} else part.rstrip(". ") or part for part in plain.split("/")]
    clean = "/" + posixpath.normpath("/".join(parts)).lstrip("/") if plain.startswith("/") else "/".join(parts)
    while (cut := re.sub(_PROC_ROOT, "", clean)) != clean:
        clean = cut or "/"
    return clean


def secret_kind(path: str) -> str:
    """What secrets a path holds, by its name ("SSH keys", …); empty when none are known.

    >>> secret_kind("/w/.env"), secret_kind("/w/.env.example")
    ('secrets', '')
    """
    clean = folded(path if path.startswith("/") else "/" + path)
    if not re.search(_ANY, clean):
        return ""
    return next((label for pattern, label in _SECRET if re.search(pattern, clean)), "")


def decides_what_runs(path: str) -> bool:
    """Whether a change at this path changes what runs later: shell start-up files, timers, Git hooks.

    >>> decides_what_runs("/w/.git/hooks/pre-commit")
    True
    """
    return bool(re.search(_STARTUP, folded(path if path.startswith("/") else "/" + path)))


def seen_from_home(path: str, home: str) -> str:
    """`path`, as it would be called if `home` lay where homes usually lie; other paths as they are.

    >>> seen_from_home("/srv/people/ann/.fly/config.yml", "/srv/people/ann")
    '/home/~/.fly/config.yml'
    """
    inner, outer = folded(path), folded(home).rstrip("/")
    return f"/home/~{inner[len(outer) :]}" if outer and inner.startswith(f"{outer}/") else path


def secret_by_wildcard(path: str) -> str:
    """What secrets a path with wildcards or unknown pieces could hold; it needs some literal letters to be taken so."""
    if HOLE not in path and GLOB not in path:
        return secret_kind(path)
    parts = folded(path).split("/")
    for at, part in enumerate(parts):
        if GLOB not in part or len(part.strip(GLOB + HOLE)) < (1 if part.startswith(".") else 2):
            continue
        shape = part.replace(GLOB, "*").replace(HOLE, "*")
        for name in fnmatch.filter(_LIKELY, shape):
            if kind := secret_kind("/".join([*parts[:at], name, *parts[at + 1 :]])):
                return kind
    return secret_kind(path.replace(GLOB, "x").replace(HOLE, "x"))
