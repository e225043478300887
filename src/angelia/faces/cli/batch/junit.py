"""Results as JUnit XML, which build servers show: a suite for each model, a case for each try at a task.

There is no standard; this is what Jenkins, GitLab and pytest agree on (`testsuites/testsuite/testcase`, with `failure`
for a no and `error` for no verdict).
"""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from angelia.core.visible import visible
from angelia.faces.cli.batch.result_words import in_words, outcome_words
from angelia.service.batches.results import TrialResult


def junit(name: str, results: Sequence[TrialResult]) -> bytes:
    """The whole file."""
    root = ET.Element("testsuites", name=visible(name))
    for model in dict.fromkeys(result.model for result in results):
        own = [result for result in results if result.model == model]
        suite = ET.SubElement(
            root,
            "testsuite",
            name=visible(model),
            tests=str(len(own)),
            failures=str(sum(_failed(result) for result in own)),
            errors=str(sum(result.broken for result in own)),
            skipped=str(sum(not result.outcome for result in own)),
            time=f"{sum(result.seconds for result in own):.3f}",
        )
        for result in own:
            _case(suite, result)
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _failed(result: TrialResult) -> bool:
    return bool(result.outcome) and not result.passed and not result.broken


def _case(suite: ET.Element, result: TrialResult) -> None:
    name = result.task if result.number == 1 else f"{result.task} (try {result.number})"
    case = ET.SubElement(
        suite, "testcase", classname=visible(result.model), name=visible(name), time=f"{result.seconds:.3f}"
    )
    told = visible(result.why)
    if result.broken:
        error = ET.SubElement(case, "error", type=result.outcome, message=outcome_words(result.outcome))
        error.text = told
    elif _failed(result):
        failure = ET.SubElement(case, "failure", type=result.outcome, message=told[:200])
        failure.text = told
    elif not result.outcome:
        ET.SubElement(case, "skipped", message=f"no check; the turn ended: {in_words(result.ending)}")
    out = ET.SubElement(case, "system-out")
    out.text = visible(f"{result.answer}\n\nangelia show {result.conversation}")
