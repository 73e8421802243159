"""Write the report as one comment on the pull request: the first run adds it, later ones change it."""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

MARK = "<!-- rightcall -->"
"""How the comment is found again. GitHub does not show it."""
MOST = 65_000
"""Characters of a comment; GitHub refuses more than 65,536."""
PAGES = 50


def main() -> int:
    """Return 0 if the comment is there, or may not be written; a comment decides nothing."""
    text = f"{MARK}\n{Path(os.environ['FOLDER'], 'comment.md').read_text(encoding='utf-8')}"
    if len(text) > MOST:
        text = f"{text[:MOST]}\n\n… the artifact has the whole report."
    issue = f"/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    try:
        known = _known(f"{issue}/{int(os.environ['PULL_REQUEST'])}/comments")
        if known is None:
            _asked("POST", f"{issue}/{int(os.environ['PULL_REQUEST'])}/comments", {"body": text})
        else:
            _asked("PATCH", f"{issue}/comments/{known}", {"body": text})
    except urllib.error.HTTPError as problem:
        # A pull request from a fork has a token that may only read.
        print(f"::warning::Rightcall could not write its comment: {problem.code} {problem.reason}")
    except OSError as problem:
        print(f"::warning::Rightcall could not write its comment: {problem}")
    return 0


def _known(path: str) -> int | None:
    for page in range(1, PAGES + 1):
        comments = _asked("GET", f"{path}?per_page=100&page={page}")
        for comment in comments:
            if str(comment.get("body", "")).startswith(MARK):
                return int(comment["id"])
        if not comments:
            return None
    return None


def _asked(method: str, path: str, body: Any = None) -> Any:
    request = urllib.request.Request(  # noqa: S310 - the address is the runner's own
        os.environ.get("GITHUB_API_URL", "https://api.github.com") + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "authorization": f"Bearer {os.environ['TOKEN']}",
            "accept": "application/vnd.github+json",
            "content-type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310 - as above
        return json.load(response)


if __name__ == "__main__":
    sys.exit(main())
