"""`angelia batch`: begun or gone on with; the table on stdout, the live one on stderr, all results in a folder."""

import asyncio
import gc
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec.structs import replace

from angelia.cancellation import cancel_and_wait
from angelia.core.counts import counted
from angelia.core.errors import BadInput
from angelia.core.text import one_line
from angelia.end_signals import SIGNALS, asked_to_end
from angelia.faces.cli import exits
from angelia.faces.cli.batch.live_table import LiveTable
from angelia.faces.cli.batch.result_words import result_table
from angelia.faces.cli.options import Amount, Whole, loaded_from, settings_options
from angelia.faces.words.output import canvas, echo, echo_json
from angelia.faces.words.paint import Paint

if TYPE_CHECKING:
    from angelia.service.app import App
    from angelia.service.batches.runner import BatchDeps, BatchPlan, BatchRunner
    from angelia.service.batches.tasks import Task

_PATH = click.Path(path_type=Path)
_MOST_REASONS = 5


@click.command(
    epilog=(
        "\b\n"
        "Example:\n"
        "  angelia batch tasks.jsonl --check check.py --model openai:gpt-5-mini\n"
        "\n"
        "\b\n"
        "Exit codes:\n"
        "  0   every trial has a result\n"
        "  1   some could not be done\n"
        "  3   stopped by a person\n"
        "  4   the cap was reached\n"
        "  5   a model cannot be had"
    )
)
@click.argument("tasks", type=_PATH)
@click.option("--model", "models", multiple=True, metavar="VENDOR:NAME", help="A model; repeatable.")
@click.option("--check", default="", metavar="FILE", help="A Python file, or a command run where the model worked.")
@click.option("--parallel", type=Whole(1, 256), default=4, show_default=True, help="How many at once.")
@click.option(
    "--tries", type=Whole(1, 1000), default=1, show_default=True, help="How often each model tries each task."
)
@click.option("--max-cost", "whole_cost", type=Amount(min=0), help="US dollars for the whole batch, at most.")
@click.option("--max-steps", type=Whole(min=0), help="Model calls for one task, at most.")
@click.option("--max-seconds", type=Whole(min=0), help="Seconds for one task, at most.")
@click.option("--sandbox", metavar="NAME", help="Where tasks are done, each in a sandbox of its own (default: as set).")
@click.option("-o", "--output", type=_PATH, help="The batch's folder (default: TASKS-batch in the current folder).")
@click.option(
    "--leave-out",
    is_flag=True,
    help="Leave out, by name, tasks of a benchmark that cannot be done here; do the others.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON lines instead of the table.")
@settings_options
def batch(tasks: Path, output: Path | None, **given: Any) -> int:
    """Run the tasks of a file, check what came of each, and count. Run again, it goes on where it was; nothing is paid
    twice.
    """
    folder = output or Path(f"{tasks.resolve().stem}-batch")
    gc.enable()  # each task goes in circles, and there may be thousands
    return asyncio.run(_batch(tasks, folder, given))


async def _batch(source: Path, folder: Path, given: dict[str, Any]) -> int:
    from angelia.service.app import App
    from angelia.service.batches.batch_file import BatchIdentity, held_batch
    from angelia.service.batches.runner import BatchPlan
    from angelia.service.batches.tasks import digest_of, read_tasks

    left_out: list[BadInput] = []
    tasks = read_tasks(source, given["check"], left_out if given.pop("leave_out") else None)
    for why in left_out:
        echo(f"angelia: left out: {one_line(str(why), 400)}", err=True)
    loaded = loaded_from({**given, "no_notes": True})
    app = await App.open_alone(loaded)
    try:
        models = await _models(app, given["models"], tasks)
        wanted = BatchIdentity("", digest_of(tasks), models, given["tries"], loaded.config.sandbox.spec)
        with held_batch(folder, wanted) as identity:
            capped = tuple(replace(task, max_cost=task.max_cost or loaded.config.limits.max_cost) for task in tasks)
            money = round((given["whole_cost"] or 0) * 1e6)
            plan = BatchPlan(
                identity.id, capped, models, folder.resolve(), given["tries"], given["parallel"], "", money
            )
            code = await _run(app, plan, source, as_json=given["as_json"])
            if left_out:
                echo(
                    f"angelia: left out, see above: {len(left_out)} of {counted(len(left_out) + len(tasks), 'task')}.",
                    err=True,
                )
            return code
    finally:
        await app.close()


async def _models(app: "App", named: tuple[str, ...], tasks: "tuple[Task, ...]") -> tuple[str, ...]:
    """The models that are meant; each can be named before anything is asked.

    Raises:
        ConfigError: one cannot.
    """
    from angelia.service.models.choice import choose

    models = tuple(dict.fromkeys(named))
    if not models and not all(task.model for task in tasks):
        models = ((await choose(app.loaded.config.model, app.model_catalog, app.key_value, None)).spec,)
    for model in {*models, *(task.model for task in tasks if task.model)}:
        app.model_catalog.profile(model)
    return models


def batch_deps(app: "App") -> "BatchDeps":
    """What a batch needs of an open home."""
    from angelia.service.batches.runner import BatchDeps
    from angelia.service.places.presets import chosen

    sandboxes = app.loaded.config.sandbox
    return BatchDeps(
        app.conversations,
        app.transcript,
        app.blobs,
        app.attachments,
        app.model_catalog.profile,
        app.places.end,
        lambda name: chosen(sandboxes, name),
        app.loaded.config.limits,
    )


async def _run(app: "App", plan: "BatchPlan", source: Path, *, as_json: bool) -> int:
    from angelia.service.batches.runner import BatchRunner

    shown = LiveTable(Paint.of(canvas()), sum(1 for _ in plan.trials()))
    runner = BatchRunner(batch_deps(app), plan, shown.tell)
    stopped = await _until_done(runner, shown)
    order = {(trial.task.id, trial.model, trial.number): place for place, trial in enumerate(plan.trials())}
    runner.results.sort(key=lambda result: order[result.task, result.model, result.number])
    _write(plan.folder, source.resolve().stem, runner)
    _tell(plan, runner, as_json=as_json, stopped=stopped)
    return _code(runner, stopped=stopped)


async def _until_done(runner: "BatchRunner", shown: LiveTable) -> bool:
    """Run it, with the table beside it; whether a person stopped it. What runs then stays open in its log."""
    work, stop = asyncio.create_task(runner.run()), asyncio.create_task(asked_to_end().wait())
    drawing = asyncio.create_task(shown.keep_drawing(runner))
    try:
        await asyncio.wait([work, stop], return_when=asyncio.FIRST_COMPLETED)
        if stop.done():
            work.cancel()
            await asyncio.wait([work])
    finally:
        for number in SIGNALS:
            asyncio.get_running_loop().remove_signal_handler(number)
        await cancel_and_wait(stop, drawing)
        shown.clear()
    if work.cancelled():
        return True
    work.result()
    return False


def _write(folder: Path, name: str, runner: "BatchRunner") -> None:
    """The results in three forms; each file is whole or the one before."""
    from angelia.faces.cli.batch.junit import junit
    from angelia.faces.cli.batch.page import page

    lines = b"".join(msgspec.json.encode(result) + b"\n" for result in runner.results)
    for file, data in (
        ("results.jsonl", lines),
        ("junit.xml", junit(name, runner.results)),
        ("report.html", page(name, runner.results, len(runner.left)).encode()),
    ):
        unfinished = folder / f".{file}.part"
        try:
            unfinished.write_bytes(data)
            os.replace(unfinished, folder / file)  # noqa: PTH105 - `Path.replace` is no clearer
        except OSError as error:
            why = error.strerror or error
            raise BadInput(f"{folder / file} cannot be written: {why}. The results are in the log.") from error
        finally:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)


def _tell(plan: "BatchPlan", runner: "BatchRunner", *, as_json: bool, stopped: bool) -> None:
    if as_json:
        for result in runner.results:
            echo_json(msgspec.json.encode(result))
    elif runner.results:
        echo("\n".join(result_table(runner.results)))
    if runner.found:
        were = f"{counted(runner.found, 'result')} {'was' if runner.found == 1 else 'were'} there from before"
        echo(f"angelia: {were}; nothing was paid for again.", err=True)
    reasons: dict[str, int] = {}
    for why in runner.left.values():
        reasons[why] = reasons.get(why, 0) + 1
    for why, number in sorted(reasons.items(), key=lambda one: -one[1])[:_MOST_REASONS]:
        echo(f"angelia: {number} without a result: {one_line(why, 400)}", err=True)
    if stopped or runner.left:
        echo("angelia: the same command goes on where this one ended; nothing is paid twice.", err=True)
    if plan.max_cost and any(result.unpriced for result in runner.results):
        echo("angelia: the price of some replies is unknown, and --max-cost does not count them.", err=True)
    echo(f"angelia: {plan.folder}/report.html, results.jsonl and junit.xml hold all of it", err=True)


def _code(runner: "BatchRunner", *, stopped: bool) -> int:
    if stopped:
        return 3
    if runner.halted:
        return 4
    if runner.away:
        return 5
    return exits.FAILED if runner.left else exits.OK
