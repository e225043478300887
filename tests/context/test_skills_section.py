"""What the prompt says of skills: a line each of a bounded length, as many as fit, and how many did not."""

import pytest
from msgspec.structs import replace

from angelia.context.prompt.facts import OfferedSkill, OfferedSkills, PromptFacts
from angelia.context.prompt.skills import MOST_TOKENS, SkillsSection
from angelia.context.prompt.system_prompt import SMALL, system_prompt
from angelia.context.tokens import text_tokens

FACTS = PromptFacts("/w", "Linux", "2026-11-23", "off")


def section(count: int, description: str = "Makes tea.", unused: int = 0) -> str:
    listed = tuple(OfferedSkill(f"tea-{number:03}", description) for number in range(count))
    return SkillsSection().text(replace(FACTS, skills=OfferedSkills(listed, unused)))


@pytest.mark.parametrize("description", ["Makes tea. " * 100, "茶" * 1_024, "x" * 1_024, "\U0001f375" * 500])
def test_a_skill_takes_sixty_tokens_at_most_and_a_cut_is_seen(description: str) -> None:
    [line] = section(1, description).splitlines()[1:]
    assert line.startswith("- tea-000: ")
    assert line.endswith("…")
    assert text_tokens(line) <= MOST_TOKENS


def test_what_does_not_fit_is_counted_and_the_whole_keeps_its_budget() -> None:
    lines = section(200, "Makes tea. " * 100, unused=3).splitlines()
    shown = [line for line in lines if line.startswith("- ")]
    assert lines[-1].startswith(f"{200 - len(shown)} more do not fit here and 3 that were not used for 60 days")
    assert 30 < len(shown) < 60
    prompt = system_prompt(
        replace(FACTS, skills=OfferedSkills(tuple(OfferedSkill(f"t{n}", "x" * 900) for n in range(200))))
    )
    assert prompt.cuts == ()
    assert text_tokens("\n".join(lines)) <= SkillsSection().budget.tokens


def test_where_there_is_none_nothing_is_said_and_the_embedded_model_is_told_of_none() -> None:
    assert section(0) == ""
    assert "3 that were not used" in section(0, unused=3)
    facts = replace(FACTS, skills=OfferedSkills((OfferedSkill("tea", "Makes tea."),)))
    assert "tea" in system_prompt(facts).text
    assert "tea" not in system_prompt(facts, sections=SMALL).text


def test_nothing_of_a_description_is_hidden_from_who_reads_the_prompt() -> None:
    assert "<U+200B>" in section(1, "Makes\u200b tea.")
