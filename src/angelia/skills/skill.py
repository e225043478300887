"""One skill as it lies there now: its files, what its front matter says, and what is wrong with it."""

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from angelia.core.visible import visible
from angelia.skills.finding import SkillFinding
from angelia.skills.folder import NAMES, SkillContent, SkillFile, read_folder
from angelia.skills.front_matter import BadFrontMatter, FrontMatter, read_front_matter
from angelia.skills.standard import allowed_tools, held_to_standard, skill_name

_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)")
_FENCE = re.compile(r"^\s{0,3}(```|~~~)")
_ELSEWHERE = re.compile(r"^(?:[a-zA-Z][a-zA-Z0-9+.-]*:|//|#)")


class Skill(Struct, frozen=True):
    """A skill at `path`, the absolute folder. `name` and `description` are as the file gives them, the name as it is
    compared; both empty where they cannot be read. `allowed` are the tools it wants to work with, empty for any.
    """

    path: str
    name: str
    description: str
    allowed: tuple[str, ...]
    content: SkillContent
    digest: str
    findings: tuple[SkillFinding, ...]

    @property
    def usable(self) -> bool:
        """Whether nothing in it refuses it."""
        return not any(one.refuses for one in self.findings)

    @property
    def called(self) -> str:
        """Its name for people, also where it has none that can be read."""
        return self.name or Path(self.path).name


def read_skill(folder: Path) -> Skill:
    """The skill in this folder, whatever is wrong with it."""
    content, findings = read_folder(folder)
    return made_skill(str(folder), folder.name, content, findings)


def made_skill(path: str, folder: str, content: SkillContent, findings: Sequence[SkillFinding] = ()) -> Skill:
    """The skill that these files are, in a folder of this name at `path`; `findings` are about the files themselves."""
    front, more = _front(content, folder)
    described = front.fields.get("description", "") if front else ""
    return Skill(
        path,
        skill_name(front) if front else "",
        " ".join(described.split()) if isinstance(described, str) else "",
        allowed_tools(front) if front else (),
        content,
        content.digest,
        (*findings, *more),
    )


def body_of(skill: Skill) -> str:
    """What the file says after its front matter, with a sign for what is not seen."""
    text = skill.content.instructions.text or ""
    return visible(read_front_matter(text).body.replace("\r\n", "\n")).strip()


def _front(content: SkillContent, folder: str) -> tuple[FrontMatter | None, list[SkillFinding]]:
    if not any(one.path in NAMES for one in content.files):
        return None, []
    file = content.instructions
    if file.text is None:
        return None, [SkillFinding(file.path, *_not_text(file))]
    try:
        front = read_front_matter(file.text)
    except BadFrontMatter as fault:
        return None, [SkillFinding(file.path, fault.line, fault.text)]
    return front, [*held_to_standard(front, file.path, folder), *_links(front, file.path, content)]


def _not_text(file: SkillFile) -> tuple[int, str]:
    try:
        file.data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = file.data.count(b"\n", 0, error.start) + 1
        return line, f"it is not UTF-8: byte {error.start + 1} is 0x{file.data[error.start]:02x}"
    return file.data.count(b"\n", 0, file.data.index(b"\0")) + 1, "it holds a NUL character"


def _links(front: FrontMatter, file: str, content: SkillContent) -> list[SkillFinding]:
    """Links to files that the skill does not bring: told, since they may be examples."""
    there = {one.path for one in content.files}
    folders = {path[:at] for path in there for at, mark in enumerate(path) if mark == "/"}
    found, code = [], False
    for number, line in enumerate(front.body.split("\n"), front.body_line):
        if _FENCE.match(line):
            code = not code
        for target in () if code else _LINK.findall(line):
            path = target.partition("#")[0].removeprefix("./").rstrip("/")
            if not path or _ELSEWHERE.match(target) or path in there or path in folders:
                continue
            out = path.startswith(("/", "~")) or ".." in path.split("/")
            why = "leads out of the skill's folder, and is not given" if out else "is not there"
            found.append(SkillFinding(file, number, f"`{target[:80]}` {why}", False))
    return found
