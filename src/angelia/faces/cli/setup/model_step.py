"""The first question of set-up: which model thinks; whatever is chosen is asked a word before it is kept."""

import asyncio
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from angelia.core.errors import AngeliaError
from angelia.faces.cli.checkup.check_result import CheckState
from angelia.faces.cli.progress import working
from angelia.faces.cli.setup.found import OfferedModel, models_at_hand
from angelia.faces.cli.transfer_progress import moving
from angelia.faces.cli.weights import fetched, known_weights
from angelia.faces.words.output import asked, sure
from angelia.faces.words.steps import Option, done, failed, note, picked
from angelia.models.catalog.listing import list_models
from angelia.models.catalog.vendors import vendors
from angelia.models.port import Credential
from angelia.service.app import App
from angelia.service.models.choice import FAVOURITES
from angelia.service.secrets.store import KeptSecret, SecretStore
from angelia.service.settings.config import home_folder, load
from angelia.service.settings.config_file import ConfigFile
from angelia.service.settings.private_file import write_private

_MOST_LISTED = 12
"""Models of a server that are shown to choose from."""

_IN_KEYRING = "Keep it in the system's keyring? (A service that runs before you log in cannot read it there.)"


class ModelPlan(Struct, frozen=True):
    """A model, what has to be configured for it, by dotted key, and its key, which is kept in a file of its own."""

    spec: str
    settings: Mapping[str, object] = {}
    vendor: str = ""
    key: str = ""


def ask_for_model(environ: Mapping[str, str]) -> str:
    """Ask until a model answers, or the person takes one all the same; it is in the configuration then. Its name."""
    while True:
        plan = _chosen(environ)
        if plan and _usable(plan, environ):
            keep_model(plan)
            return plan.spec


def take_model(spec: str, environ: Mapping[str, str]) -> str:
    """The model that was named, or the best that is here: tried, and in the configuration. Its name.

    Raises:
        AngeliaError: it does not answer; nothing was changed.
    """
    plan = ModelPlan(spec or asyncio.run(_at_hand(environ))[0].spec)
    _get_weights(plan.spec)
    trouble = _trouble(plan, environ)
    if trouble:
        then = "Nothing was changed. Name another one with --model; `angelia models` lists what can be had."
        raise AngeliaError(f"{plan.spec} does not answer.", trouble, then)
    keep_model(plan)
    return plan.spec


def keep_model(plan: ModelPlan) -> None:
    """Write it down: its key into a file that only the person can read."""
    home = home_folder()
    settings = {"model": plan.spec, **plan.settings}
    config = ConfigFile(home)
    if plan.key:
        kept, other = f"vendors.{plan.vendor}.key_secret", f"vendors.{plan.vendor}.key_file"
        store, handle, path = SecretStore(home), f"{plan.vendor}/key", home / "keys" / plan.vendor
        if not store.keyring.why_not() and sure(_IN_KEYRING):
            store.add(handle, KeptSecret(place="keyring", value=plan.key))
            path.unlink(missing_ok=True)
            settings[kept] = handle
            done(f"The key is in the system's keyring, as {handle}.")
        else:
            write_private(path, f"{plan.key}\n")
            if handle in store.kept():
                store.remove(handle)
            kept, other = other, kept
            settings[kept] = str(path)
            done(f"The key is in {path}, which only you can read.")
        config.unset(other)
    config.set_all(settings)


def _chosen(environ: Mapping[str, str]) -> ModelPlan | None:
    current = load(home_folder(), environ).config.model
    with working("looking for models"):
        here = asyncio.run(_at_hand(environ))
    offers = [OfferedModel(current, "as it is now"), *here] if current else here
    options = [Option(one.spec, one.why) for one in offers]
    options += [Option("a vendor", "whose key you have: Anthropic, OpenAI, OpenRouter, Gemini, …")]
    options += [Option("a server", "by its address: vLLM, a company's own, …")]
    number = picked("Which model should think?", options)
    if number < len(offers):
        return ModelPlan(offers[number].spec)
    return _of_vendor() if number == len(offers) else _of_server(environ)


def _of_vendor() -> ModelPlan:
    vendors = list(FAVOURITES)
    vendor = vendors[picked("Whose key do you have?", [Option(name, FAVOURITES[name]) for name in vendors])]
    key = asked(f"The key of {vendor}, which is not shown", hidden=True).strip()
    model = asked("Model", usual=FAVOURITES[vendor]).strip()
    return ModelPlan(f"{vendor}:{model}", {}, vendor, key)


def _of_server(environ: Mapping[str, str]) -> ModelPlan | None:
    url = asked("Its address, such as https://ai.example.org/v1").strip().rstrip("/")
    vendor = vendor_at(url)
    if not vendor:
        failed(f"{url!r} is no address: it begins with http:// or https://.")
        return None
    key = asked("Its key, which is not shown (Enter: none)", hidden=True).strip()
    row: dict[str, object] = {
        f"vendors.{vendor}.wire": "openai-chat",
        f"vendors.{vendor}.base_url": url,
        **({} if key else {f"vendors.{vendor}.local": True}),
    }
    plan = ModelPlan("", row, vendor, key)
    try:
        with working(f"asking {url} for its models"):
            names = asyncio.run(_models_of(plan, environ))
    except AngeliaError as error:
        failed(f"It does not list its models: {error}")
        names = []
    if not names:
        return replace(plan, spec=f"{vendor}:{asked('Its model').strip()}")
    if len(names) > _MOST_LISTED:
        note(f"It has {len(names)} models; these are the first. Others: angelia config set model {vendor}:NAME")
    number = picked("Which of its models?", [Option(name) for name in names[:_MOST_LISTED]])
    return replace(plan, spec=f"{vendor}:{names[number]}")


def vendor_at(url: str) -> str:
    """What a server is called that was named by its address; empty for what is none.

    >>> vendor_at("https://ai.example.org:8000/v1"), vendor_at("ai.example.org")
    ('ai-example-org-8000', '')
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return ""
    name = re.sub(r"[^a-z0-9]+", "-", parts.netloc.rpartition("@")[2].lower()).strip("-")
    return name if name not in vendors() else f"server-{name}"


async def _models_of(plan: ModelPlan, environ: Mapping[str, str]) -> list[str]:
    app = await App.open(load(home_folder(), environ, _sets(plan)), environ)
    try:
        row = app.model_catalog.rows[plan.vendor]
        client = await app.model_catalog.client(row)
        found = await list_models(row, client, Credential("typed", plan.key)) if client else ()
    finally:
        await app.close()
    return [one.model for one in found]


def _usable(plan: ModelPlan, environ: Mapping[str, str]) -> bool:
    """Whether it answers, or is taken all the same."""
    try:
        if not _get_weights(plan.spec, ask=True):
            return False
        trouble = _trouble(plan, environ)
    except AngeliaError as error:
        trouble = str(error)
    if not trouble:
        return True
    failed(f"{plan.spec} does not answer: {trouble}")
    return sure("Take it all the same?")


def _get_weights(spec: str, *, ask: bool = False) -> bool:
    """The weights of an embedded model, got if they are not here; False if the person does not want that."""
    vendor, _, name = spec.partition(":")
    folder = home_folder() / "models"
    if vendor != "local" or "/" in name or known_weights(name).path_in(folder).is_file():
        return True
    weights = known_weights(name)
    if ask and not sure(f"Get {weights.title} now: {weights.size / 1e6:,.0f} MB?", usual=True):
        return False
    with moving(weights.name) as told:
        asyncio.run(fetched(weights, folder, told))
    return True


def _trouble(plan: ModelPlan, environ: Mapping[str, str]) -> str:
    """Why it does not answer, empty if it does."""
    from angelia.faces.cli.checkup.model import answers

    sets = _sets(plan)
    variable = "ANGELIA_SETUP_KEY"
    if plan.key:
        sets.append(f'vendors.{plan.vendor}.key_variable="{variable}"')
    loaded = load(home_folder(), environ, sets, {"model": plan.spec})

    async def ask() -> str:
        app = await App.open(loaded, {**environ, **({variable: plan.key} if plan.key else {})})
        try:
            found = await answers(app, plan.spec)
        finally:
            await app.close()
        if found.state is CheckState.WELL:
            done(f"{plan.spec} answers: {found.seen}.")
            return ""
        return found.seen

    with working(f"asking {plan.spec} a word"):
        return asyncio.run(ask())


def _sets(plan: ModelPlan) -> list[str]:
    return [f"{key}={_as_toml(value)}" for key, value in plan.settings.items()]


def _as_toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'


async def _at_hand(environ: Mapping[str, str]) -> list[OfferedModel]:
    app = await App.open(load(home_folder(), environ), environ)
    try:
        return await models_at_hand(app.model_catalog)
    finally:
        await app.close()
