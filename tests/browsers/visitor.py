"""What a model does on a page that reads what it is shown, and acts on what has the name it looks for."""

import re

from angelia.testing.tools.harness import ToolHarness
from angelia.tools.browser.act_on_page import Step


class Visitor:
    """`seen` is what was shown last."""

    def __init__(self, tools: ToolHarness) -> None:
        self.tools = tools
        self.seen = ""

    async def open(self, url: str) -> None:
        """Go there."""
        await self.tools.run("browser_open", url=url)
        await self.look()

    async def act(self, *steps: tuple[str, str, str]) -> str:
        """Steps by what they do, what the element is shown as, and text; what is said of them and of what is new."""
        made = [Step(do, self.ref(shown) if shown else "", text) for do, shown, text in steps]  # type: ignore[arg-type] # a word of its
        return await self.do(*made)

    async def do(self, *steps: Step) -> str:
        """What is said of these steps, all of which are done."""
        said = await self.tools.said("browser_act", steps=steps)
        await self.look()
        return said

    async def look(self) -> None:
        """See what is there now."""
        self.seen = await self.tools.said("browser_look")

    def ref(self, shown: str) -> str:
        """The reference of what is shown like this, the last part of its name left out or not."""
        found = re.findall(rf"^{re.escape(shown)}[^\[\n]* \[(\w+)\]", self.seen, re.MULTILINE)
        assert found, f"{shown} is not there: {self.seen}"
        return str(found[0])
