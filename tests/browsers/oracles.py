"""Who solves pages of MiniWoB++ by rule, with what a look says and the steps that a model has."""

import re
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise

from angelia.browsers.chromium.tab import Tab
from angelia.browsers.snapshot import PageLine

Oracle = Callable[[Tab, str], Awaitable[None]]
"""Solves the task of these words on a page that was opened."""


async def refs(tab: Tab, *roles: str, named: str = "") -> list[str]:
    """Of the elements in view that have one of these roles, and this name if one is given, in their order."""
    lines = [line for line in (await tab.look()).lines if line.ref and (not roles or line.role in roles)]
    return [line.ref for line in lines if not named or line.name.strip(" ,.").lower() == named.strip(" ,.").lower()]


async def words(tab: Tab) -> Sequence[PageLine]:
    """All that is in view below the task."""
    return (await tab.look()).lines[1:]


def quoted(task: str) -> list[str]:
    """What stands in quotation marks."""
    return re.findall(r'"([^"]*)"', task)


async def press(tab: Tab, *named: str) -> None:
    """Click on buttons by their names."""
    for one in named:
        await tab.click((await refs(tab, "button", named=one))[0])


async def click_button(tab: Tab, task: str) -> None:
    await press(tab, *quoted(task))


async def click_test(tab: Tab, _: str) -> None:
    await tab.click((await refs(tab, "button"))[0])


async def click_in_order(tab: Tab, task: str) -> None:
    await press(tab, *re.findall(r"\b(ONE|TWO)\b", task))


async def click_link(tab: Tab, task: str) -> None:
    await tab.click((await refs(tab, "span", "link", named=quoted(task)[0]))[0])


async def close_dialog(tab: Tab, _: str) -> None:
    await press(tab, "Close")


async def click_tab(tab: Tab, task: str) -> None:
    (number,) = re.findall(r"Tab #\d", task)
    await tab.click((await refs(tab, "tab", named=number))[0])


async def tick(tab: Tab, task: str) -> None:
    (wanted,) = re.findall(r"Select (.*) and click", task)
    for one in [] if wanted == "nothing" else wanted.split(", "):
        await tab.click((await refs(tab, "checkbox", "radio", named=one))[0])
    await press(tab, "Submit")


async def enter(tab: Tab, task: str) -> None:
    (text,) = quoted(task)
    if "upper case" in task or "lower case" in task:
        text = text.upper() if "upper case" in task else text.lower()
    await tab.fill((await refs(tab, "textbox"))[0], text)
    await press(tab, "Submit")


async def enter_twice(tab: Tab, task: str) -> None:
    for field in await refs(tab, "textbox"):
        await tab.fill(field, quoted(task)[0])
    await press(tab, "Submit")


async def enter_date(tab: Tab, task: str) -> None:
    ((month, day, year),) = re.findall(r"(\d\d)/(\d\d)/(\d{4})", task)
    await tab.fill((await refs(tab, "textbox"))[0], f"{year}-{month}-{day}")
    await press(tab, "Submit")


async def enter_time(tab: Tab, task: str) -> None:
    ((hour, minute, half),) = re.findall(r"(\d+):(\d\d) ([AP])M", task)
    await tab.fill((await refs(tab, "textbox"))[0], f"{int(hour) % 12 + (12 if half == 'P' else 0):02}:{minute}")
    await press(tab, "Submit")


async def focus(tab: Tab, task: str) -> None:
    number = re.findall(r"(\d)(?:st|nd|rd|th)", task)
    await tab.click((await refs(tab, "textbox"))[int(number[0]) - 1 if number else 0])


async def log_in(tab: Tab, task: str) -> None:
    for field, text in zip(await refs(tab, "textbox"), quoted(task), strict=True):
        await tab.fill(field, text)
    await press(tab, "Login")


async def choose(tab: Tab, task: str) -> None:
    (wanted,) = re.findall(r"Select (.*) from the list", task)
    await tab.choose((await refs(tab, "combobox"))[0], wanted)
    await press(tab, "Submit")


async def expand(tab: Tab, _: str) -> None:
    await tab.click((await refs(tab, "tab"))[0])
    await tab.wait_for("Submit", 10)
    await press(tab, "Submit")


async def spin(tab: Tab, task: str) -> None:
    (number,) = re.findall(r"Select (-?\d+) with", task)
    await tab.fill((await refs(tab, "spinbutton"))[0], number)
    await press(tab, "Submit")


async def read_table(tab: Tab, task: str) -> None:
    (label,) = re.findall(r"value of (.*) into", task)
    there = [line.text for line in await words(tab)]
    await tab.fill((await refs(tab, "textbox"))[0], there[there.index(label) + 1])
    await press(tab, "Submit")


async def add_up(tab: Tab, _: str) -> None:
    sums = (re.search(r"(\d+) ([+x-]) (\d+)", line.text) for line in await words(tab))
    left, sign, right = next(found for found in sums if found).groups()
    a, b = int(left), int(right)
    await tab.fill((await refs(tab, "textbox"))[0], str({"+": a + b, "-": a - b, "x": a * b}[sign]))
    await press(tab, "Submit")


async def copy(tab: Tab, _: str) -> None:
    script = "document.querySelector('textarea').value"
    (empty,) = [line.ref for line in (await tab.look()).lines if line.role == "textbox" and not line.state]
    await tab.fill(empty, await tab.frames.evaluate(tab.frames.page, script))
    await press(tab, "Submit")


async def click_in_dialog(tab: Tab, task: str) -> None:
    await press(tab, *["Close" if one == "x" else one for one in quoted(task)])


async def click_in_tabs(tab: Tab, task: str) -> None:
    for one in await refs(tab, "tab"):
        await tab.click(one)
        if found := await refs(tab, "span", named=quoted(task)[0]):
            await tab.click(found[0])
            return


async def enter_what_stands_there(tab: Tab, _: str) -> None:
    await tab.fill((await refs(tab, "textbox"))[0], (await words(tab))[0].text)
    await press(tab, "Submit")


async def enter_word(tab: Tab, task: str) -> None:
    (number,) = re.findall(r"the (\d+)\w\w word", task)
    word = (await words(tab))[0].text.split()[int(number) - 1]
    await tab.fill((await refs(tab, "textbox"))[0], word.strip(",."))
    await press(tab, "Submit")


async def read_table_twice(tab: Tab, _: str) -> None:
    there = await words(tab)
    for label, field in pairwise(there):
        if field.role == "textbox":
            row = [line.text for line in there].index(label.text.rstrip(":"))
            await tab.fill(field.ref, there[row + 1].text)
    await press(tab, "Submit")


async def tick_and_enter(tab: Tab, task: str) -> None:
    radio, field = (int(number) - 1 for number in re.findall(r"(\d)(?:st|nd|rd|th)", task))
    await tab.click((await refs(tab, "radio"))[radio])
    await tab.fill((await refs(tab, "textbox"))[field], quoted(task)[0])
    await press(tab, "Submit")


async def choose_and_press(tab: Tab, task: str) -> None:
    (wanted,) = re.findall(r"Choose (.*) from the dropdown", task)
    await tab.choose((await refs(tab, "combobox"))[0], wanted)
    await press(tab, *quoted(task))


async def drag_in(tab: Tab, _: str) -> None:
    small, large = (await refs(tab, "div", named="s"))[0], (await refs(tab, "div", named="L"))[0]
    await tab.drag(small, large)
    await press(tab, "Submit")


ORACLES: dict[str, Oracle] = {
    "click-button": click_button,
    "click-dialog-2": click_in_dialog,
    "click-tab-2": click_in_tabs,
    "click-tab-2-easy": click_in_tabs,
    "click-tab-2-hard": click_in_tabs,
    "click-tab-2-medium": click_in_tabs,
    "find-word": enter_word,
    "form-sequence-2": tick_and_enter,
    "form-sequence-3": choose_and_press,
    "read-table-2": read_table_twice,
    "text-transform": enter_what_stands_there,
    "click-button-sequence": click_in_order,
    "click-checkboxes": tick,
    "click-checkboxes-large": tick,
    "click-checkboxes-transfer": tick,
    "click-collapsible": expand,
    "click-collapsible-nodelay": expand,
    "click-dialog": close_dialog,
    "click-link": click_link,
    "click-option": tick,
    "click-tab": click_tab,
    "click-test": click_test,
    "click-test-2": click_in_order,
    "click-test-transfer": click_in_order,
    "choose-list": choose,
    "copy-paste": copy,
    "drag-box": drag_in,
    "enter-date": enter_date,
    "enter-password": enter_twice,
    "enter-text": enter,
    "enter-text-2": enter,
    "enter-text-dynamic": enter,
    "enter-time": enter_time,
    "focus-text": focus,
    "focus-text-2": focus,
    "login-user": log_in,
    "read-table": read_table,
    "simple-arithmetic": add_up,
    "unicode-test": click_button,
    "use-spinner": spin,
}
