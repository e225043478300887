"""The rules of the standard for a skill's front matter (https://agentskills.io/specification, "Frontmatter")."""

import unicodedata
from collections.abc import Iterator

from angelia.skills.finding import SkillFinding
from angelia.skills.front_matter import FrontMatter, Node

MOST_NAME, MOST_DESCRIPTION, MOST_COMPATIBILITY = 64, 1024, 500
"""Characters."""

FIELDS = frozenset({"name", "description", "license", "allowed-tools", "metadata", "compatibility"})


def held_to_standard(front: FrontMatter, file: str, folder: str) -> list[SkillFinding]:
    """What breaks the standard, in order of the lines; `folder` is the name of the skill's folder.

    A field that the standard does not know is told and not taken, and refuses nothing: many programs have their own.
    """
    found = [
        *(SkillFinding(file, front.lines.get("name", 1), text) for text in _name(front.fields.get("name"), folder)),
        *(SkillFinding(file, _line(front, "description"), text) for text in _description(front)),
        *(SkillFinding(file, _line(front, "compatibility"), text) for text in _compatibility(front)),
        *(
            SkillFinding(file, front.lines[field], f"`{field}` is no field of the standard, and is not taken", False)
            for field in front.fields
            if field not in FIELDS
        ),
    ]
    return sorted(found, key=lambda one: one.line)


def skill_name(front: FrontMatter) -> str:
    """The name as it is compared: without blanks around it, in Unicode's form NFKC; empty where there is none."""
    name = front.fields.get("name")
    return unicodedata.normalize("NFKC", name.strip()) if isinstance(name, str) else ""


def allowed_tools(front: FrontMatter) -> tuple[str, ...]:
    """The tools that a skill wants to work with, as they are written; empty where it does not say.

    A list, or words with blanks or commas between them; what stands in brackets is one word: `Bash(git diff:*)`.
    """
    given = front.fields.get("allowed-tools")
    if isinstance(given, list):
        return tuple(one.strip() for one in given if isinstance(one, str) and one.strip())
    if not isinstance(given, str):
        return ()
    words, word, depth = [], "", 0
    for mark in f"{given} ":
        depth += {"(": 1, ")": -1}.get(mark, 0)
        if (mark.isspace() or mark == ",") and depth <= 0:
            words.append(word)
            word = ""
        else:
            word += mark
    return tuple(one for one in [*words, word.strip()] if one)


def _line(front: FrontMatter, field: str) -> int:
    return front.lines.get(field, 1)


def _name(given: Node | None, folder: str) -> Iterator[str]:
    if given is None:
        yield "there is no `name`"
        return
    if not isinstance(given, str) or not given.strip():
        yield "`name` is no text"
        return
    name = unicodedata.normalize("NFKC", given.strip())
    if len(name) > MOST_NAME:
        yield f"the name has {len(name)} characters, of at most {MOST_NAME}"
    if name != name.lower():
        yield f"the name {name!r} has capital letters"
    if name.startswith("-") or name.endswith("-") or "--" in name:
        yield f"the name {name!r} begins or ends with a hyphen, or has two in a row"
    if wrong := sorted({one for one in name if not one.isalnum() and one != "-"}):
        yield f"the name has {', '.join(map(_named, wrong))}: letters, digits and hyphens are taken"
    if unicodedata.normalize("NFKC", folder) != name:
        yield f"the name is {name!r}, and the folder is called {folder!r}: both are to be the same"


def _named(mark: str) -> str:
    return repr(mark) if mark.isprintable() else f"U+{ord(mark):04X}"


def _description(front: FrontMatter) -> Iterator[str]:
    given = front.fields.get("description")
    if given is None:
        yield "there is no `description`"
    elif not isinstance(given, str) or not given.strip():
        yield "`description` is no text"
    elif len(given) > MOST_DESCRIPTION:
        yield f"the description has {len(given):,} characters, of at most {MOST_DESCRIPTION:,}"


def _compatibility(front: FrontMatter) -> Iterator[str]:
    given = front.fields.get("compatibility")
    if given is None:
        return
    if not isinstance(given, str):
        yield "`compatibility` is no text"
    elif len(given) > MOST_COMPATIBILITY:
        yield f"`compatibility` has {len(given)} characters, of at most {MOST_COMPATIBILITY}"
