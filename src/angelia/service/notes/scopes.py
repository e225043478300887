"""Where a conversation's notes hold: with its person, in its project, in its chat; in a group in that chat alone."""

from pathlib import Path

from angelia.core import entry as e
from angelia.core.entry import NoteScope
from angelia.path_queries import beginning_of, is_file
from angelia.service.conversation.session import Session
from angelia.service.files.instruction_files import repository_of
from angelia.store.tables.notes import Holds

_LARGEST_CONFIG = 1_000_000
"""Bytes of a repository's settings that are looked through for an address."""


def scopes_of(session: Session, home: Path) -> tuple[Holds, ...]:
    """The scopes whose notes a conversation may see and add to, in the order in which they are shown."""
    address = chat_of(session)
    chat = (Holds(NoteScope.CHAT, f"{address.door}:{address.chat}", session.owner),) if address.chat else ()
    if answers_in_group(session):
        return chat
    person = Holds(NoteScope.PERSON, "", session.owner)
    return (person, Holds(NoteScope.PROJECT, project_of(session, home), session.owner), *chat)


def chat_of(session: Session) -> e.Address:
    """Where a conversation was begun; without a chat where its door has none, or nothing was said yet."""
    first = _first(session)
    return first.address if first else e.Address("")


def answers_in_group(session: Session) -> bool:
    """Whether others read along: only what is said in a group names the message that is answered."""
    first, opener = _first(session), session.turn.opener
    return bool((first and first.reply_to) or (opener and opener.reply_to))


def _first(session: Session) -> e.Opening | None:
    return next((entry.fact for entry in session.log.entries if isinstance(entry.fact, e.Opening)), None)


def project_of(session: Session, home: Path) -> str:
    """How a conversation's project is known: by the address of its Git origin, else by where it lies."""
    if session.sandbox != "local":
        return f"{session.sandbox} {session.workspace}"
    root = repository_of(Path(session.workspace), home)
    return git_origin(root) or str(root)


def git_origin(root: Path) -> str:
    """The address of the remote `origin` of the repository at `root`; empty where there is none.

    What a work tree of its own has of the repository lies behind two files (gitrepository-layout(5), `commondir`).
    """
    folder = root / ".git"
    if is_file(folder):
        folder = root / _text_of(folder).partition("gitdir:")[2].strip()
        folder /= _text_of(folder / "commondir").strip()
    lines = _text_of(folder / "config").splitlines()
    section = ""
    for line in map(str.strip, lines):
        name, equals, value = line.partition("=")
        if line.startswith("["):
            section = line
        elif section == '[remote "origin"]' and equals and name.strip() == "url":
            return same_address(value.strip())
    return ""


def _text_of(path: Path) -> str:
    return beginning_of(path, _LARGEST_CONFIG).decode("utf-8", "replace")


def same_address(url: str) -> str:
    """One text for the ways in which the same repository is addressed, without a name or a key that stands in it.

    >>> same_address("git@github.com:me/garden.git"), same_address("https://me:key@github.com/me/garden/")
    ('github.com/me/garden', 'github.com/me/garden')
    """
    _, slashes, rest = url.partition("://")
    rest = rest if slashes else url.replace(":", "/", 1)
    host, slash, path = rest.partition("/")
    return f"{host.rpartition('@')[2].lower()}{slash}{path.rstrip('/').removesuffix('.git')}"
