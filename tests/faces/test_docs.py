"""Documents are read by the program itself, wherever it was installed."""

from tests.faces.angelia import Place


def test_every_page_is_listed_with_its_title_and_shown_as_it_was_written(place: Place) -> None:
    listed = place.run("docs").out.splitlines()
    assert listed[0].split() == ["PAGE", "TELLS"]
    assert ["irc", "IRC"] in [line.split() for line in listed]
    assert ["reference/settings", "Settings"] in [line.split() for line in listed]
    shown = place.run("docs", "irc").out
    assert shown.startswith("# IRC\n")
    assert "$ angelia channels add irc" in shown
    assert not place.home.exists(), "reading leaves nothing behind"


def test_a_page_that_there_is_not_is_told_with_those_like_it(place: Place) -> None:
    ended = place.run("docs", "ircc")
    assert (ended.code, ended.out) == (2, "")
    assert "There is no page 'ircc'. Perhaps irc?" in ended.err


def test_the_shell_completes_pages(place: Place) -> None:
    ended = place.run(_ANGELIA_COMPLETE="bash_complete", COMP_WORDS="angelia docs reference/set", COMP_CWORD="2")
    assert ended.out.split() == ["plain,reference/settings"]
