"""Roles and names as Chromium tells them to those who do not see, beside those that a model reads."""

from collections.abc import Sequence

from angelia.browsers.chromium.tab import Tab
from angelia.browsers.snapshot import PageLine

ROLES = {"Canvas": "canvas", "image": "img", "Date": "textbox", "InputTime": "textbox", "generic": "textbox"}
"""What Chromium calls what we call otherwise; generic is a text that can be written into."""
COMPARED = {"button", "checkbox", "combobox", "link", "listbox", "menuitem", "radio", "searchbox", "slider"} | {
    "spinbutton",
    "tab",
    "textbox",
}


async def differing(tab: Tab, lines: Sequence[PageLine]) -> list[str]:
    """What Chromium's own accessibility tree calls otherwise than we do."""
    nodes = (await tab._call("Accessibility.getFullAXTree"))["nodes"]
    known = {one["backendDOMNodeId"]: one for one in nodes if not one.get("ignored") and "backendDOMNodeId" in one}
    differ = []
    for line in lines:
        asked = {"expression": f"angeliaPage.element('{line.ref}')", "contextId": tab.frames.page.world}
        element = (await tab._call("Runtime.evaluate", asked))["result"]["objectId"]
        node = (await tab._call("DOM.describeNode", {"objectId": element}))["node"]["backendNodeId"]
        if node not in known or line.role not in COMPARED:
            continue  # it is hidden from who does not see, as arrows of spinners are, or has no role there
        role = str(known[node]["role"]["value"])
        name = " ".join(str(known[node].get("name", {}).get("value", "")).split())
        if ROLES.get(role, role) != line.role or name[:190] != line.name[:190]:
            differ.append(f"{line.shown()}, and there {role} {name!r}")
    return differ
