"""Which paths hold secrets, and which decide what runs later, by their names alone."""

import fnmatch
import posixpath
import re
import unicodedata

from angelia.policy.shell_word import GLOB, HOLE

# Patterns are compiled (and kept, by `re`) when they are first used: 8 ms that no start should pay.
_PROC_ROOT = r"^/proc/(?:self|thread-self|\d+)(?:/task/\d+)?/root(?=/|$)"

_SECRET: tuple[tuple[str, str], ...] = (
    (r"/\.ssh/(?!known_hosts|[^/]*\.pub$|config$|authorized_keys$).", "SSH keys"),
    (r"/\.ssh$|/\.ssh/$", "SSH keys"),
    (r"/id_(?:rsa|dsa|ecdsa|ed25519|xmss)(?:[._-](?!pub$)[^/]*)?$|/id_[a-z0-9_-]+$", "a private key"),
    (r"\.(?:pem|key|p12|pfx|jks|keystore|ppk|kdbx)$", "a private key"),
    (r"/ssh_host_[a-z0-9]+_key$", "a private key"),
    (r"/\.env(?:\.(?!example$|sample$|template$|dist$|defaults$)[^/]*)?$|/[^/]*[^/.]\.env$|/\.envrc$", "secrets"),
    (r"/[._]netrc(?:\.gpg)?$", "passwords"),
    (r"/\.(?:npmrc|pypirc|pgpass|my\.cnf|git-credentials|vault-token|htpasswd|s3cfg|boto|dockercfg|terraformrc)$",
     "credentials"),
    (r"/\.(?:aws|azure|gnupg|password-store|oci)(?:/|$)", "credentials"),
    (r"/\.kube/(?:config|cache)|/\.kube$", "cluster credentials"),
    (r"/\.docker/config\.json$|/\.docker$", "registry credentials"),
    (r"/\.cargo/credentials(?:\.toml)?$|/\.gem/credentials$|/\.m2/settings\.xml$|/\.gradle/gradle\.properties$",
     "registry credentials"),
    (r"/gcloud(?:/|$)|/application_default_credentials\.json$", "cloud credentials"),
    (r"/\.config/(?:gh|hub|op|rclone|doctl|heroku)(?:/|$)", "credentials"),
    (r"/library/keychains(?:/|$)|/keyrings(?:/|$)|/kwalletd?(?:/|$)|\.keychain(?:-db)?$", "a keychain"),
    (r"/\.mozilla(?:/|$)|/\.thunderbird(?:/|$)|/firefox/profiles(?:/|$)", "a browser profile"),
    (r"/user data/(?:default|profile [0-9]+|local state)(?:/|$)", "a browser profile"),
    (r"/\.config/(?:google-chrome[^/]*|chromium|bravesoftware|microsoft-edge|vivaldi|opera)(?:/|$)",
     "a browser profile"),
    (r"/library/application support/(?:google/chrome|chromium|firefox|bravesoftware)(?:/|$)", "a browser profile"),
    (r"/\.[a-z0-9]*_?history$|/fish_history$|/\.lesshst$|/\.viminfo$", "a history of commands"),
    (r"^/etc/(?:shadow|gshadow|sudoers|master\.passwd)(?:-|$|\.d)|^/proc/[^/]+/(?:environ|mem)$", "system secrets"),
    (r"^/(?:var/)?run/secrets(?:/|$)", "secrets"),
)  # fmt: skip

_STARTUP = (
    r"/\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zprofile|zshenv|zlogin|kshrc|cshrc"
    r"|tcshrc|inputrc|xprofile|xinitrc|xsessionrc|pam_environment|gitconfig|vimrc|envrc)$"
    r"|/\.config/(?:fish|autostart|systemd|git|nvim)(?:/|$)|/\.ssh/(?:authorized_keys2?|config|rc|environment)$"
    r"|/launch(?:agents|daemons)(?:/|$)|^/etc/(?:cron|profile|rc|init|systemd|ld\.so|environment|bash|zsh|xdg|anacrontab)"
    r"|^/var/spool/cron|^/(?:usr/)?lib/systemd"
    r"|/\.git/(?:modules/.+/)?(?:hooks(?:/|$)|config(?:\.worktree)?$|info/attributes$)|/\.git$"
)

_ANY = "|".join(f"(?:{pattern})" for pattern, _ in _SECRET)
"""Most paths hold no secret: one search says so."""

_LIKELY = (
    ".ssh", ".aws", ".gnupg", ".azure", ".kube", ".docker", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".env",
    ".git-credentials", ".bash_history", ".zsh_history", ".mozilla", ".config", ".password-store", "id_rsa",
    "id_ed25519", "id_ecdsa", "shadow", "sudoers", "environ", "gcloud", "credentials", "config.json",
    "server.key", "server.pem",
)  # fmt: skip
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
