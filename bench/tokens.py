"""Rows about token estimates: how near they come to a real tokenizer on texts that ship with Python packages."""

import sysconfig
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

import msgspec

from angelia.context.tokens import text_tokens
from bench.rows import Row, Target, Yardstick

TARGET = Target(least=0.95, most=1.10)
_CHUNK = 4_000
_MOST = 60_000
"""Characters of a corpus, in pieces of `_CHUNK`, as long as a message is."""

PACKAGES = Path(sysconfig.get_path("purelib"))
STANDARD = Path(sysconfig.get_path("stdlib"))


def rows() -> Iterator[Row]:
    """The estimate's share of the tokens that tekken counts, by kind of text."""
    count = tokenizer()
    if count is None:
        yield Row("token estimates", "x", target=TARGET, note="mistral-common is missing: uv sync --group bench")
        return
    for name, text in corpora().items():
        pieces = [text[at : at + _CHUNK] for at in range(0, min(len(text), _MOST), _CHUNK)]
        true, estimated = sum(map(count, pieces)), sum(map(text_tokens, pieces))
        share = estimated / true
        yield Row(f"tokens estimated to true: {name}", "x", (share,), Yardstick("tekken", 1.0), TARGET)


def tokenizer() -> Callable[[str], int] | None:
    """Mistral's tekken (131,072 tokens, byte pairs as with OpenAI's), whose vocabulary ships with its package."""
    if find_spec("mistral_common") is None:
        return None
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    spec = find_spec("mistral_common")
    assert spec is not None
    assert spec.origin is not None
    tekken = Tekkenizer.from_file(Path(spec.origin).parent / "data" / "tekken_240911.json")
    return lambda text: len(tekken.encode(text, bos=False, eos=False))


def corpora() -> Mapping[str, str]:
    """Texts by kind. Those of people come with mimesis, in thirty languages; the others with whoever needs them."""
    languages = {
        "German": "de",
        "French": "fr",
        "Spanish": "es",
        "Polish": "pl",
        "Russian": "ru",
        "Greek": "el",
        "Arabic": "ar",
        "Chinese": "zh",
        "Japanese": "ja",
        "Korean": "ko",
    }
    said = {f"prose, {name}": spoken(code) for name, code in languages.items()}
    return {
        "prose, English": _readmes(),
        "manual": (STANDARD / "pydoc_data" / "topics.py").read_text("utf-8").encode().decode("unicode_escape"),
        "licences": _joined(PACKAGES.glob("*.dist-info/**/LICENSE*")),
        **{name: text for name, text in said.items() if text},
        "code, libraries": _joined((PACKAGES / "click").glob("*.py")),
        "code, standard library": _joined((STANDARD / "asyncio").glob("*.py")),
        "code, our own": _joined((Path(__file__).parents[1] / "src" / "angelia" / "engine").glob("*.py")),
        "JSON, compact": _json(),
        "JSON, indented": msgspec.json.format(_json().encode(), indent=2).decode(),
        "paths and hashes": _joined(PACKAGES.glob("*.dist-info/RECORD")),
        "numbers": "\n".join(f"{n},{n * n / 7:.3f},{n * 7919 % 100_003}" for n in range(2_000)),
    }


def spoken(language: str) -> str:
    """Sentences in a language."""
    spec = find_spec("mimesis")
    if spec is None or spec.origin is None:
        return ""
    read = msgspec.json.decode((Path(spec.origin).parent / "datasets" / language / "text.json").read_bytes())
    return "\n".join((*read.get("text", ()), *read.get("quotes", ())))


def _readmes() -> str:
    """The long descriptions of packages, without their head of names and versions."""
    return "\n".join(
        path.read_text("utf-8").partition("\n\n")[2] for path in sorted(PACKAGES.glob("*.dist-info/METADATA"))
    )


def _json() -> str:
    """Close JSON of the kind that programs print: a list of objects with names, words and numbers."""
    spec = find_spec("mimesis")
    if spec is None or spec.origin is None:
        return "[]"
    folder = Path(spec.origin).parent / "datasets" / "en"
    read = [msgspec.json.decode(path.read_bytes()) for path in sorted(folder.glob("*.json")) if path.stem != "text"]
    return msgspec.json.encode(read).decode()


def _joined(paths: Iterator[Path]) -> str:
    return "\n".join(path.read_text("utf-8") for path in sorted(paths) if path.is_file())
