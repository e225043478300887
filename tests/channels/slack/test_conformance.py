"""Slack's channel keeps the port's promise by Socket Mode, and hears as well over webhooks."""

import pytest

from angelia.channels.slack.capabilities import capabilities
from angelia.testing.channels.checks import ChannelCheck, checks
from angelia.testing.channels.connection import connection_checks
from angelia.testing.channels.incoming import incoming_checks
from tests.channels.slack.network import slack, slack_by_http

pytestmark = pytest.mark.anyio


@pytest.mark.soak(every=2)
@pytest.mark.parametrize("check", checks(capabilities()), ids=lambda check: check.name)
async def test_slack(check: ChannelCheck) -> None:
    await check.run(slack)


@pytest.mark.parametrize("check", incoming_checks(capabilities()) + connection_checks(), ids=lambda check: check.name)
async def test_slack_by_http(check: ChannelCheck) -> None:
    await check.run(slack_by_http)
