"""The agents whose homes can be read."""

from angelia.service.imports.claude_code import CLAUDE_CODE
from angelia.service.imports.hermes import HERMES
from angelia.service.imports.openclaw import OPENCLAW

AGENTS = {one.name: one for one in (HERMES, OPENCLAW, CLAUDE_CODE)}
"""By the names that they are called by here."""
