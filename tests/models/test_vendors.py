"""Vendors are rows; a model's profile follows from its vendor's row, without asking anybody."""

import pytest

from angelia.core.errors import ConfigError
from angelia.core.profile import Ability, Prices
from angelia.models.catalog.prices import KnownModel
from angelia.models.catalog.vendor import QUIRKS
from angelia.models.catalog.vendors import local_servers, profile, vendor, vendors
from angelia.models.registry import OURS

NAMED = {
    "openai", "anthropic", "openrouter", "gemini", "groq", "mistral", "deepseek", "xai", "together", "fireworks",
    "cerebras", "moonshot", "zai", "ollama", "lmstudio", "llamacpp", "vllm", "openai-chat", "openai-responses",
}  # fmt: skip


def test_every_vendor_that_we_name_is_a_row() -> None:
    assert set(vendors()) >= NAMED


@pytest.mark.parametrize("name", vendors())
def test_a_row_is_whole(name: str) -> None:
    row = vendor(name)
    assert row.wire in OURS
    assert bool(row.address({})) is (row.wire in {"openai-chat", "openai-responses", "anthropic"})
    assert row.local or row.key_env or not row.base_url
    assert row.image_limits.tokens in {"tile", "pixels", "patch"}


def test_every_quirk_is_used_by_a_row_or_left_to_the_user() -> None:
    used = {quirk for row in vendors().values() for quirk in row.quirks}
    used |= {quirk for row in vendors().values() for model in row.models for quirk in model.quirks}
    assert QUIRKS - used == {"bearer", "reasoning_summary"}


@pytest.mark.parametrize(
    ("spec", "wire", "quirk"),
    [
        ("anthropic:claude-sonnet-4-5", "anthropic", "thinking_budget"),
        ("anthropic:claude-opus-4-20250514", "anthropic", "thinking_budget"),
        ("anthropic:claude-opus-4-6", "anthropic", ""),
        ("anthropic:claude-haiku-5-5", "anthropic", ""),
        ("openrouter:anthropic/claude-opus-5", "openai-chat", "cache_mark_on_top"),
        ("openrouter:openai/gpt-5", "openai-chat", ""),
        ("openai:gpt-5", "openai-responses", ""),
        ("openai-chat:gpt-5", "openai-chat", "max_completion_tokens"),
    ],
)
def test_single_models_differ_where_the_row_says_so(spec: str, wire: str, quirk: str) -> None:
    found = profile(spec)
    assert found.wire == wire
    special = {"thinking_budget", "cache_mark_on_top", "max_completion_tokens"} & set(found.quirks)
    assert special == ({quirk} if quirk else set())


@pytest.mark.parametrize("spec", ["openai-chat:any", "openai-responses:any", "openai:any", "anthropic:any"])
def test_a_request_is_kept_within_bounds_also_where_nobody_knows_whose_server_it_is(spec: str) -> None:
    assert 0 < profile(spec).body_limit <= 50_000_000


def test_a_model_s_name_may_hold_colons_and_slashes() -> None:
    found = profile("ollama:hf.co/bartowski/Llama:Q4_K_M")
    assert (found.vendor, found.model) == ("ollama", "hf.co/bartowski/Llama:Q4_K_M")


def test_what_is_known_goes_into_the_profile_and_what_runs_at_home_is_free() -> None:
    known = KnownModel(200_000, Prices(3.0, 15.0))
    assert profile("anthropic:claude-opus-5", known=known).window == 200_000
    assert profile("anthropic:claude-opus-5", known=known).prices == Prices(3.0, 15.0)
    assert profile("ollama:llama3.2", known=KnownModel(8192)).prices == Prices(0.0, 0.0, 0.0, 0.0)
    assert profile("anthropic:claude-opus-5").prices == Prices()


@pytest.mark.parametrize("spec", ["gpt-5", "openai:", ":gpt-5", "", "nonesuch:x"])
def test_a_name_without_a_vendor_is_explained(spec: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        profile(spec)
    assert wrong.value.then


def test_a_row_of_the_user_s_is_laid_over_ours_field_by_field() -> None:
    rows = vendors(
        {"mine": {"wire": "openai-chat", "base_url": "http://box/v1", "images": "no"}, "openai": {"images": "no"}}
    )
    assert rows["mine"].images is Ability.NO
    assert rows["openai"].images is Ability.NO
    assert rows["openai"].base_url == vendor("openai").base_url
    assert profile("mine:x", rows).wire == "openai-chat"
    assert vendor("openai").images is Ability.YES


@pytest.mark.parametrize(
    "fields",
    [
        {"base_url": "http://box/v1"},
        {"wire": "openai-chat", "colour": "blue"},
        {"wire": "openai-chat", "images": "perhaps"},
        {"wire": "openai-chat", "quirks": ["shy"]},
    ],
)
def test_a_wrong_row_names_itself_and_the_field(fields: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="mine"):
        vendors({"mine": fields})


@pytest.mark.parametrize(
    ("name", "environ", "address"),
    [
        ("openai", {}, "https://api.openai.com/v1"),
        ("openai-chat", {"OPENAI_BASE_URL": "http://box:9/v1/"}, "http://box:9/v1"),
        ("anthropic", {"ANTHROPIC_BASE_URL": "http://box:9"}, "http://box:9"),
        ("ollama", {}, "http://127.0.0.1:11434/v1"),
        ("ollama", {"OLLAMA_HOST": "0.0.0.0"}, "http://127.0.0.1:11434/v1"),
        ("ollama", {"OLLAMA_HOST": "box:1234"}, "http://box:1234/v1"),
        ("ollama", {"OLLAMA_HOST": "https://box:1234/"}, "https://box:1234/v1"),
    ],
)
def test_the_vendors_own_variables_are_honoured(name: str, environ: dict[str, str], address: str) -> None:
    assert vendor(name).address(environ) == address


def test_local_servers_are_looked_for_at_their_own_ports() -> None:
    ports = {address.rpartition(":")[2] for address in local_servers().values()}
    assert ports == {"11434/v1", "1234/v1", "8080/v1", "8000/v1"}
