// Conveniences for the pages of Rightcall: keys, copying, and updates of a running run. Every page works without it.
"use strict";

const find = (selector) => document.querySelector(selector);
const received = new Map();
if ("running" in document.documentElement.dataset) {
  for (const each of document.querySelectorAll("[data-live][id]")) received.set(each.id, each.outerHTML);
}

// j and k move to the next or previous element with `data-stop`, n and p to the nearest that did not pass. They start
// at the case that is shown beside the list.
const step = (by, failing) => {
  const here = document.activeElement.closest("[data-stop]") ?? (isBeside() ? find(".case-row[aria-current]") : null);
  const side = by > 0 ? Node.DOCUMENT_POSITION_FOLLOWING : Node.DOCUMENT_POSITION_PRECEDING;
  const stops = [...document.querySelectorAll("[data-stop]")].filter(
    (each) => !each.hidden && !(failing && each.dataset.stop === "passed") && (!here || here.compareDocumentPosition(each) & side),
  );
  const there = by > 0 ? stops[0] : stops[stops.length - 1];
  if (!there) return;
  if (failing && there.firstElementChild instanceof HTMLDetailsElement) there.firstElementChild.open = true;
  const stop = there.matches("a") ? there : there.querySelector("summary, a, [tabindex]");
  const fold = there.closest("details");
  if (fold) fold.open = true;
  stop.focus();
  there.scrollIntoView({ block: "nearest" });
  if (there.classList.contains("case-row")) choose_case(there);
};

// List and case side by side: the case of a selected row is fetched and replaces the one before. The address is
// updated, so that a reload shows the same. On a small screen, where they are two pages, links are plain links.
const isBeside = () => find(".panes") && matchMedia("(min-width: 60.01rem)").matches;
let wanted_case = "";
const choose_case = async (row) => {
  if (!isBeside()) return;
  wanted_case = row.href;
  for (const each of document.querySelectorAll(".case-row[aria-current]")) each.removeAttribute("aria-current");
  row.setAttribute("aria-current", "true");
  history.replaceState(null, "", row.href);
  const slow = setTimeout(() => document.body.classList.add("loading"), 150);
  try {
    const answer = await fetch(row.href, { cache: "no-store" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("case");
    if (!answer.ok || !fresh || wanted_case !== row.href) return;
    find("#case").replaceWith(fresh);
    fresh.scrollTop = 0;
    at_problem = 0;
    showFirstProblem(fresh);
    showCopyButtons();
  } catch {
    location.href = row.href; // the viewer was stopped: let the browser show the error
  } finally {
    clearTimeout(slow);
    document.body.classList.remove("loading");
  }
};
document.addEventListener("click", (event) => {
  const row = event.target.closest(".case-row");
  if (!row || !isBeside() || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  row.focus();
  choose_case(row);
});
// The filter is applied while typing: only the list is replaced from the response, and the address is updated.
let typing = 0;
document.addEventListener("input", (event) => {
  if (event.target.id !== "q" || !find(".panes")) return;
  clearTimeout(typing);
  const { form } = event.target;
  typing = setTimeout(async () => {
    const address = `${form.getAttribute("action")}?${new URLSearchParams([...new FormData(form)].filter(([, value]) => value))}`;
    const answer = await fetch(address, { cache: "no-store" }).catch(() => null);
    if (!answer?.ok || form !== find(".finding form")) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("list");
    const [begin, end, text] = [find("#q").selectionStart, find("#q").selectionEnd, find("#q").value];
    find("#list").replaceWith(fresh);
    find("#q").value = text;
    find("#q").focus();
    find("#q").setSelectionRange(begin, end);
    history.replaceState(null, "", address);
  }, 150);
});
const steps = { j: [1, false], k: [-1, false], n: [1, true], p: [-1, true] };

for (const button of document.querySelectorAll("[data-step]")) {
  button.addEventListener("click", () => step(...steps[button.dataset.step]));
}

// n and p go through the problems of the case that is shown, and then to other cases. The first one is already in view.
const problems = () => [...document.querySelectorAll(".timeline .wrong, .timeline .tl-missing")];
let at_problem = 0;
const nextProblem = (by) => {
  const there = problems()[at_problem + by];
  if (!there) return false;
  at_problem += by;
  for (let fold = there.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  there.tabIndex = -1;
  there.focus({ preventScroll: true });
  there.scrollIntoView({ block: "center" });
  return true;
};
// h and l close and open the group around the focused or selected row.
const setGroup = (open) => {
  const row = document.activeElement.closest("details.cause, details.tl-fold") ?? find(".case-row[aria-current]")?.closest("details");
  if (!row) return;
  row.open = open;
  if (!open) row.querySelector("summary").focus();
};
const escape = () => {
  const clear = find(".filtered a");
  for (const each of document.querySelectorAll("details.copies[open]")) each.open = false;
  if (clear) clear.click();
};

// Keys click links and buttons that are visible to everybody: `data-key` is the key of an element.
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.matches("input[type=search]")) return event.target.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=checkbox]), select, textarea")) return;
  if (find("dialog[open]:not([popover])")) return;
  const target = /^[a-z]$/.test(event.key) ? find(`[data-key~="${event.key}"]`) : null;
  const search = find("#search") ?? find("input[type=search]");
  if (event.key === "?") {
    find("#help").togglePopover();
  } else if (event.key === "/" && search) {
    search.focus();
  } else if (event.key === "f" && find(".finding input[type=search]")) {
    find(".finding input[type=search]").focus();
  } else if (event.key === "Escape") {
    return find("#help:popover-open") ? undefined : escape();
  } else if (event.key === "h" || event.key === "l") {
    setGroup(event.key === "l");
  } else if (/^[1-4]$/.test(event.key) && find("[data-tabs]")) {
    find("[data-tabs]").querySelectorAll("a")[event.key - 1]?.click();
  } else if ((event.key === "n" && nextProblem(1)) || (event.key === "p" && nextProblem(-1))) {
    // there was another problem in this case
  } else if ((event.key === "Enter" || event.key === "o") && event.target.closest(".case-row")) {
    location.href = event.target.closest(".case-row").dataset.open;
  } else if (target && !(event.key in steps && find(".panes"))) {
    target.click();
  } else if (event.key in steps) {
    step(...steps[event.key]);
  } else {
    return;
  }
  event.preventDefault();
});

// Buttons that copy need this script, so they are hidden without it.
const showCopyButtons = () => {
  for (const button of document.querySelectorAll("button.copy[hidden], button[data-unfold][hidden]")) button.hidden = false;
};
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  const around = document.getElementById(button.dataset.copy);
  const source = around.querySelector(".whole pre") ?? around.querySelector("pre") ?? around;
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(source.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(source);
    button.textContent = "Selected";
  }
  setTimeout(() => (button.textContent = label), 1500);
});
showCopyButtons();

// An edit has a page of its own; here it is shown in a dialog over the page that links to it. Only its form writes.
const act = async (address) => {
  const answer = await fetch(address, { cache: "no-store" }).catch(() => null);
  const edit = answer?.ok && new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("edit");
  if (!edit) return void (location.href = address);
  const dialog = find("#acting") ?? document.body.appendChild(Object.assign(document.createElement("dialog"), { id: "acting" }));
  dialog.replaceChildren(edit);
  dialog.setAttribute("aria-labelledby", "edit-title");
  const here = new URL(location.href);
  here.searchParams.delete("done");
  edit.querySelector("form").append(Object.assign(document.createElement("input"), { type: "hidden", name: "back", value: here.pathname + here.search }));
  showCopyButtons();
  if (!dialog.open) dialog.showModal();
};
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-dialog]");
  if (event.target.closest("#acting [data-cancel]") || event.target.id === "acting") {
    event.preventDefault();
    find("#acting").close();
  } else if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    act(link.href);
  }
});

// A running run: the elements marked `data-live` are fetched again from the same address, each by its id. They are
// compared with the previous response, not with the page, on which the user may have opened or ticked something.
const refresh = async () => {
  try {
    const answer = await fetch(location.href, { cache: "no-store" });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    let isBehind = false;
    for (const old of document.querySelectorAll("[data-live][id]")) {
      const fresh = page.getElementById(old.id);
      const inUse = old.contains(document.activeElement) || old.querySelector("input[name]:checked");
      if (!fresh || fresh.outerHTML === received.get(old.id)) continue;
      if (inUse) {
        isBehind = true;
        continue;
      }
      received.set(old.id, fresh.outerHTML);
      keepTicks(old, fresh);
      old.replaceWith(fresh);
    }
    showCopyButtons();
    if (!isBehind && !page.documentElement.hasAttribute("data-running")) delete document.documentElement.dataset.running;
  } catch {
    return; // the viewer was stopped; leave the page as it is
  }
};
const keepTicks = (old, fresh) => {
  for (const { id } of old.querySelectorAll("input[id]:checked")) {
    const again = fresh.querySelector(`#${CSS.escape(id)}`);
    if (again) again.checked = true;
  }
};
const watch = async () => {
  if (!("running" in document.documentElement.dataset)) return;
  if (!document.hidden) await refresh();
  setTimeout(watch, 1000);
};
if (location.protocol !== "file:") setTimeout(watch, 1000);

// Single-file report: filters and search over its cases, and links into collapsed parts.
const choosing = find("#choosing");
if (choosing) {
  const cases = [...document.querySelectorAll("article.case")];
  const texts = new Map();
  const textOf = (each) => {
    if (!texts.has(each)) texts.set(each, each.textContent.toLowerCase());
    return texts.get(each);
  };
  const wanted = { verdict: "", problem: "", text: "" };
  const choose = (change, words) => {
    Object.assign(wanted, change);
    let count = 0;
    for (const each of cases) {
      const fits =
        (!wanted.verdict || each.dataset.stop === wanted.verdict) &&
        (!wanted.problem || each.dataset.problem === wanted.problem) &&
        (!wanted.text || textOf(each).includes(wanted.text));
      each.hidden = !fits;
      count += fits;
    }
    for (const button of choosing.querySelectorAll("[data-verdict]")) {
      button.setAttribute("aria-pressed", String(!wanted.problem && button.dataset.verdict === wanted.verdict));
    }
    find("#chosen").textContent = count === cases.length ? "" : `${count.toLocaleString("en")} of ${cases.length.toLocaleString("en")} cases${words ? `: ${words}` : ""}`;
  };
  choosing.hidden = false;
  for (const button of choosing.querySelectorAll("[data-verdict]")) {
    button.addEventListener("click", () => choose({ verdict: button.dataset.verdict, problem: "" }));
  }
  for (const link of document.querySelectorAll("a[data-problem]")) {
    link.addEventListener("click", () => choose({ verdict: "", problem: link.dataset.problem }, link.parentElement.textContent.trim()));
  }
  find("#q").addEventListener("input", (event) => choose({ text: event.target.value.toLowerCase() }));
  const reveal = () => {
    const target = document.getElementById(location.hash.slice(1));
    const folded = target?.querySelector(":scope > details") ?? target?.closest("details");
    if (folded) folded.open = true;
    target?.closest("article.case")?.removeAttribute("hidden");
  };
  addEventListener("hashchange", reveal);
  reveal();
}

// Expand the row that the address names; without one, scroll to the first problem of a case.
const unfold = () => {
  const target = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
  for (let around = target?.closest("details"); around; around = around.parentElement.closest("details")) around.open = true;
  return target;
};
document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-unfold]")) return;
  const folds = [...document.querySelectorAll(".tl-fold")];
  const open = folds.some((each) => !each.open);
  for (const each of folds) each.open = open;
});
// While the link to the source of a value is hovered or focused, draw a line from there, with an arrow at the use.
const drawFlow = (event) => {
  find(".flow-line")?.remove();
  const link = /^(mouseover|focusin)$/.test(event.type) && event.target.closest?.(".flow a[href^='#call-']");
  const row = link && find(link.getAttribute("href"));
  const board = link && link.closest(".timeline");
  if (!row?.offsetParent || !board) return;
  const around = board.getBoundingClientRect();
  const endOf = (text) => {
    const range = document.createRange();
    range.selectNodeContents(text);
    const { right, top, height } = [...range.getClientRects()].at(-1);
    return [right + 6 - around.left, top + height / 2 - around.top];
  };
  const [isUse, named, gave] = [link.closest(".uses"), row.querySelector("h3"), [...row.querySelectorAll(".tl-out")].at(-1)];
  const [there, here] = [endOf(isUse ? named : (gave ?? named)), endOf(link)];
  const side = Math.min(around.width - 4, Math.max(there[0] + 40, here[0] + 40, around.width * 0.66));
  const [x, y] = isUse ? there : here;
  const line = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  line.classList.add("flow-line");
  line.setAttribute("aria-hidden", "true");
  const path = line.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "path"));
  path.setAttribute("d", `M${there[0]} ${there[1]}H${side}V${here[1]}H${here[0]}M${x + 6} ${y - 4}l-6 4l6 4`);
  board.append(line);
};
for (const each of ["mouseover", "mouseout", "focusin", "focusout"]) document.addEventListener(each, drawFlow);
// Scroll the first problem to a third of the height, of the page or of the pane, if it is not in view.
const showFirstProblem = (pane) => {
  const problem = problems()[0];
  const { top, bottom } = problem?.getBoundingClientRect() ?? {};
  if (!problem || Math.min(bottom, top + 160) <= innerHeight) return; // its first lines, which say what is wrong, are in view
  if (pane) pane.scrollTop += problem.getBoundingClientRect().top - pane.getBoundingClientRect().top - pane.clientHeight / 3;
  else problem.scrollIntoView();
};
if (find(".timeline")) {
  addEventListener("hashchange", () => unfold()?.scrollIntoView());
  const target = unfold();
  const pane = isBeside() ? find("#case") : null;
  if (target && !find(".panes")) target.scrollIntoView();
  else showFirstProblem(pane);
}
