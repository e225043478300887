"""Everything that is wrong with settings, all at once, each with what would be possible in its place."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from angelia.channels.registry import find_channel
from angelia.channels.settings import WHERE_KEPT, Secret
from angelia.core.errors import AngeliaError, MissingPart
from angelia.models.catalog.credentials import KEY_PLACES
from angelia.models.catalog.vendor import Vendor
from angelia.models.catalog.vendors import vendors
from angelia.service.places.presets import lay_over
from angelia.service.settings.toml_text import wrong_number

Key = tuple[str, ...]

_WORDS: Mapping[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a group of settings",
    list: "a list",
}

_KEY_PLACES = dict.fromkeys(KEY_PLACES, str)
_MODELS = ("model", "describer")


class SettingFault(Struct, frozen=True):
    """One setting that is wrong: `problem` says how, `possible` what may stand there; a sentence each, or empty."""

    key: Key
    problem: str
    possible: str = ""

    @property
    def name(self) -> str:
        """The key as it is written."""
        return ".".join(self.key)


def setting_faults(tree: Mapping[str, Any], root: type[Struct]) -> list[SettingFault]:
    """Every fault of the settings `tree`, by the type of all settings; channels and vendors by their own.

    No value is repeated, except where it is one of a few words: what stands in the wrong place may be a secret.
    """
    tree = msgspec.to_builtins(tree)
    if isinstance(tree.get("sandbox"), dict):
        lay_over(tree["sandbox"])
    found = list(_group((), tree, root, root))
    return found or list(_models(tree))


def type_of(key: Sequence[str], tree: Mapping[str, Any], root: type[Struct]) -> Any:
    """The type of the setting `key`, None for one that does not exist."""
    hint: Any = root
    for at, name in enumerate(key):
        hint = _plain(hint)
        if tuple(key[:at]) == ("channels",):
            hint = _channel_type(name, tree)
        elif tuple(key[:at]) == ("vendors",):
            hint = Vendor
        elif isinstance(hint, type) and issubclass(hint, Struct):
            hint = {**get_type_hints(hint), **(_KEY_PLACES if hint is Vendor else {})}.get(name)
        elif get_origin(hint) is dict:
            hint = get_args(hint)[1]
        else:
            return None
    return hint


def known_keys(root: type[Struct], prefix: str = "") -> list[str]:
    """The dotted names of all settings that have one name."""
    names = []
    for name, hint in get_type_hints(root).items():
        hint = _plain(hint)
        if isinstance(hint, type) and issubclass(hint, Struct):
            names += known_keys(hint, f"{prefix}{name}.")
        else:
            names.append(f"{prefix}{name}")
    return names


def like(name: str, known: Iterable[str]) -> str:
    """A question that names what may have been meant, empty where nothing is like it.

    >>> like("max_step", ["limits.max_steps", "model"]), like("zzz", ["model"])
    ('Did you mean limits.max_steps?', '')
    """
    known = list(known)
    last = name.rpartition(".")[2]
    by_last = {one.rpartition(".")[2]: one for one in reversed(known)}
    found = difflib.get_close_matches(name, known, 1, 0.75) or [
        by_last[one] for one in difflib.get_close_matches(last, by_last, 1, 0.75)
    ]
    return f"Did you mean {found[0]}?" if found else ""


def meant_by(key: Key, root: type[Struct]) -> str:
    """What somebody may have meant by a setting that does not exist, or else what there is in its group; may be empty.

    What has names of the person's own (`vendors.NAME`) is like nothing elsewhere.
    """
    names = known_keys(root)
    if key[0] in names and len(key) > 1:
        described = key[0] == "vendors" and len(key) == 3
        return f"Here are {', '.join(one.encode_name for one in fields(Vendor))}." if described else ""
    start = "".join(f"{one}." for one in key[:-1])
    here = dict.fromkeys(one.removeprefix(start).partition(".")[0] for one in names if one.startswith(start))
    return like(".".join(key), names) or (f"Here are {', '.join(here)}." if here else "")


def takes(hint: Any) -> str:
    """What a setting of this type takes, in words.

    >>> takes(Literal["plan", "ask"]), takes(tuple[str, ...]), takes(Annotated[int, msgspec.Meta(ge=0)])
    ('"plan" or "ask"', 'a list of texts', 'a whole number from 0 on')
    """
    hint = _plain(hint)
    origin = get_origin(hint)
    if origin is Annotated:
        kind, *said = get_args(hint)
        return " ".join((takes(kind), *(words for meta in said if (words := _limits(meta)))))
    if origin is Literal:
        *most, last = [f'"{word}"' for word in get_args(hint)]
        return f"{', '.join(most)} or {last}" if most else last
    if origin in (tuple, list):
        return f"a list of {'texts' if get_args(hint)[0] is str else 'values'}"
    if hint is Secret:
        return f"the place where it is kept, never the secret itself: {WHERE_KEPT}"
    if isinstance(hint, type) and issubclass(hint, Struct):
        return f"a group of {', '.join(one.encode_name for one in fields(hint))}"
    return _WORDS.get(origin or hint, "something else")


def _limits(meta: Any) -> str:
    """What else a value has to be, in words; empty for nothing.

    >>> _limits(msgspec.Meta(ge=0, le=100)), _limits(msgspec.Meta(gt=0)), _limits(msgspec.Meta(pattern="^[a-z]$"))
    ('from 0 to 100', 'above 0', 'of the form ^[a-z]$')
    """
    match meta:
        case msgspec.Meta(ge=least, le=int() | float() as most) if least is not None:
            return f"from {least} to {most}"
        case msgspec.Meta(ge=int() | float() as least):
            return f"from {least} on"
        case msgspec.Meta(gt=int() | float() as least):
            return f"above {least}"
        case msgspec.Meta(pattern=str() as form):
            return f"of the form {form}"
        case _:
            return ""


def _group(key: Key, value: Any, group: type[Struct], root: type[Struct]) -> Iterator[SettingFault]:
    if not isinstance(value, Mapping):
        yield SettingFault(key, _stands(value), f"It takes {takes(group)}.")
        return
    hints, found = get_type_hints(group, include_extras=True), False
    declared = {one.encode_name: one for one in fields(group)}
    for name, inner in value.items():
        for fault in _one((*key, name), inner, hints.get(name) if name in declared else None, root):
            found = True
            yield fault
    for name, one in declared.items():
        if one.required and name not in value:
            found = True
            yield SettingFault((*key, name), "It is missing.", f"It takes {takes(hints[name])}.")
    if not found:
        yield from _converted(key, value, group)


def _one(key: Key, value: Any, hint: Any, root: type[Struct]) -> Iterator[SettingFault]:
    hint = _plain(hint)
    if hint is None:
        yield SettingFault(key, "There is no setting of this name.", meant_by(key, root))
    elif key == ("channels",) and isinstance(value, Mapping):
        for name, section in value.items():
            yield from _channel((*key, name), section)
    elif key == ("vendors",) and isinstance(value, Mapping):
        for name, row in value.items():
            yield from _vendor((*key, name), row)
    elif get_origin(hint) is dict and isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _one((*key, name), inner, get_args(hint)[1], root)
    elif isinstance(hint, type) and issubclass(hint, Struct):
        yield from _group(key, value, hint, root)
    else:
        yield from _converted(key, value, hint)


def _converted(key: Key, value: Any, hint: Any) -> Iterator[SettingFault]:
    if wrong := wrong_number(value):
        yield SettingFault(key, wrong, f"It takes {takes(hint)}.")
        return
    try:
        msgspec.convert(value, hint)
    except msgspec.ValidationError as error:
        if isinstance(hint, type) and issubclass(hint, Struct):
            said = str(error).partition(" - at `$")[0]
            yield SettingFault(key, f"{said[:1].upper()}{said[1:]}.")
            return
        words = isinstance(value, str) and get_origin(hint) is Literal
        meant = like(value, get_args(hint)) if words else ""
        problem = f'"{value}" is none of the words that it takes.' if words else _stands(value, hint)
        yield SettingFault(key, problem, f"It takes {takes(hint)}. {meant}".rstrip())


def _stands(value: Any, hint: Any = None) -> str:
    if get_origin(hint) is Annotated:
        with suppress(msgspec.ValidationError):
            msgspec.convert(value, get_args(hint)[0])
            return "This is out of range." if isinstance(value, int | float) else "This has another form."
    return f"This is {_WORDS.get(type(value), 'something else')}."


def _channel(key: Key, section: Any) -> Iterator[SettingFault]:
    """A section of a chat network, by the network's own settings; nothing is said of one whose part is missing."""
    if not isinstance(section, Mapping):
        yield SettingFault(key, _stands(section), "It takes a group of settings.")
        return
    try:
        own = find_channel(key[-1], section).settings
    except MissingPart:
        return
    except AngeliaError as error:
        yield SettingFault(key, error.what, error.why)
        return
    yield from (
        SettingFault((*key, *fault.key), fault.problem, fault.possible) for fault in _group((), section, own, own)
    )


def _channel_type(name: str, tree: Mapping[str, Any]) -> Any:
    section = tree.get("channels", {}).get(name, {})
    try:
        return find_channel(name, section if isinstance(section, Mapping) else {}).settings
    except AngeliaError:
        return None


def _vendor(key: Key, row: Any) -> Iterator[SettingFault]:
    """A row about a vendor, laid over ours of that name."""
    if not isinstance(row, Mapping):
        yield SettingFault(key, _stands(row), "It takes a group of settings.")
        return
    hints, found = {**get_type_hints(Vendor, include_extras=True), **_KEY_PLACES}, False
    for name, value in row.items():
        if name not in hints:
            found = True
            yield SettingFault((*key, name), "There is no setting of this name.", like(name, hints))
        else:
            for fault in _converted((*key, name), value, hints[name]):
                found = True
                yield fault
    try:
        if not found:
            vendors({key[-1]: {name: value for name, value in row.items() if name not in KEY_PLACES}})
    except AngeliaError as error:
        yield SettingFault(key, error.what, error.then)


def _models(tree: Mapping[str, Any]) -> Iterator[SettingFault]:
    """Models that nobody offers: `vendor:name` with a vendor that is known."""
    known = {*vendors(), *tree.get("vendors", {}), "local"}
    named = [((one,), tree.get(one, "")) for one in _MODELS]
    named += [(("fallback",), one) for one in tree.get("fallback", ())]
    for key, spec in named:
        vendor, _, model = spec.partition(":")
        if spec and not model:
            example = f"{vendor}:NAME" if vendor in known else f"openai:{spec}"
            yield SettingFault(key, f'"{spec}" does not name a model.', f'It takes "VENDOR:NAME", such as "{example}".')
        elif spec and vendor not in known:
            yield SettingFault(key, f'There is no vendor named "{vendor}".', like(vendor, known))


def _plain(hint: Any) -> Any:
    """A type without the None that says that a setting may be left out."""
    if get_origin(hint) in (Union, UnionType):
        return next(one for one in get_args(hint) if one is not NoneType)
    return hint
