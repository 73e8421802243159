"""Bring the tables and texts of the documents up to date; with `--peers`, ask the peers anew first."""

import sys

from .failure_page import FAILURE_PAGE, filled_failure_page
from .recording import record
from .tables import PAGES, filled

if "--peers" in sys.argv[1:]:
    record()
for page in PAGES:
    page.write_text(filled(page), encoding="utf-8")
FAILURE_PAGE.write_text(filled_failure_page(), encoding="utf-8")
print(*PAGES, FAILURE_PAGE, sep="\n")
