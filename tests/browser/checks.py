"""What every page has to be: accessible by axe-core's rules, no wider than the window; and a way to follow a link."""

from __future__ import annotations

from functools import cache

from playwright.sync_api import Locator, Page
from tests.browser.browsers import AXE

_GRAVE = ("serious", "critical")


def follow(link: Locator) -> None:
    """Click a link, and wait for the page behind it: a click alone returns while the new page is still half there."""
    with link.page.expect_navigation():
        link.click()


def violations(page: Page, *rules: str) -> list[str]:
    """The rules of axe-core, or those among these, that a page breaks gravely, each with the elements that do."""
    page.evaluate(f"typeof axe === 'undefined' ? (() => {{ {_axe()} }})() : null")
    options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
    found = page.evaluate("(options) => axe.run(options)", options)
    return [
        f"{each['id']}: {node['html'][:200]} {node.get('failureSummary', '')[:300]}"
        for each in found["violations"]
        if each["impact"] in _GRAVE
        for node in each["nodes"]
    ]


def sticking_out(page: Page) -> list[str]:
    """The elements that make a page wider than its window; nothing where it need not be scrolled sideways."""
    found: list[str] = page.evaluate(
        """() => {
            const room = document.documentElement.clientWidth;
            if (document.scrollingElement.scrollWidth <= room) return [];
            const wide = [...document.querySelectorAll("body *")].filter((each) =>
                each.getBoundingClientRect().right > room + 1 && !each.closest(".scroll, pre, .unseen"));
            return ["the page is " + document.scrollingElement.scrollWidth + " wide, with room for " + room,
                    ...wide.slice(0, 8).map((each) => each.outerHTML.slice(0, 160))];
        }"""
    )
    return found


def planted(page: Page) -> list[str]:
    """What no page of ours has: elements that load or run something, handlers, inline styles, links to elsewhere."""
    found: list[str] = page.evaluate(
        """() => {
            const foreign = "iframe, frame, object, embed, applet, img, image, picture, video, audio, source, base, " +
                "math, marquee, template, slot, foreignObject, animate, set, portal, textarea, [style], [ping]";
            const handled = (each) => [...each.attributes].some((one) => one.name.startsWith("on"));
            const leads = (each) => ["href", "src", "action", "formaction", "xlink:href"].some((name) => {
                const address = each.getAttribute(name);
                const isIcon = each.rel === "icon" && address?.startsWith("data:image/svg+xml,%3Csvg");
                if (address === null || isIcon) return false;
                const target = new URL(address, document.baseURI);
                return target.origin !== location.origin || target.protocol !== location.protocol;
            });
            const scripts = [...document.scripts].slice(1), styles = [...document.styleSheets].slice(1);
            const named = [...document.querySelectorAll("*")].filter((each) =>
                each.matches(foreign) || handled(each) || leads(each));
            const told = (each) => each.outerHTML?.slice(0, 200) ?? "a style";
            return [...named, ...scripts, ...styles].slice(0, 10).map(told);
        }"""
    )
    return found


@cache
def _axe() -> str:
    return AXE.read_text(encoding="utf-8")
