"""The passages of a page that answer a question."""

from hypothesis import given
from hypothesis import strategies as st

from angelia.tools.web.passages import MOST, find_passages

PAGE = """# The orchard

Welcome to all who come by.

## Trees

### Plums

Plums ripen in August, and are picked by hand.

Their stones are kept for the winter.

### Pears

Pears ripen later.

## Opening hours

| day | hours |
|---|---|
| Monday | 8 to 12 |
| Sunday | closed |

```sh
# this is no heading
pick --plums
```
"""


def test_a_question_finds_its_passage_under_its_headings() -> None:
    assert find_passages(PAGE, "opening on Sunday?").startswith(
        "The orchard › Opening hours\n\n| day | hours |\n|---|---|\n| Monday | 8 to 12 |\n| Sunday | closed |"
    )


def test_endings_do_not_matter_and_the_order_is_the_pages() -> None:
    found = find_passages(PAGE, "ripening")
    assert found == (
        "The orchard › Trees › Plums\n\nPlums ripen in August, and are picked by hand.\n\n"
        "The orchard › Trees › Pears\n\nPears ripen later."
    )


def test_what_stands_in_no_passage_is_not_found() -> None:
    assert find_passages(PAGE, "aeroplanes") == ""
    assert find_passages("", "plums") == ""
    assert find_passages(PAGE, "") == ""


def test_code_stays_whole_and_is_no_heading() -> None:
    assert "```sh\n# this is no heading\npick --plums\n```" in find_passages(PAGE, "pick")


def test_a_gap_is_marked_and_a_neighbour_is_not() -> None:
    page = "# A\n\nplum one\n\nplum two\n\nnothing\n\nplum three\n"
    assert find_passages(page, "plum") == "A\n\nplum one\n\nplum two\n\n…\n\nplum three"


@given(st.text(alphabet="ab \n#`~|", max_size=400), st.text(alphabet="ab ", max_size=20))
def test_whatever_stands_there_only_its_own_words_are_shown(page: str, question: str) -> None:
    for line in find_passages(page, question).splitlines():
        assert line in ("", "…", "(above the first heading)") or " › " in line or line.strip() in page


def test_a_huge_page_gives_no_more_than_a_few_thousand_characters() -> None:
    page = "\n\n".join(f"## Part {n}\n\nplum {n} " + "word " * 500 for n in range(400))
    found = find_passages(page, "plum")
    assert 0 < len(found) < MOST + 1_000
