"""What a reply cost is known without waiting, and agrees with the table it comes from."""

import subprocess
import sys
from pathlib import Path

import pytest
from genai_prices import Usage as Tokens
from genai_prices import calc_price
from hypothesis import given
from hypothesis import strategies as st

from angelia.core.entry import Usage
from angelia.core.profile import Prices, Profile
from angelia.models.catalog.prices import KnownModel, PriceBook, flat_cost
from angelia.models.catalog.vendors import profile

counts = st.integers(0, 150_000)
SONNET = "anthropic:claude-sonnet-4-5"


def book_with(name: str, provider: str) -> tuple[PriceBook, Profile]:
    book = PriceBook(None)
    return book, profile(name, known=book.learn(name, provider))


@given(fresh=counts, read=counts, written=counts, output=counts, hour=st.booleans())
def test_our_cost_is_the_table_s(fresh: int, read: int, written: int, output: int, hour: bool) -> None:
    book, model = book_with(SONNET, "anthropic")
    usage = Usage(fresh + read + written, output, read, written)
    tokens = Tokens(
        input_tokens=usage.input,
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_tokens=written,
        cache_write_1h_tokens=written if hour else None,
    )
    exact = float(calc_price(tokens, "claude-sonnet-4-5", provider_id="anthropic").total_price) * 1_000_000
    assert abs(book.cost(model, usage, "anthropic", hour=hour) - exact) <= 1


def test_nobody_s_price_is_minus_one_and_home_is_free() -> None:
    assert flat_cost(Prices(), Usage(1000, 1000)) == -1
    assert PriceBook(None).cost(profile("openai-chat:x"), Usage(1000, 1000), "") == -1
    assert PriceBook(None).cost(profile("ollama:x"), Usage(1000, 1000), "") == 0
    book, model = book_with("openai:nonesuch-9", "openai")
    assert book.cost(model, Usage(1, 1), "openai") == -1


def test_what_was_learnt_outlives_the_process(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "models.json"
    learnt = PriceBook(path).learn(SONNET, "anthropic")
    assert learnt.window == 200_000
    again = PriceBook(path)
    assert again.known(SONNET) == learnt
    assert not again.stale(SONNET)
    assert again.stale("openai:gpt-5")


def test_what_the_server_says_of_its_window_goes_before_the_table() -> None:
    assert PriceBook(None).learn("vllm:qwen", "", window=4096).window == 4096


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff", b'{"a":{"window":"big"}}'])
def test_a_damaged_cache_is_an_empty_one(damage: bytes, tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    path.write_bytes(damage)
    book = PriceBook(path)
    assert book.known(SONNET) is None
    book.learn("x:y", "")
    assert PriceBook(path).known("x:y") is not None


def test_a_cache_that_cannot_be_written_costs_nothing_but_the_look_up(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert isinstance(PriceBook(tmp_path / "file" / "models.json").learn("x:y", ""), KnownModel)


def test_the_way_to_the_first_request_loads_no_price_table_and_no_http() -> None:
    code = (
        "import sys\n"
        "from angelia.models import registry\n"
        "from angelia.models.catalog import credentials\n"
        "from angelia.http import client\n"
        "from angelia.models.wires import anthropic, openai_chat, openai_responses\n"
        "from angelia.models.catalog.prices import PriceBook\n"
        "from angelia.models.catalog.vendors import profile\n"
        f"profile('{SONNET}', known=PriceBook(None).known('{SONNET}'))\n"
        "heavy = {'genai_prices', 'pydantic', 'PIL', 'rich', 'email', 'importlib.metadata', 'httpx2'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
