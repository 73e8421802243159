"""What the message about a missing package says to do."""

from __future__ import annotations

from typing import Any

from tests.walls import for_each

from rightcall.errors import install_command, missing_package, requirement_of

ORIGINS: dict[str, tuple[dict[str, Any], str]] = {
    "the package index": ({}, "'rightcall[arrow]'"),
    "a checkout": ({"url": "file:///src/right%20call", "dir_info": {}}, "'/src/right call[arrow]'"),
    "a checkout in place": ({"url": "file:///src/rc", "dir_info": {"editable": True}}, "-e '/src/rc[arrow]'"),
    "a repository": (
        {"url": "https://host/rc.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
        "'rightcall[arrow] @ git+https://host/rc.git@abc'",
    ),
    "a wheel": (
        {"url": "file:///src/rc.whl", "archive_info": {"hash": "sha256=0"}},
        "'rightcall[arrow] @ file:///src/rc.whl'",
    ),
}


@for_each("name", ORIGINS)
def test_an_extra_is_installed_from_where_the_installation_comes_from(name: str) -> None:
    origin, expected = ORIGINS[name]

    assert requirement_of(origin, "[arrow]") == expected


def test_without_an_extra_there_are_no_brackets() -> None:
    assert requirement_of({}, "") == "rightcall"


def test_the_error_says_what_needs_which_package_and_how_to_install_it() -> None:
    problem = missing_package("web pages need jinja2")

    assert str(problem) == f"web pages need jinja2: {install_command()}"
    assert install_command("zstd").startswith("pip install ")
    assert "[zstd]" in install_command("zstd")
