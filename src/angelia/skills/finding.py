"""What is wrong with a skill, or worth a word, and on which line."""

from msgspec import Struct


class SkillFinding(Struct, frozen=True):
    """One finding. `file` is relative to the skill's folder, empty for the folder itself; `line` counts from 1, 0 for
    the file as a whole. `refuses`: with this the skill is not used; anything else is only told.
    """

    file: str
    line: int
    text: str
    refuses: bool = True

    def in_words(self) -> str:
        """As compilers write it, so that an editor can jump there.

        >>> SkillFinding("SKILL.md", 2, "the name is too long").in_words()
        'SKILL.md:2: the name is too long'
        """
        place = f"{self.file}:{self.line}" if self.line else self.file
        words = self.text if self.refuses else f"{self.text} (told only)"
        return f"{place}: {words}" if place else words
