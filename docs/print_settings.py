"""What can be set, whom a model can be had from, and what it can call, printed from the code."""

import re
from collections.abc import Collection
from typing import Annotated, NoReturn, cast, get_origin, get_type_hints

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.models.catalog import vendor_table
from angelia.models.catalog.vendor import QUIRKS, Vendor
from angelia.models.catalog.vendors import vendors
from angelia.sandboxes.egress.addresses import no_addresses
from angelia.service.places.presets import Preset, SandboxSettings
from angelia.service.settings import config
from angelia.service.settings.faults import takes
from angelia.tools.browser.page_logins import PageLogins
from angelia.tools.browser.toolset import browser_tools
from angelia.tools.discovery import own_toolsets
from angelia.tools.mcp.settings import ServerSettings
from angelia.tools.people.speak import SpeakTool, TextSpeaker
from angelia.tools.pictures.paint import PaintPicture
from angelia.tools.schema import shown_schema
from angelia.tools.skills.opened_skill import SkillSource
from angelia.tools.skills.propose_skill import ProposeSkill, SkillProposals
from angelia.tools.skills.use_skill import UseSkill
from angelia.tools.web.search import Search
from docs.markdown import code, page, table
from docs.read_source import fields, words


def settings() -> str:
    """Every setting with its type and default."""
    defaults = config.Config()
    groups = {f.name: getattr(defaults, f.name) for f in fields(config.Config) if hasattr(config, f.type)}
    variables = [(f"`{name}`", f"`{key}`") for name, key in config.ENVIRONMENT.items()]
    return page(
        "Settings",
        "They live in `config.toml` in the home (`angelia config path`). A later source wins over an earlier one: "
        "defaults, the file, the environment, `--set key=value`, options such as `--model`. `angelia config` shows "
        "every value and where it came from. A name that does not exist is an error: all errors of the file are told "
        "at once, with their lines and what is possible. `angelia config set KEY VALUE`, `unset KEY` and `edit` change "
        "the file, keep its comments, and write nothing that would be wrong.",
        "## At the top of the file",
        words(config.Config),
        _settings(defaults, {*groups, "remedies", "vendors"}),
        *(section for name, group in groups.items() for section in _sections(name, group)),
        f"## [mcp.servers.NAME]\n\n{words(ServerSettings)}\n\n{_settings(ServerSettings())}",
        "## [remedies.FAILURE]\n\nHow often each remedy may be used, by the names in [The turn](turn.md).",
        code("[remedies.busy]\nwait = 5", "toml"),
        "## [vendors.NAME]\n\nRows of your own, by the fields in [Vendors](vendors.md), and where more keys come from:",
        table(
            ("field", "means"),
            [
                ("`key_command`", "a command whose first line of output is a key"),
                ("`key_file`", "a file with a key on each line, which only its owner can read"),
                ("`key_variable`", "one more environment variable, with `_2`, `_3`, … after it"),
            ],
        ),
        "## Environment variables",
        table(("variable", "setting"), [*variables, ("`ANGELIA_HOME`", "the home itself; `~/.angelia` without it")]),
    )


_IN_WORDS = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "tuple[str, ...]": "list of texts",
    "dict[str, str]": "texts by name",
}

_TABLES = ("servers", "presets")
"""Settings of a group that have a section of their own."""


def _sections(name: str, group: Struct) -> list[str]:
    """A group, the groups in it, and what a preset of sandboxes says."""
    inner = {f.name: getattr(group, f.name) for f in fields(type(group))}
    inner = {key: value for key, value in inner.items() if isinstance(value, Struct)}
    sections = [f"## [{name}]\n\n{words(type(group))}\n\n{_settings(group, (*_TABLES, *inner))}"]
    sections += [f"## [{name}.{key}]\n\n{words(type(one))}\n\n{_settings(one)}" for key, one in inner.items()]
    if isinstance(group, SandboxSettings):
        sections.append(f"## [{name}.presets.NAME]\n\n{words(Preset)}\n\n{code(_PRESET, 'toml')}")
    return sections


_PRESET = '[sandbox.presets.lab]\nspec = "docker:python:3.12"\ndocker = {network = "bridge"}'


def _settings(group: Struct, without: Collection[str] = ()) -> str:
    """Each setting of a group with its default as TOML writes it."""
    hints = get_type_hints(type(group), include_extras=True)
    rows = [
        (f"`{f.name}`", _type(f.type, hints[f.name]), f"`{msgspec.json.encode(getattr(group, f.name)).decode()}`")
        for f in fields(type(group))
        if f.name not in without
    ]
    return table(("setting", "takes", "default"), rows)


def _type(written: str, hint: object) -> str:
    if get_origin(hint) is Annotated:
        return takes(hint).removeprefix("a ").replace("|", r"\|")
    return _IN_WORDS.get(written) or " · ".join(f'`"{word}"`' for word in re.findall(r"'(\w*)'", written))


def vendors_page() -> str:
    """Every vendor, and what a row may say."""
    rows = vendors()
    fields_and_quirks = (vendor_table.__doc__ or "").partition("\n\n")[2].strip()
    row_fields = [
        (f"`{f.name}`", f"`{f.type}`", f"`{f.default}`" if f.default else "must be given") for f in fields(Vendor)
    ]
    return page(
        "Vendors",
        "A model is named `VENDOR:NAME`. Everything about a vendor is one row of `models/catalog/vendor_table.py`; a "
        "row of your own goes into `config.toml` as `[vendors.NAME]` and is laid over it field by field.",
        table(("vendor", "wire", "keys", "address", "quirks"), [_vendor(row) for row in rows.values()]),
        "## What a row says",
        code(fields_and_quirks),
        "## Fields",
        table(("field", "type", "default"), row_fields),
        f"Quirks are {', '.join(f'`{quirk}`' for quirk in sorted(QUIRKS))}.",
    )


def _vendor(row: Vendor) -> tuple[str, ...]:
    keys = "none needed" if row.local else " ".join(f"`{name}`" for name in row.key_env)
    address = f"`{row.base_url}`" if row.base_url else ""
    variables = " ".join(f"`{name}`" for name in row.base_url_env)
    where = " or ".join(part for part in (variables, address) if part)
    return f"`{row.name}`", f"`{row.wire}`", keys, where, " ".join(f"`{quirk}`" for quirk in row.quirks)


def _unused(*given: object) -> NoReturn:
    raise NotImplementedError("tools are printed here, and not run")


def tools() -> str:
    """Every tool of ours with its schema."""
    parts = []
    always = (tool for make in own_toolsets() for tool in make().tools())
    # What these say of themselves is the same for all.
    skills = UseSkill(cast("SkillSource", None)), ProposeSkill(cast("SkillProposals", None))
    browser = ChromiumBrowser(no_addresses)
    set_up = (
        Search((), _unused),
        PaintPicture(_unused, _unused, leaves=True, price=-1),
        SpeakTool(cast("TextSpeaker", None)),
    )
    for tool in (*always, *browser_tools(browser, None, PageLogins(browser, None)), *skills, *set_up):
        traits = [name.replace("_", " ") for name, has in asdict(tool.traits).items() if has]
        schema = msgspec.json.format(msgspec.Raw(bytes(shown_schema(tool.arguments))), indent=2).decode()
        line = f"\n\nTraits: {', '.join(traits)}." if traits else ""
        parts.append(f"## {tool.name}\n\n{tool.description}{line}\n\n{code(schema, 'json')}")
    return page(
        "Tools",
        "What a model can call, in the order and in the words in which it reads them; `angelia tools --json` prints "
        "the same, with the tools of installed packages. *Reads only*: neighbouring calls run side by side. "
        "*Housekeeping*: a reply whose calls are all of this kind is not work in progress. *Replayable*: after a crash "
        "a started call is run again; any other is told as `unknown`. Those of the browser are there where one is "
        "installed, `use_skill` where you have seen a skill, `propose_skill` after a long turn, `search`, `paint` and "
        "`speak` where somebody is set who does it.",
        *parts,
    )
