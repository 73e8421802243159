"""Bring the tables of the documents up to date; with `--peers`, ask the peers anew first."""

import sys

from .recording import record
from .tables import PAGES, filled

if "--peers" in sys.argv[1:]:
    record()
for page in PAGES:
    page.write_text(filled(page), encoding="utf-8")
    print(page)
