"""What providers say when they refuse is understood, and how long they ask us to wait."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from angelia.core.failure import FailureKind
from angelia.models.wires.failures import PHRASES, of_response, of_stream
from angelia.models.wires.retry_after import wait_of

CASES: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("vendor_errors.toml").read_text("utf-8"))["case"]
NOW = 1_700_000_000.0


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['vendor']}-{case['kind']}-{case['status']}")
def test_a_real_refusal_is_understood(case: dict[str, Any]) -> None:
    body = case["body"].encode()
    if case.get("stream"):
        failure = of_stream(body, NOW)
    else:
        failure = of_response(case["status"], case.get("headers", {}), body, NOW)
        assert failure.status == case["status"]
    assert failure.kind == case["kind"]
    assert failure.limit == case.get("limit", 0)
    assert failure.retry_after == case.get("retry_after", 0)
    assert 0 < len(failure.said) <= 500


def test_every_kind_that_a_provider_can_tell_of_has_a_real_example() -> None:
    told = {kind for kind, _ in PHRASES} | {FailureKind.UNREACHABLE}
    assert {case["kind"] for case in CASES} == {kind.value for kind in told}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, FailureKind.HISTORY_REFUSED),
        (401, FailureKind.LOGIN_REJECTED),
        (403, FailureKind.LOGIN_REJECTED),
        (404, FailureKind.WRONG_ADDRESS),
        (405, FailureKind.WRONG_ADDRESS),
        (408, FailureKind.UNREACHABLE),
        (413, FailureKind.BODY_TOO_LARGE),
        (422, FailureKind.HISTORY_REFUSED),
        (429, FailureKind.BUSY),
        (500, FailureKind.UNREACHABLE),
        (503, FailureKind.UNREACHABLE),
        (302, FailureKind.UNREACHABLE),
    ],
)
def test_without_words_the_status_decides(status: int, kind: FailureKind) -> None:
    failure = of_response(status, {}, b"", NOW)
    assert (failure.kind, failure.said) == (kind, f"HTTP {status}")


def test_what_an_upstream_said_is_quoted_behind_the_router() -> None:
    body = b'{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"prompt is too long"}}}'
    failure = of_response(400, {}, body, NOW)
    assert failure.kind is FailureKind.CONTEXT_TOO_LONG
    assert failure.said == "Provider returned error: prompt is too long"


def test_a_page_in_the_provider_s_place_is_quoted_by_its_title() -> None:
    page = b"<html><head><title>502 Bad Gateway</title></head><body><h1>Sorry</h1></body></html>"
    assert of_response(502, {}, page, NOW).said == "502 Bad Gateway"


def test_a_body_that_is_no_text_is_still_a_failure() -> None:
    assert of_response(500, {}, b"\xff\xfe\x00" + b"[" * 100_000, NOW).kind is FailureKind.UNREACHABLE


@pytest.mark.parametrize(
    ("headers", "text", "wait"),
    [
        ({"retry-after-ms": "250", "retry-after": "1"}, "", 250),
        ({"retry-after": "2.5"}, "", 2500),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:30 GMT"}, "", 10_000),
        ({"retry-after": "soon"}, "", 0),
        ({"retry-after": "-5"}, "", 0),
        ({}, "Please try again in 6m0s.", 360_000),
        ({}, "Please try again in 20ms.", 20),
        ({}, "Please try again in 1h2m3s", 3_723_000),
        ({}, 'retryDelay": "7s"', 7000),
        ({}, "please retry in 3 seconds", 3000),
        ({}, "try again in a while", 0),
        ({"x-ratelimit-reset-tokens": "7.66s", "x-ratelimit-remaining-tokens": "0"}, "", 7660),
        ({"x-ratelimit-reset-requests": "2m59.56s", "x-ratelimit-remaining-requests": "14370"}, "", 0),
        ({"x-ratelimit-reset": "1700000005000"}, "", 5000),
        ({"x-ratelimit-reset": "1700000005"}, "", 5000),
        (
            {
                "anthropic-ratelimit-tokens-reset": "2023-11-14T22:13:40Z",
                "anthropic-ratelimit-tokens-remaining": "0",
            },
            "",
            20_000,
        ),
        ({"retry-after": "Thu, 01 Jan 2026 00:01:00 GMT", "date": "Thu, 01 Jan 2026 00:00:00 GMT"}, "", 60_000),
        ({"retry-after": "Thu, 01 Jan 2015 00:01:00 GMT", "date": "Thu, 01 Jan 2015 00:00:00 GMT"}, "", 60_000),
        ({"x-ratelimit-reset": "1420070405", "date": "Thu, 01 Jan 2015 00:00:00 GMT"}, "", 5000),
        ({"retry-after": "2", "date": "some time"}, "", 2000),
        ({}, "", 0),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], text: str, wait: int) -> None:
    assert wait_of(headers, text, NOW) == wait
