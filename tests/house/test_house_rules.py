"""The house keeps its rules, and each rule can be broken.

A rule that fires says what to do. To bend one, list the name with its reason at the rule.
"""

from functools import cache

import pytest

from tests.house import boundaries, shapes, stored
from tests.house.sources import Rule, covers, source, sources

RULES = [*shapes.RULES, *boundaries.RULES, *stored.RULES]


@cache
def breaks(rule: str) -> list[tuple[str, str]]:
    """What breaks a rule in the whole project, exceptions and all; looked for once."""
    (wanted,) = [one for one in RULES if one.name == rule]
    return [found for one in sources(*wanted.over) for found in wanted.broken(one)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_house_keeps_the_rule_that(rule: Rule) -> None:
    broken = [shown for name, shown in breaks(rule.name) if not rule.excepts(name)]
    if broken:
        pytest.fail(f"{len(broken)} times not so: {rule.name}.\n" + "\n".join(broken) + f"\n{rule.then}", pytrace=False)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_file_that_breaks_the_rule_is_found_where(rule: Rule) -> None:
    assert rule.found(source(*rule.example))
    assert rule.example[0].startswith(rule.over)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_exception_is_still_needed_where(rule: Rule) -> None:
    """An exception that nobody needs any more is taken off its list; what holds for a folder may stay."""
    names = [name for name, _ in breaks(rule.name)]
    idle = [
        listed
        for listed in rule.excepted
        if not listed.endswith("/") and not any(covers(listed, name) for name in names)
    ]
    assert not idle, f"Take off the list: {idle}"
