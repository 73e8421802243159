"""Pages, read as a browser without a script would."""

from __future__ import annotations

from html.parser import HTMLParser


class Seen(HTMLParser):
    """The elements of a page and its text, with what its attributes say."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._texts: list[str] = []
        self.feed(page)
        self.close()
        self.text = "".join(self._texts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self._texts.append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)

    def ids(self) -> list[str]:
        return [attrs["id"] or "" for _, attrs in self.elements if "id" in attrs]

    def addresses(self) -> list[str]:
        return [attrs["href"] or "" for tag, attrs in self.elements if tag == "a" and "href" in attrs]

    def classes(self, tag: str) -> list[str]:
        return [attrs.get("class") or "" for name, attrs in self.elements if name == tag]
