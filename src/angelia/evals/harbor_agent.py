"""An agent for Harbor (https://harborframework.com), the harness of Terminal-Bench 2.

    harbor run -p tasks/ --agent angelia.evals.harbor_agent:HarborAgent -m anthropic/claude-sonnet-5-5

Angelia runs beside Harbor, on whose machine the conversation stays; what its model does is done in the task's sandbox.
"""

from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent
from harbor.agents.capabilities import AgentCapabilities
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

from angelia.core.errors import AngeliaError
from angelia.core.version import PACKAGE_VERSION
from angelia.faces.python.agent import Agent
from angelia.faces.python.answers import Answer, NotAnswered
from angelia.faces.python.conversation import Conversation
from angelia.sandboxes.harness.lending import lent

TRAJECTORY = "trajectory.json"
"""Where Harbor looks for what an agent did, in its folder of logs (ATIF)."""


class HarborAgent(BaseAgent):  # type: ignore[misc]  # Harbor needs Python 3.12, where ours is checked with 3.11
    """Angelia as an agent of Harbor.

    `home` and `settings` are those of `angelia.Agent` (`--ak home=/srv/evals`). The model is Harbor's (`-m`), its
    provider by our name; `openai/gpt-5-mini` is `openai:gpt-5-mini`. A turn that ends otherwise than with an answer is
    told in the trial's metadata and in its log, and what it left is judged as it stands.
    """

    capabilities = AgentCapabilities(atif=True)

    def __init__(self, *given: Any, home: str = "", settings: dict[str, Any] | None = None, **named: Any) -> None:
        super().__init__(*given, **named)
        self._home, self._settings = home, dict(settings or {})

    @staticmethod
    def name() -> str:
        """What its results are called by."""
        return "angelia"

    def version(self) -> str:
        """Ours."""
        return PACKAGE_VERSION

    async def setup(self, environment: BaseEnvironment) -> None:
        """Nothing is installed in the sandbox."""

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        """Do the task.

        Raises:
            AngeliaError: the model, the home or the sandbox cannot be had; nothing was asked.
        """
        where = await environment.exec("pwd")
        if where.return_code or not (folder := (where.stdout or "").strip()).startswith("/"):
            raise AngeliaError(f"The task's sandbox does not tell its working folder: {where.stderr or where.stdout}.")
        with lent(environment, folder) as sandbox:
            settings = {**self._settings, "context.notes": False, "sandbox.spec": sandbox}
            model = (self.model_name or "").replace("/", ":", 1)
            async with Agent(model=model, home=self._home, settings=settings) as ours, ours.conversation() as talk:
                try:
                    came: Answer | NotAnswered | None = None
                    came = await talk.ask(instruction)
                except NotAnswered as error:
                    came = error
                    self.logger.warning("%s", error)
                finally:  # its time may have ended too
                    _tell(context, talk, came)
                    Path(self.logs_dir, TRAJECTORY).write_text(await talk.atif(), "utf-8")


def _tell(context: AgentContext, talk: Conversation, came: Answer | NotAnswered | None) -> None:
    steps = [step for step in talk.steps if step.model]
    context.n_input_tokens = sum(step.usage.input for step in steps)
    context.n_cache_tokens = sum(step.usage.cache_read for step in steps)
    context.n_output_tokens = sum(step.usage.output for step in steps)
    context.cost_usd = None if any(step.cost < 0 for step in steps) else sum(step.cost for step in steps) / 1e6
    ending = type(came.ending).__name__ if isinstance(came, NotAnswered) else "Answered" if came else "cut off"
    context.metadata = {"conversation": talk.id, "ending": ending, "steps": len(steps)}
