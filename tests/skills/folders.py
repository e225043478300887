"""Folders of skills for tests."""

from pathlib import Path

SKILL = "---\nname: {name}\ndescription: {description}\n---\n{body}\n"


def write_skill(
    base: Path,
    name: str = "tea",
    *,
    description: str = "Makes tea. Use when somebody is thirsty.",
    body: str = "Boil water; the secret word is PLUM.",
    more: str = "",
    files: dict[str, str] | None = None,
) -> Path:
    """A skill in the folder `name` of `base`; `more` are further lines of its front matter."""
    folder = base / name
    folder.mkdir(parents=True, exist_ok=True)
    head = f"{description}\n{more}".rstrip()
    (folder / "SKILL.md").write_text(SKILL.format(name=name, description=head, body=body))
    for path, text in (files or {}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
        if path.startswith("scripts/"):
            (folder / path).chmod(0o755)
    return folder
