"""What drives a conversation: its models, bound to its prompt and its tools, with the rules of the settings."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from angelia.context.request import ToolSpec
from angelia.core.ids import Clock
from angelia.engine.broker import Broker, BrokerDeps
from angelia.engine.compaction import ContextBudget, Summariser
from angelia.engine.day_money import DayMoney
from angelia.engine.driver import BoundModel, Driver, Settings
from angelia.engine.log import Log
from angelia.engine.transcription import Wording
from angelia.service.conversation.prompt import ConversationPrompt
from angelia.service.models.catalog import ModelCatalog
from angelia.service.models.second_model import summariser, wording
from angelia.service.settings.config import Caps, Config
from angelia.service.settings.rules import rules_for
from angelia.store.media.blobs import BlobStore
from angelia.tools.registry import Registry

if TYPE_CHECKING:
    from angelia.service.models.speech import Speech


class DriverSources(Struct, frozen=True):
    """What every driver of a home is made with; `speech` is what speaks, where it is set."""

    config: Config
    model_catalog: ModelCatalog
    blobs: BlobStore
    clock: Clock
    speech: "Callable[[], Speech]"


class WantedModel(Struct, frozen=True):
    """A model as people name it, and how much it is to think: as configured, if `effort` is None.

    `limits` hold for each turn, `day_money` for the day.
    """

    spec: str
    limits: Caps
    effort: str | None = None
    day_money: DayMoney | None = None


async def driver_for(
    sources: DriverSources, log: Log, deps: BrokerDeps, prompt: ConversationPrompt, wanted: WantedModel
) -> tuple[BoundModel, Driver]:
    """A driver that has read the log, and the first model that it asks; `deps` holds the tools.

    Raises:
        ConfigError: a model cannot be used as configured.
    """
    config = sources.config
    bound_models = [await _bound(sources, spec, prompt, deps.registry) for spec in (wanted.spec, *config.fallback)]
    words = await _wording(sources)
    capped = replace(config, limits=wanted.limits)
    settings = Settings(
        rules=rules_for(capped, deps.registry, bound_models, words),
        space=ContextBudget(
            config.context.share,
            config.context.max_output or config.context.reserve,
            _summariser(sources, wanted.spec, bound_models[0]),
            config.context.old_media,
        ),
        max_output=config.context.max_output,
        effort=config.effort if wanted.effort is None else wanted.effort,
        cache_hour=config.context.cache_hour,
        day_money=wanted.day_money,
    )
    driver = Driver(log, bound_models, Broker(log, deps), settings, sources.clock, words)
    await driver.catch_up()
    return bound_models[0], driver


async def _bound(sources: DriverSources, spec: str, prompt: ConversationPrompt, registry: Registry) -> BoundModel:
    catalog = sources.model_catalog
    profile = catalog.profile(spec)
    return await catalog.bound(spec, prompt.prompt_for(profile).text, _offered(registry, profile.window))


async def _wording(sources: DriverSources) -> Wording:
    config = sources.config
    words = await wording(config, sources.model_catalog, sources.blobs)
    if not config.speaker:
        return words
    from angelia.engine.speech import AnswerSpeaker

    speech = sources.speech()
    return replace(words, speaker=AnswerSpeaker(speech.name, speech.speak_answer, speech.may_cost))


SMALL_WINDOW = 32_000
"""Tokens. All tools together take some 2,000, and the prompt around them as much again: of what a fold may leave, a
third."""


def _offered(registry: Registry, window: int) -> tuple[ToolSpec, ...]:
    """The tools that a model with such a window is shown; 0 is one that nobody knows."""
    if not 0 < window < SMALL_WINDOW:
        return registry.specs()
    spare = {name for name in registry.names if (tool := registry.get(name)) and tool.traits.spare}
    return tuple(spec for spec in registry.specs() if spec.name not in spare)


def _summariser(sources: DriverSources, model: str, bound: BoundModel) -> Summariser | None:
    """The model of the person's choice; none for the embedded one, which cannot write a summary."""
    settings = sources.config.context
    spec = settings.summariser or ("none" if bound.profile.wire == "local" else model)
    return None if spec == "none" else summariser(spec, sources.model_catalog, settings.summary_seconds)
