"""Looks at what refusals have taught about a model in the last conversations."""

from collections.abc import AsyncIterator

from angelia.context.limits import learnt_limits
from angelia.faces.cli.checkup.finding import Finding, well
from angelia.faces.cli.opening import short
from angelia.service.assemble import House

_CONVERSATIONS = 10


async def look_at_learnt_limits(house: House, spec: str) -> AsyncIterator[Finding]:
    """A finding for each recent conversation in which the provider named a limit of `spec`; each holds there alone."""
    for summary in await house.transcript.conversations(_CONVERSATIONS):
        learnt = learnt_limits(await house.transcript.entries(summary.id), spec)
        named = [f"a window of {learnt.tokens:,} tokens"] if learnt.tokens else []
        named += [f"a body of {learnt.bytes:,} bytes"] if learnt.bytes else []
        if named:
            yield well("learnt limit", f"{' and '.join(named)}, in conversation {short(summary.id)}")
