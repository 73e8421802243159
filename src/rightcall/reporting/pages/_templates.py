"""Templates, stylesheet and script of the pages, and the plainest page: a message."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall.errors import MissingExtraError
from rightcall.values.results import SIGNS
from rightcall.version import __version__

from ._links import Crumb, Links
from ._texts import percent, pieces, score_text, seconds_text, visible

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).parent


def render(template: str, page: Any, links: Links, **more: Any) -> str:
    """Render a page as HTML. Every value is made visible and escaped, whatever the template says.

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
    """Return the stylesheet: the files of `style`, joined in the order of their names."""
    return "\n".join([path.read_text(encoding="utf-8") for path in sorted((_FOLDER / "style").glob("*.css"))])


@cache
def script() -> str:
    """Return the script. Every page can be read without it."""
    return (_FOLDER / "script.js").read_text(encoding="utf-8")


@cache
def policy() -> str:
    """Return the Content-Security-Policy of a page that contains stylesheet and script, and allows nothing else."""
    style, code = [b64encode(sha256(text.encode()).digest()).decode() for text in (stylesheet(), script())]
    allowed = f"style-src 'sha256-{style}'; script-src 'sha256-{code}'; img-src data:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


@cache
def environment() -> Environment:
    """Return the environment of all templates. Raises `MissingExtraError`."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError:
        raise MissingExtraError("web pages need jinja2: pip install 'rightcall[view]'") from None
    made = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_gate,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {"count": "{:,}".format, "percent": percent, "pieces": pieces}
    made.filters |= {"score": score_text, "seconds": seconds_text}
    # The stylesheet and the script are files of this package: the only text that is not escaped.
    own = {"style": Markup(stylesheet()), "script": Markup(script()), "policy": policy()}  # noqa: S704
    made.globals |= {"own": own, "signs": SIGNS, "version": __version__}
    return made


class MessagePage(msgspec.Struct, frozen=True, kw_only=True):
    """A heading, sentences below it, and commands that help."""

    title: str
    sentences: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    trail: tuple[Crumb, ...] = ()
    is_running: bool = False


def message_html(page: MessagePage, links: Links) -> str:
    """Render a message. Raises `MissingExtraError`."""
    return render("message.html", page, links)


def _gate(value: Any) -> Any:
    """Return the text to write for a value: text from outside is made visible, markup of templates stays.

    Jinja calls this for every expression (its `finalize`), so no template can forget it. Nothing is written for `None`.
    """
    if value.__class__ is str:
        return visible(value)
    return "" if value is None else value
