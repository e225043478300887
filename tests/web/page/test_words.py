"""Numbers as the page says them."""

import pytest
from playwright.sync_api import Browser

from angelia.context.usage_meter import cost_words
from tests.web.page.visits import blank

pytestmark = [pytest.mark.real("chromium"), pytest.mark.slow]

SPANS = {
    -3: "0 s", 0.04: "0.0 s", 9.94: "9.9 s", 9.96: "10 s", 59.4: "59 s", 59.6: "1 min", 60: "1 min", 61: "1 min 1 s",
    119.7: "2 min", 600: "10 min", 3_599.6: "1 h", 3_600: "1 h", 3_659: "1 h", 5_400: "1 h 30 min", 7_200: "2 h",
    86_399.6: "1 d", 86_400: "1 d", 90_000: "1 d 1 h", 1_000_000: "11 d 13 h",
}  # fmt: skip
"""Seconds, and how long that is."""


def test_a_span_is_told_in_its_largest_unit_and_in_the_next_one_where_that_says_more(chrome: Browser) -> None:
    page = blank(chrome)
    said = page.evaluate(
        """async (all) => {
            const { duration } = await import("/js/words.js");
            return all.map(duration);
        }""",
        list(SPANS),
    )
    assert dict(zip(SPANS, said, strict=True)) == SPANS
    page.close()


def test_a_sum_of_money_reads_as_in_the_terminal(chrome: Browser) -> None:
    costs = [0, 1, 99, 100, 149, 1_234, 5_000, 9_999, 20_000, 99_960, 100_000, 505_000, 2_500_000, 1_234_567_890]
    sums = [{"cost": cost, "unpriced": unpriced} for cost in costs for unpriced in (0, 1)]
    page = blank(chrome)
    said = page.evaluate(
        """async (all) => {
            const { paid } = await import("/js/words.js");
            return all.map(paid);
        }""",
        sums,
    )
    assert [one.lower() for one in said] == [cost_words(one["cost"], one["unpriced"]) for one in sums]
    page.close()
