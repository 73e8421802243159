"""Writes the dataframes of projects as Parquet, by Phoenix's own client, in the environment of Phoenix.

python phoenix_spans.py ADDRESS FOLDER PROJECT…
"""

import sys
from pathlib import Path

from phoenix.client import Client
from pyarrow import ArrowException


def main(address: str, folder: str, *projects: str) -> None:
    """Write a file for each project whose attributes fit into columns."""
    client = Client(base_url=address)
    for project in projects:
        frame = client.spans.get_spans_dataframe(project_identifier=project, limit=1000)
        target = Path(folder) / f"{project}.parquet"
        try:
            frame.to_parquet(target)
        except ArrowException:
            # The client gives an attribute that is a text here and an object there, which no column can hold.
            target.unlink(missing_ok=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
