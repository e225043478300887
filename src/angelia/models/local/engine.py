"""llama.cpp in this process: one model is loaded at a time, on first use, and one request runs at a time."""

import asyncio
import hashlib
import logging
import secrets
import shutil
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from angelia.core.errors import ModelError
from angelia.core.failure import Failure, FailureKind
from angelia.held_folder import HeldFolder
from angelia.models.local.cores import cores
from angelia.models.local.runtime import load_runtime

DECIDING, ANSWERING = 0, 1
"""The two slots; each keeps the prompt it read last, so that only what is new is read again."""

_BATCH = 128
"""Tokens that are read in one go, and so how long a stop may take to be noticed: under a second."""
_DECISION_TOKENS = 1024
"""Tokens of memory beside the window, so that deciding never pushes a long conversation out."""
_KEPT_BEGINNINGS = 2
"""Of other prompts than today's, such as those of `angelia doctor`; some megabytes each."""
_KEPT_MIB = 128
"""Memory for prompts that lost their slot to another conversation."""

logger = logging.getLogger("angelia.models")

Chunk = Mapping[str, Any]
"""One chunk of a completion in OpenAI's shape, or an `error`."""


Beginnings = Mapping[int, Sequence[Mapping[str, str]]]
"""How the prompts of a slot begin: the chat that is read once for all of them."""


class LocalModel(Struct, frozen=True):
    """A file of weights, and the tokens that are read and written together. What they have read of how prompts begin is
    kept in `folder`.
    """

    weights: Path
    window: int
    folder: Path

    def state(self, beginning: Sequence[Mapping[str, str]]) -> Path:
        """Where it is kept what these weights have read of a chat; of use to this very runtime alone."""
        facts = self.weights.stat()
        known = (version("xllamacpp"), facts.st_size, facts.st_mtime_ns, self.window, beginning)
        digest = hashlib.sha256(msgspec.json.encode(known)).hexdigest()[:16]
        return self.folder / "read" / f"{self.weights.stem}-{digest}"


class LlamaEngine:
    """The loaded model and the one thread that runs it."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "local-model")
        self._model: LocalModel | None = None
        self._server: Any = None

    async def run(self, model: LocalModel, beginnings: Beginnings, fields: Mapping[str, Any]) -> AsyncGenerator[Chunk]:
        """Complete a chat (`messages`) or a text (`prompt`) ; chunks come as they are made. Where the weights are not
        loaded yet, the `beginnings` are read with them.

        Requests of all conversations wait for each other. Closing the generator stops the work within a second.

        Raises:
            ModelError: the model cannot be loaded, or llama.cpp refuses the request.
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

        work = loop.run_in_executor(self._thread, self._run, model, beginnings, fields, take, stopped)
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
        model: LocalModel,
        beginnings: Beginnings,
        fields: Mapping[str, Any],
        take: Callable[[Chunk], bool],
        stopped: threading.Event,
    ) -> None:
        if stopped.is_set():
            return
        server = self._loaded(model, beginnings)
        complete = server.handle_chat_completions if "messages" in fields else server.handle_completions
        try:
            complete({"stream": True, "return_progress": True, "temperature": 0, **fields}, take)
        except (ValueError, RuntimeError) as error:  # a schema or a chat that the weights' template cannot take
            raise ModelError(Failure(FailureKind.HISTORY_REFUSED, said=str(error)[:500])) from error

    def _loaded(self, model: LocalModel, beginnings: Beginnings) -> Any:
        if self._server is None or self._model != model:
            self._server = None
            self._server = _load(model, beginnings)
            self._model = model
        return self._server


def _load(model: LocalModel, beginnings: Beginnings) -> Any:
    """Load weights (0.6 s for SmolLM2), with what they have read of `beginnings` in an earlier life.

    llama.cpp always opens a listener: a socket in a folder of ours alone, which asks for a key that nobody else has. It
    is how the state of a slot is taken and put back, and unlinked before anything else is asked.
    """
    runtime = load_runtime()
    params = runtime.CommonParams()
    params.model.path = str(model.weights)
    params.n_ctx = model.window + _DECISION_TOKENS
    params.n_batch = _BATCH
    params.n_ubatch = _BATCH
    params.n_parallel = 2
    params.kv_unified = True
    params.cache_idle_slots = False
    params.cache_ram_mib = _KEPT_MIB
    # Each core helps to read. What is written comes step by step, each as late as its last thread: on a core that
    # others wanted as well it took twice as long, so one is left to them. No thread spins while it waits.
    reading, writing = params.cpuparams_batch, params.cpuparams
    reading.n_threads, reading.poll = cores(), 0
    writing.n_threads, writing.poll = max(cores() - 1, 1), 0
    params.verbosity = -1
    params.warmup = False
    params.fit_params = False  # that loads all of it twice, to find out what fits on a GPU
    params.offline = True
    params.ui = False
    params.endpoint_slots = True
    params.n_threads_http = 1
    key = secrets.token_urlsafe(32)
    params.api_keys = [key]
    with HeldFolder() as folder:
        params.hostnames = [f"{folder}/closed.sock"]
        params.slot_save_path = f"{folder}/"
        try:
            server = runtime.Server(params)
        except RuntimeError as error:
            said = f"{model.weights} cannot be loaded: it is damaged, or of a kind that this llama.cpp does not know."
            raise ModelError(Failure(FailureKind.UNKNOWN_MODEL, said=said)) from error
        _read(server, model, beginnings, folder, key)
    return server


def _read(server: Any, model: LocalModel, beginnings: Beginnings, folder: Path, key: str) -> None:
    """Have the beginnings of prompts read: from the disk, or now, and then they are kept for the next life.

    The first word comes after 4 s instead of 32 with 1.5 billion weights on one core. Without room on the disk they are
    read each time.
    """
    import httpx2

    transport = httpx2.HTTPTransport(uds=str(folder / "closed.sock"))
    with httpx2.Client(transport=transport, headers={"authorization": f"Bearer {key}"}, timeout=60.0) as client:

        def done(action: str, slot: int, moved: Path) -> bool:
            url = f"http://closed/slots/{slot}?action={action}"
            return client.post(url, json={"filename": moved.name}).status_code == 200

        try:
            for slot, beginning in beginnings.items():
                kept, moved = model.state(beginning), folder / f"state-{slot}"
                if kept.is_file():
                    moved.symlink_to(kept)
                    if done("restore", slot, moved):
                        continue
                    moved.unlink()
                fields = {"messages": list(beginning), "max_tokens": 1, "id_slot": slot}
                server.handle_chat_completions(fields, lambda _: False)
                if done("save", slot, moved):
                    kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    shutil.copyfile(moved, f"{kept}.part")
                    Path(f"{kept}.part").replace(kept)
            wanted = {model.state(beginning) for beginning in beginnings.values()}
            others = set((model.folder / "read").glob(f"{model.weights.stem}-*")) - wanted
            for older in sorted(others, key=lambda path: path.stat().st_mtime)[:-_KEPT_BEGINNINGS]:
                older.unlink()
        except (OSError, ValueError, RuntimeError, httpx2.HTTPError) as error:
            logger.info("What a model has read of its prompt is not kept: %s", error)


ENGINE = LlamaEngine()
"""The one of this process: two would load the weights twice and fight for the same cores."""
