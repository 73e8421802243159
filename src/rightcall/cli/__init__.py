"""The command line: one module per command, loaded when it is asked for."""

import gc
import sys

from rightcall._lazy import light_imports

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with its code."""
    # Importing makes tens of thousands of objects that stay. Python's default is to collect garbage every 700 objects,
    # which takes 4 % of the instructions of a short command; so this comes before all other imports.
    gc.set_threshold(50_000, 50, 20)
    late: dict[str, dict[str, object]] = {
        # It loads a parser, a disassembler and a tokenizer of Python, and click needs one function of it.
        "inspect": {"cleandoc": _cleandoc},
        # It looks for a translation of each string, in the language that `locale` names; neither we nor click have any.
        "gettext": {"gettext": str, "ngettext": _ngettext},
    }
    # click and msgspec import these packages, and a command needs few of their patterns.
    with light_imports("click", "platform", "textwrap", late=late):
        import textwrap  # noqa: F401 - imported here for msgspec, which is not imported for `--help`

        from ._main import run_command

    code = run_command()
    # Python collects garbage once more at exit, among all objects that are not frozen.
    gc.freeze()
    sys.exit(code)


def _cleandoc(text: str) -> str:
    """Return what `inspect.cleandoc` does, without importing it for a string of one line."""
    if "\n" not in text:
        return text.expandtabs().lstrip()
    from inspect import cleandoc

    return cleandoc(text)


def _ngettext(one: str, many: str, count: int) -> str:
    return one if count == 1 else many
