"""Another agent works behind the same walls as commands do."""

import shutil
from pathlib import Path

import pytest

from angelia.core.principal import OWNER
from angelia.testing.workers import scripted
from tests.delegation.family import until
from tests.workers.employed import Script, employed, ended

pytestmark = [pytest.mark.anyio, pytest.mark.real("bwrap")]


async def test_what_lies_outside_of_the_workspace_stays_as_it_is(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("x\n")
    (tmp_path / "workspace").mkdir()
    shutil.copy(scripted.__file__, tmp_path / "workspace" / "agent.py")
    line = 'helpers.inside.command=["/usr/bin/python3", "-S", "agent.py", ".coder.json"]'
    steps: Script = [["touch", "inside"], ["touch", str(outside)], ["say", "Done."], ["end", "end_turn"]]
    async with employed(tmp_path, steps, sets=(line, 'helpers.inside.reach="confined"'), helper="inside") as talk:
        await ended(talk)
    assert outside.read_text() == "x\n"
    assert (tmp_path / "workspace" / "inside").read_text() == "x\n"


async def test_before_it_reaches_hosts_their_names_stand_beside_the_question(tmp_path: Path) -> None:
    more = 'helpers.online.command=["/usr/bin/python3", "-S", "agent.py"]'
    sets = (more, 'helpers.online.reach="network"', 'helpers.online.hosts=["models.example"]')
    async with employed(tmp_path, [], sets=sets, helper="online") as talk:
        await until(talk, lambda: bool(talk.session.questions()))
        (asked,) = talk.session.questions()
        assert "models.example" in asked.why
        await talk.session.refuse(asked, by=OWNER)
        await ended(talk)
