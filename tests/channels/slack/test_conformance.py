"""Slack's room keeps the port's promise by Socket Mode, and hears as well over webhooks."""

import pytest

from angelia.channels.slack.table import abilities
from angelia.testing.channel_checks import Check, checks
from angelia.testing.channel_connection import connection_checks
from angelia.testing.channel_hearing import hearing_checks
from tests.channels.slack.network import slack, slack_by_http

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("check", checks(abilities()), ids=lambda check: check.name)
async def test_slack(check: Check) -> None:
    await check.run(slack)


@pytest.mark.parametrize("check", hearing_checks(abilities()) + connection_checks(), ids=lambda check: check.name)
async def test_slack_by_http(check: Check) -> None:
    await check.run(slack_by_http)
