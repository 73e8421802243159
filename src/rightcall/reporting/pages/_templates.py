"""Shared by all pages: templates, addresses, sortable tables, and escaping of text from outside."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar
from unicodedata import category
from urllib.parse import quote, urlencode

import msgspec

from rightcall.errors import missing_package
from rightcall.reporting.reports import printable, seconds_text as told_seconds, share_text
from rightcall.values.results import SIGNS, Difference, Totals
from rightcall.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


_NUMBER = re.compile(r"-?[0-9][0-9.eE+-]{0,40}")
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")
_SLUG = 40
# 64 bits: among a million names, the probability of a collision is one in 37 million.
_DIGEST = 16
_FOLDER = Path(__file__).parent
_ACCENTS = frozenset({"Mn", "Me"})
# Far more than any script needs: Vietnamese has two on a letter.
_MOST_ACCENTS = 8
_PILE = re.compile(r"[^\w\s\x00-\x7f]{9}")
"""Nine characters in a row that may be stacked accents: neither letters nor spaces. Almost no string has any."""
MOST_WHOLE = 200_000
"""The longest text that a page contains in full, collapsed, next to its shortened form."""
_MOST_MARKED = 400


_GLYPHS = {
    "passed": "M3.5 8.5l3 3 6-7",
    "failed": "M4.2 4.2l7.6 7.6M11.8 4.2l-7.6 7.6",
    "error": "M8 3v6.2M8 12.6v.1",
    "not_measured": "M5.7 6.1a2.35 2.35 0 1 1 3.5 2c-.8.45-1.2.9-1.2 1.7M8 12.7v.1",
    "match": "M3.5 8.5l3 3 6-7",
    "mismatch": "M3.5 6h9M3.5 10h9M10 3.2L6 12.8",
    "missing": "M3.5 8h9",
    "extra": "M3.5 8h9M8 3.5v9",
    "moved": "M5.5 12.5v-9M3 6l2.5-2.5L8 6M10.5 3.5v9M8 10l2.5 2.5L13 10",
    "skipped": "M8 8v.01",
    "rule": "M8 2.5l4.5 1.7v3.5c0 2.8-1.9 4.8-4.5 5.8-2.6-1-4.5-3-4.5-5.8V4.2z",
    "user": "M8 3.2a2.4 2.4 0 1 1 0 4.8 2.4 2.4 0 0 1 0-4.8M3.4 13.4c.4-2.6 2.2-4 4.6-4s4.2 1.4 4.6 4",
    "model": "M8 2.5c.5 3.4 1.8 4.9 5.5 5.5-3.7.6-5 2.1-5.5 5.5-.5-3.4-1.8-4.9-5.5-5.5 3.7-.6 5-2.1 5.5-5.5z",
    "system": "M3.5 4.5h9M3.5 8h9M3.5 11.5h5",
}
"""SVG paths of signs, 16 by 16, because fonts draw ticks differently and some swallow the blank after `≠`."""
_Row = TypeVar("_Row")
_LARGEST_FIRST = "-"


class Crumb(msgspec.Struct, frozen=True):
    """A breadcrumb: a link on the way to a page; the page itself has no address here."""

    text: str
    href: str = ""


class Links(msgspec.Struct, frozen=True):
    """The addresses of pages. An empty address means that the page does not exist, and is not linked.

    In a single-file report there are only anchors, for cases and calls. Other runs, tools and comparisons have none.
    """

    is_one_file: bool = False

    def runs(self, **query: str | int) -> str:
        """Return the address of all runs. Empty values are left out of the query."""
        return "" if self.is_one_file else f"/{_query(query)}"

    def run(self, run_id: str, **query: str | int) -> str:
        """Return the address of a run, filtered: `verdict`, `rule`, `tool` (its key), `q`, `case`, `k`, `page`."""
        return "#cases" if self.is_one_file else f"/runs/{_part(run_id)}{_query(query)}"

    def case(self, run_id: str, key: str, **query: str | int) -> str:
        """Return the address of a case by its key; `calls` is the page of its calls."""
        if self.is_one_file:
            return f"#case-{key}"
        return f"/runs/{_part(run_id)}/cases/{_part(key)}{_query(query)}"

    def tool(self, run_id: str, name: str, **query: str | int) -> str:
        """Return the address of a tool of a run, by its name."""
        return "" if self.is_one_file else f"/runs/{_part(run_id)}/tools/{key_of(name)}{_query(query)}"

    def act(self, run_id: str, action: str, key: str = "", **query: str | int) -> str:
        """Return the address of an edit: `accept` and `ignore` for a case, `baseline` for a run."""
        if self.is_one_file:
            return ""
        case = f"/cases/{_part(key)}" if key else ""
        return f"/runs/{_part(run_id)}{case}/{action}{_query(query)}"

    def mutants(self, run_id: str) -> str:
        """Return the address of the page of faults of a run."""
        return "" if self.is_one_file else f"/runs/{_part(run_id)}/mutants"

    def search(self, **query: str | int) -> str:
        """Return the address of a search over all runs, for `q`."""
        return "" if self.is_one_file else f"/search{_query(query)}"

    def trends(self, **query: str | int) -> str:
        """Return the address of the trends of one eval set and branch, or of all."""
        return "" if self.is_one_file else f"/trends{_query(query)}"

    def compare(self, before: str, after: str, ignored: Sequence[str] = (), **query: str | int) -> str:
        """Return the address of the comparison of two runs; `ignored` are arguments that are not compared."""
        more = "".join([_query({"ignore": name}).replace("?", "&") for name in ignored])
        return "" if self.is_one_file else f"/compare{_query({'a': before, 'b': after, **query})}{more}"

    def paths(self, **query: str | int) -> str:
        """Return the address of the paths of a run (`run`), or of two compared (`a`, `b`)."""
        return "" if self.is_one_file else f"/paths{_query(query)}"

    def beside(self, runs: Sequence[str], **query: str | int) -> str:
        """Return the address of the comparison of several runs."""
        more = _query(query).replace("?", "&")
        return "" if self.is_one_file else f"/compare?{urlencode([('run', run) for run in runs])}{more}"


def case_key(case_id: str, repeat: int = 0) -> str:
    """Return the key of a case, such as `laptop_search-1f0c9d2a7be45f10`, with `.1` for its second repeat.

    The beginning is readable; the digest makes the key unique. Ids never appear in a path as they are, because a trace
    may contain anything.
    """
    return key_of(case_id) + (f".{repeat}" if repeat else "")


def key_of(name: str) -> str:
    """Return the key of any name, such as a tool's: its letters, digits, `_` and `-`, and a digest."""
    slug = _OTHER.sub("-", name[: 4 * _SLUG]).strip("-")[:_SLUG]
    digest = sha256(name.encode(errors="surrogatepass")).hexdigest()[:_DIGEST]
    return f"{slug}-{digest}" if slug else digest


def _part(text: str) -> str:
    # An id may contain a lone surrogate, which has no UTF-8 form.
    return quote(text, safe="", errors="backslashreplace")


def _query(query: dict[str, str | int]) -> str:
    given = {key: value for key, value in query.items() if value not in ("", 0)}
    return f"?{urlencode(given, errors='backslashreplace')}" if given else ""


def render_part(template: str, page: Any, links: Links) -> Markup:
    """Render the content of a page without its frame, to be embedded in another page. Raises as `render` does."""
    from markupsafe import Markup

    # Safe as markup: `render` has escaped every value in it.
    return Markup(render(template, page, links, layout="part.html"))  # noqa: S704


def render(template: str, page: Any, links: Links, **more: Any) -> str:
    """Render a page as HTML. Every value is made visible and escaped, whatever the template does.

    Args:
        template: The name of the template, such as `run.html`.
        page: The data of the page, as `page` in the template.
        links: The addresses of other pages, as `links`.
        more: Other names for the template.

    Raises:
        MissingExtraError: Jinja is not installed.
    """
    return environment().get_template(template).render(page=page, links=links, **more)


@cache
def stylesheet() -> str:
    """Return the stylesheet: the files in `style`, joined in the order of their names."""
    return "\n".join([path.read_text(encoding="utf-8") for path in sorted((_FOLDER / "style").glob("*.css"))])


@cache
def script() -> str:
    """Return the script. Every page can be used without it."""
    return (_FOLDER / "script.js").read_text(encoding="utf-8")


@cache
def policy() -> str:
    """Return the Content-Security-Policy of a page with inline stylesheet and script, which allows nothing else."""
    style, code = [b64encode(sha256(text.encode()).digest()).decode() for text in (stylesheet(), script())]
    allowed = f"style-src 'sha256-{style}'; script-src 'sha256-{code}'; img-src data:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


@cache
def environment() -> Environment:
    """Return the Jinja environment of all templates. Raises `MissingExtraError`."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError:
        raise missing_package("web pages need jinja2") from None
    made = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_gate,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        # Folding constants takes a tenth of the time of reading templates, and saves next to nothing of a page.
        optimized=False,
    )
    made.filters |= {"count": "{:,}".format, "percent": percent, "pieces": pieces}
    made.filters |= {"score": score_text, "seconds": seconds_text}
    # The stylesheet and the script are files of this package: the only text that is not escaped.
    own = {"style": Markup(stylesheet()), "script": Markup(script()), "policy": policy()}  # noqa: S704
    made.globals |= {"own": own, "signs": SIGNS, "glyphs": _GLYPHS, "version": __version__}
    return made


class MessagePage(msgspec.Struct, frozen=True, kw_only=True):
    """A heading, sentences below it, and commands to try."""

    title: str
    sentences: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    trail: tuple[Crumb, ...] = ()
    is_running: bool = False


def message_html(page: MessagePage, links: Links) -> str:
    """Render a message. Raises `MissingExtraError`."""
    return render("message.html", page, links)


def _gate(value: Any) -> Any:
    """Return the text to write for a value: text from outside is made visible, markup of templates is kept.

    Jinja calls this for every expression (its `finalize`), so no template can forget it. `None` becomes nothing.
    """
    if value.__class__ is str:
        return visible(value)
    return "" if value is None else value


class ShownText(msgspec.Struct, frozen=True):
    """A string, or its beginning and end with the number of characters left out between them.

    `whole` is the full text, shown collapsed; empty if nothing was left out or it is too long for a page.
    """

    head: str
    tail: str = ""
    left_out: int = 0
    length: int = 0
    whole: str = ""

    def __str__(self) -> str:
        return f"{self.head} … {self.left_out:,} characters … {self.tail}" if self.left_out else self.head


def shown_text(text: str, most: int = 2_000, *, whole: bool = False, one_line: bool = False) -> ShownText:
    r"""Return a string of at most `most` characters, shortened in the middle, with escapes for invisible characters.

    Control, bidirectional and zero-width characters become escapes such as `\u202e`. With `whole`, a shortened text
    also has its full text, up to 200,000 characters.
    """
    length = len(text)
    if length <= most:
        return ShownText(visible(text, one_line=one_line), length=length)
    end = most // 3
    head, tail = [visible(part, one_line=one_line) for part in (text[: most - end], text[length - end :])]
    kept = visible(text, one_line=one_line) if whole and length <= MOST_WHOLE else ""
    return ShownText(head, tail, length - most, length, kept)


def visible(text: str, *, one_line: bool = False) -> str:
    r"""Escape characters that are invisible or would cover the lines around them.

    These are the characters that `printable` escapes, and every accent on a letter after the eighth (`\u0301`).
    """
    text = printable(text, one_line=one_line)
    if text.isascii() or not _PILE.search(text):
        return text
    calm: list[str] = []
    marks = 0
    for character in text:
        marks = marks + 1 if category(character) in _ACCENTS else 0
        calm.append(character if marks <= _MOST_ACCENTS else f"\\u{ord(character):04x}")
    return "".join(calm)


def pieces(text: str) -> list[tuple[str, bool]]:
    """Split a sentence at its backticks, and mark the parts inside them; an unpaired backtick is kept."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        parts[-2:] = [f"{parts[-2]}`{parts[-1]}"]
    return [(part, place % 2 == 1) for place, part in enumerate(parts) if part]


def score_text(score: float | None) -> str:
    """Return a score with two digits, or a dash if there is none."""
    return f"{score:.2f}" if score is not None else "–"


def seconds_text(seconds: float | None) -> str:
    """Return a duration, or a dash if it is unknown."""
    return told_seconds(seconds) if seconds is not None else "–"


def percent(part: float, of: float) -> str:
    """Return a share in percent."""
    return share_text(part / of) if of else "–"


def rate_text(totals: Totals, rate: float | None = None) -> str:
    """Return the given pass rate, else that of the totals, with the number of measured cases if not all were."""
    if rate is not None or totals.rate is None:
        return share_text(rate) if rate is not None else "–"
    measured = totals.measured.measured
    of = f" of {measured:,} measured" if measured < sum(msgspec.structs.astuple(totals)) else ""
    return f"{share_text(totals.rate)}{of}"


class Marked(msgspec.Struct, frozen=True):
    """A string with one part marked."""

    before: str
    marked: str
    after: str = ""


class Change(msgspec.Struct, frozen=True):
    """One difference: its path, a word for it, and the two values, of which one may be missing."""

    path: str
    word: str
    expected: Marked | None = None
    actual: Marked | None = None


def change_of(difference: Difference) -> Change:
    """Return a difference with its values marked from the first to the last character that differs.

    A matcher is not compared letter by letter with the value that does not satisfy it.
    """
    path = difference.name[:_MOST_MARKED]
    expected, actual = difference.expected, difference.actual
    if actual is None:
        return Change(path, "missing", Marked("", (expected or "")[:_MOST_MARKED]))
    if expected is None:
        return Change(path, "not expected", None, Marked("", actual[:_MOST_MARKED]))
    if expected.startswith('{"$'):
        word = "should not be there" if expected == '{"$absent": true}' else "does not satisfy"
        return Change(path, word, Marked("", expected[:_MOST_MARKED]), Marked("", actual[:_MOST_MARKED]))
    return Change(path, "", *marked_pair(expected[:_MOST_MARKED], actual[:_MOST_MARKED]))


def marked_pair(expected: str, actual: str) -> tuple[Marked, Marked]:
    """Return two strings, each with the differing part marked, between their common beginning and end.

    Numbers are marked as a whole, whichever of their digits differ.
    """
    if _NUMBER.fullmatch(expected) and _NUMBER.fullmatch(actual):
        return Marked("", expected), Marked("", actual)
    shorter = min(len(expected), len(actual))
    same = next((place for place in range(shorter) if expected[place] != actual[place]), shorter)
    tail = 0
    while tail < shorter - same and expected[-1 - tail] == actual[-1 - tail]:
        tail += 1
    first, second = [
        Marked(text[:same], text[same : len(text) - tail], text[len(text) - tail :]) for text in (expected, actual)
    ]
    return first, second


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The heading of a sortable column."""

    label: str
    href: str
    """The address of the table sorted by this column, or reversed if it already is."""
    direction: Literal["", "ascending", "descending"] = ""
    """The direction if the table is sorted by this column, for `aria-sort`; else empty."""


class Sorting(msgspec.Struct, frozen=True, kw_only=True):
    """The column that a table is sorted by; empty for the table's own order."""

    column: str = ""
    is_descending: bool = False

    @property
    def text(self) -> str:
        """The sorting as it is written in an address."""
        return f"{_LARGEST_FIRST * self.is_descending}{self.column}"


class Column(NamedTuple):
    """A sortable column: its label, and a function that returns its value in a row, or `None`."""

    label: str
    value: Callable[[Any], Any]


RUN_COLUMNS = {
    "started": "Started",
    "passed": "Passed",
    "cases": "Cases",
    "branch": "Branch",
    "agent": "Agent and eval set",
    "took": "Took",
}
"""The sortable columns of the list of runs."""
NEWEST_FIRST = Sorting(column="started", is_descending=True)


def sorting_of(asked: str, columns: Mapping[str, str], default: Sorting) -> Sorting:
    """Parse the sorting in an address. An unknown column means the default."""
    column = asked.removeprefix(_LARGEST_FIRST)
    return Sorting(column=column, is_descending=asked != column) if column in columns else default


def heads_of(columns: Mapping[str, str], sorting: Sorting, href: Callable[[str], str]) -> dict[str, Head]:
    """Return the headings of columns, given their labels by key, and the address for each sorting.

    The first click sorts by ascending values, the second by descending ones.
    """
    heads = {}
    for column, label in columns.items():
        is_chosen = column == sorting.column
        turned = Sorting(column=column, is_descending=is_chosen and not sorting.is_descending)
        direction: Literal["", "ascending", "descending"] = ""
        if is_chosen:
            direction = "descending" if sorting.is_descending else "ascending"
        heads[column] = Head(label=label, href=href(turned.text), direction=direction)
    return heads


def sorted_table(
    rows: Iterable[_Row], asked: str, columns: Mapping[str, Column], href: Callable[[str], str]
) -> tuple[list[_Row], dict[str, Head]]:
    """Sort rows as an address asks, and return them with the headings of the columns.

    Without a column in the address, rows keep their order. In a single file, where there are no addresses, headings are
    not links.
    """
    labels = {key: column.label for key, column in columns.items()}
    sorting = sorting_of(asked, labels, Sorting())
    heads = heads_of(labels, sorting, href)
    if not sorting.column:
        return list(rows), heads
    return sorted_rows(rows, sorting, columns[sorting.column].value), heads


def sorted_rows(rows: Iterable[_Row], sorting: Sorting, value: Callable[[_Row], Any]) -> list[_Row]:
    """Sort rows by a value. Rows without one (`None`) come last in both directions; the sort is stable."""
    valued = [(value(row), row) for row in rows]
    known = [(each, row) for each, row in valued if each is not None]
    known.sort(key=lambda pair: pair[0], reverse=sorting.is_descending)
    return [row for _, row in known] + [row for each, row in valued if each is None]
