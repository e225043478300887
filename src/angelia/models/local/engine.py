"""llama.cpp in this process: one model is loaded at a time, on first use, and one request runs at a time."""

import asyncio
import secrets
import tempfile
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from angelia.core.errors import MissingPart, ModelError
from angelia.core.failure import Failure, FailureKind

DECIDING, ANSWERING = 0, 1
"""The two slots; each keeps the prompt it read last, so that only what is new is read again."""

_BATCH = 128
"""Tokens that are read in one go, and so how long a stop may take to be noticed: under a second."""
_DECISION_TOKENS = 1024
"""Tokens of memory beside the window, so that deciding never pushes a long conversation out."""
_KEPT_MIB = 128
"""Memory for prompts that lost their slot to another conversation."""

Chunk = Mapping[str, Any]
"""One chunk of a completion in OpenAI's shape, or an `error`."""


class LlamaEngine:
    """The loaded model and the one thread that runs it."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "local-model")
        self._model: Path | None = None
        self._server: Any = None

    async def run(self, model: Path, window: int, fields: Mapping[str, Any]) -> AsyncGenerator[Chunk]:
        """Complete a chat (`messages`) or a text (`prompt`) with the weights in `model`; chunks come as they are made.

        Requests of all conversations wait for each other. Closing the generator stops the work within a second.

        Raises:
            ModelFailed: the model cannot be loaded, or llama.cpp refuses the request.
        """
        loop = asyncio.get_running_loop()
        chunks: asyncio.Queue[Chunk | None] = asyncio.Queue()
        stopped = threading.Event()

        def take(chunk: Chunk) -> bool:
            """Called on the engine's thread; true ends the work. It must not raise: llama.cpp would go on."""
            if stopped.is_set():
                return True
            try:
                loop.call_soon_threadsafe(chunks.put_nowait, chunk)
            except RuntimeError:  # the event loop has ended, so nobody listens
                return True
            return False

        work = loop.run_in_executor(self._thread, self._run, (model, window), fields, take, stopped)
        work.add_done_callback(lambda _: chunks.put_nowait(None))
        try:
            while (chunk := await chunks.get()) is not None:
                yield chunk
            await work
        finally:
            stopped.set()
            work.cancel()

    def _run(
        self,
        model: tuple[Path, int],
        fields: Mapping[str, Any],
        take: Callable[[Chunk], bool],
        stopped: threading.Event,
    ) -> None:
        if stopped.is_set():
            return
        server = self._loaded(*model)
        complete = server.handle_chat_completions if "messages" in fields else server.handle_completions
        try:
            complete({"stream": True, "return_progress": True, "temperature": 0, **fields}, take)
        except (ValueError, RuntimeError) as error:  # a schema or a chat that the weights' template cannot take
            raise ModelError(Failure(FailureKind.HISTORY_REFUSED, said=str(error)[:500])) from error

    def _loaded(self, model: Path, window: int) -> Any:
        if self._server is None or self._model != model:
            self._server = None
            self._server = _load(model, window)
            self._model = model
        return self._server


def _load(weights: Path, window: int) -> Any:
    """Load weights (0.6 s for SmolLM2). llama.cpp always opens a listener: a socket that nobody can reach.

    It lies in a folder of ours alone, asks for a key that nobody has, and is unlinked at once.
    """
    try:
        from xllamacpp import CommonParams, Server
    except ImportError as error:
        raise MissingPart("The embedded model", "local") from error
    params = CommonParams()
    params.model.path = str(weights)
    params.n_ctx = window + _DECISION_TOKENS
    params.n_batch = _BATCH
    params.n_ubatch = _BATCH
    params.n_parallel = 2
    params.kv_unified = True
    params.cache_idle_slots = False
    params.cache_ram_mib = _KEPT_MIB
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads, cpu.poll = 1, 0  # faster than two on two shared cores, and the thread does not spin
    params.verbosity = -1
    params.warmup = False
    params.offline = True
    params.ui = False
    params.endpoint_slots = False
    params.n_threads_http = 1
    params.api_keys = [secrets.token_urlsafe(32)]
    with tempfile.TemporaryDirectory(prefix="angelia-") as folder:
        params.hostnames = [f"{folder}/closed.sock"]
        try:
            return Server(params)
        except RuntimeError as error:
            said = f"{weights} cannot be loaded: it is damaged, or of a kind that this llama.cpp does not know."
            raise ModelError(Failure(FailureKind.UNKNOWN_MODEL, said=said)) from error


ENGINE = LlamaEngine()
"""The one of this process: two would load the weights twice and fight for the same cores."""
