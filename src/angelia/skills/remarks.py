"""What a person should know of a skill before they say yes, besides its words: who hides what, and what it looks like.

These are marks for the eye. None of them refuses anything, and a skill without any can still be malicious: what holds
is that nothing of it is used before it was read, and that its commands are judged like any other.
"""

import difflib
import re
import unicodedata
from collections.abc import Iterable, Iterator

from angelia.core.counts import counted
from angelia.core.visible import visible
from angelia.skills.folder import SkillFile
from angelia.skills.skill import Skill

_ALIKE = 0.84
"""From here on two names are taken for one at a glance (`difflib`): `pdf-tools` and `pdf-tool5`."""

_SHELL = r"\|\s*(?:sudo\s+)?(?:(?:ba|z|da|k)?sh|python[0-9.]*|node|perl|ruby|iex)\b"
_SIGNS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (
            (
                rf"\b(?:curl|wget|fetch|iwr|invoke-webrequest)\b[^\n]*{_SHELL}"
                r"|\b(?:bash|sh|source|eval)\s[^\n]*(?:<\(|\$\(|`)\s*(?:curl|wget)\b"
            ),
            "downloads something and runs it unseen",
        ),
        (
            rf"base64\s+(?:-d|--decode)\b[^\n]*{_SHELL}|\beval\b[^\n]*base64|-enc(?:odedcommand)?\s+[a-z0-9+/=]{{20,}}",
            "runs what is written so that nobody can read it",
        ),
        (
            r"com\.apple\.quarantine|set-executionpolicy\s+(?:bypass|unrestricted)|\bchmod\s+\+x\b[^\n]*&&",
            "has a protection taken away, or makes something a program and runs it",
        ),
        (
            r"(?:zip|7z|rar|archive)\b[^\n]{0,80}\bpassword\b|\bpassword\b[^\n]{0,80}\.(?:zip|7z|rar)\b",
            "names an archive with a password, which no scanner looks into",
        ),
        (
            r"~/\.(?:ssh|aws|gnupg|netrc|config/gh)\b|\bid_(?:rsa|ed25519)\b|login\.keychain",
            "names places where keys lie",
        ),
        (
            r"\b(?:spawn|launch|start|create)\b[^\n]{0,40}\b(?:sub-?)?(?:agents?|sessions?)\b",
            "wants further agents started",
        ),
        (
            r"\b(?:ignore|disregard|forget)\b[^\n]{0,30}\b(?:previous|above|prior|earlier|all)\b[^\n]{0,30}instruction",
            "wants other instructions ignored",
        ),
        (
            (
                r"\b(?:do not|don't|never)\b[^\n]{0,20}\b(?:tell|mention|inform|show|ask)\b[^\n]{0,20}"
                r"\b(?:user|person|human)"
            ),
            "wants something kept from you",
        ),
    )
)
"""What published malicious skills had in common (prerequisites that download and run, archives with a password, orders
to start agents), line by line."""


def remarks_on(skill: Skill, others: Iterable[Skill]) -> list[str]:
    """Sentences for a person; `others` are the skills that there are besides."""
    return [*_about_name(skill, others), *(one for file in skill.content.files for one in _about_file(file))]


def _about_name(skill: Skill, others: Iterable[Skill]) -> Iterator[str]:
    if odd := sorted({one for one in skill.name if not one.isascii()}):
        named = ", ".join(f"{one} ({unicodedata.name(one, 'a letter without a name').lower()})" for one in odd)
        yield f"Its name has letters that may look like others: {named}."
    for other in others:
        if other.path == skill.path or not other.name or not skill.name:
            continue
        if _label(other.name) == _label(skill.name):
            yield f"There is another skill of this name: {other.path}."
        elif difflib.SequenceMatcher(None, _plain(other.name), _plain(skill.name)).ratio() >= _ALIKE:
            yield f"Its name is like that of another skill, {other.name}: {other.path}."


def _label(name: str) -> str:
    """A name without the server that serves it, and where there: what a person takes a skill for."""
    return re.split("[:/]", name)[-1]


def _plain(name: str) -> str:
    """A name as it looks: without hyphens and accents, signs that are taken for each other made one."""
    bare = "".join(one for one in unicodedata.normalize("NFKD", _label(name)) if not unicodedata.combining(one))
    return bare.replace("-", "").translate(str.maketrans("015", "ols"))


def _about_file(file: SkillFile) -> Iterator[str]:
    text = file.text
    if text is None:
        yield f"{file.path} is no text ({len(file.data):,} bytes): what is in it cannot be shown."
        return
    if hidden := sum(visible(one) != one for one in text.replace("\r\n", "\n")):
        yield f"{file.path} holds {counted(hidden, 'character')} that cannot be seen, shown as signs. Look at it well."
    for number, line in enumerate(text.split("\n"), 1):
        for sign, words in _SIGNS:
            if sign.search(line[:2_000]):
                yield f"{file.path}:{number} {words}."
                break
