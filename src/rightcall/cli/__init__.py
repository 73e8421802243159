"""The command line: one module per command, loaded when it is asked for."""

import gc
import sys

from rightcall._lazy import late_module, lazy_patterns_of

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with its code."""
    # Importing makes tens of thousands of objects that stay. Looking for garbage among them every 700 objects, which is
    # Python's default, takes 4 % of the instructions of a short command; so this comes before all other imports.
    gc.set_threshold(50_000, 50, 20)
    # click and msgspec import these modules, and a command needs few of their patterns. Of `inspect`, which loads a
    # parser, a disassembler and a tokenizer of Python, click needs one function.
    patterns = lazy_patterns_of("click", "gettext", "locale", "platform", "textwrap", "tokenize")
    with patterns, late_module("inspect", cleandoc=_cleandoc):
        import textwrap  # noqa: F401 - imported here for msgspec, which is not imported for `--help`

        from ._main import run_command

    code = run_command()
    # Python looks for garbage once more at exit, among everything that is left; not in what is frozen.
    gc.freeze()
    sys.exit(code)


def _cleandoc(text: str) -> str:
    """Return what `inspect.cleandoc` does, without importing it for a text of one line."""
    if "\n" not in text:
        return text.expandtabs().lstrip()
    from inspect import cleandoc

    return cleandoc(text)
