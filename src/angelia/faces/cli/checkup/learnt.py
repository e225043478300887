"""Looks at what refusals have taught about a model in the last conversations."""

from collections.abc import AsyncIterator

from angelia.context.limits import learnt_limits
from angelia.core.ids import short
from angelia.core.principal import OWNER
from angelia.faces.cli.checkup.check_result import CheckResult, well
from angelia.service.app import App

_CONVERSATIONS = 10


async def look_at_learnt_limits(app: App, spec: str) -> AsyncIterator[CheckResult]:
    """A finding for each recent conversation in which the provider named a limit of `spec`; each holds there alone."""
    for summary in await app.transcript.conversations(OWNER, _CONVERSATIONS):
        learnt = learnt_limits(await app.transcript.entries(summary.id), spec)
        named = [f"a window of {learnt.tokens:,} tokens"] if learnt.tokens else []
        named += [f"a body of {learnt.bytes:,} bytes"] if learnt.bytes else []
        if named:
            yield well("learnt limit", f"{' and '.join(named)}, in conversation {short(summary.id)}")
