// Updates the open page: the server reports each change, and the script fetches the page again and replaces
// only the parts that differ. So the focus, typed text and open sections stay.
"use strict";

const connectionText = document.getElementById("connection");
const clock = document.getElementById("clock");
const heldButton = document.getElementById("held");
let shownVersion = document.body.dataset.version;
let newestVersion = shownVersion; // that the server has reported
let refreshing = false;
let heldContent = null; // the newest content, if it was shown without adding or removing rows
let heldRows = 0; // the number of rows of heldContent that the page does not show yet
let stream;
let clockAhead; // how far the service's clock is ahead of the browser's, in milliseconds

// Shows a problem with the connection; an empty text means that there is none.
function showConnection(text) {
  // Screen readers announce each change of the element, so the text is set only if it differs.
  if (connectionText.textContent !== text) connectionText.textContent = text;
}

// Opens the stream of changes. A hidden page has none, because browsers limit the connections to one host.
function connect() {
  stream?.close();
  if (document.hidden) return;
  stream = new EventSource("/live");
  stream.onmessage = (event) => {
    const state = JSON.parse(event.data);
    clockAhead = Date.parse(state.now) - Date.now();
    showTime();
    newestVersion = state.version;
    refresh();
  };
  // After the end of the session, the reloaded page is the login page.
  stream.addEventListener("ended", () => location.replace(location.href));
  stream.onerror = () => {
    showConnection("The sandbox does not answer");
    const retryDelay = 2000; // milliseconds
    // A browser reconnects by itself. After an HTTP error, it closes the stream instead.
    if (stream.readyState === EventSource.CLOSED) setTimeout(connect, retryDelay);
  };
}

function showTime() {
  if (clockAhead === undefined) return;
  const now = new Date(Date.now() + clockAhead);
  clock.textContent = now.toISOString().slice(0, 19).replace("T", " "); // such as 2026-01-31 12:00:00
}

// Fetches and shows the page until it has the newest version. Only one call at a time does so.
async function refresh() {
  if (refreshing) return;
  refreshing = true;
  try {
    while (shownVersion !== newestVersion) {
      const version = newestVersion; // a newer one may be reported during the fetch
      const response = await fetch(location.href, { cache: "no-store", headers: { "X-Dashboard-Live": "1" } });
      if (response.redirected) return location.replace(location.href); // the session has ended
      const next = new DOMParser().parseFromString(await response.text(), "text/html");
      show(next.getElementById("live"), { holdRows: isRowInUse() });
      for (const id of ["unusual", "pages"]) update(document.getElementById(id), next.getElementById(id));
      shownVersion = version;
    }
    showConnection("");
  } catch {
    showConnection("The sandbox does not answer");
  }
  refreshing = false;
}

// Shows new content. With holdRows, no row appears or disappears, because that would move the rows that the
// user is about to click. A button then shows how many rows are held back.
function show(content, { holdRows }) {
  heldRows = 0;
  update(document.getElementById("live"), content, holdRows);
  heldContent = holdRows ? content : null;
  heldButton.hidden = heldRows === 0;
  heldButton.textContent = `${heldRows} new`;
}

// Reports whether the pointer or the focus is in a row.
function isRowInUse() {
  return document.querySelector("#live tr:is(:hover, :focus-within)") !== null;
}

heldButton.addEventListener("click", () => show(heldContent, { holdRows: false }));

function showHeldContent() {
  if (heldContent && !isRowInUse()) show(heldContent, { holdRows: false });
}
for (const event of ["pointerout", "focusout"]) {
  // During these events, the pointer or the focus has not reached its next element yet. The timeout waits for that.
  document.addEventListener(event, () => setTimeout(showHeldContent));
}

// Makes an element equal to another one of the same kind. It keeps the nodes that match. An element with data-keep
// stays as it is. With holdRows, a list of rows keeps its rows: see updateRows.
function update(old, next, holdRows = false) {
  if (old.isEqualNode(next) || old.hasAttribute("data-keep")) return;
  updateAttributes(old, next);
  const hasRows = old.querySelector(":scope > :is(tr, tbody)[id]") !== null;
  if (holdRows && hasRows) {
    updateRows(old, next);
  } else {
    updateChildren(old, next, holdRows);
  }
}

// Only the user opens and closes a section, so the attribute open stays.
function updateAttributes(old, next) {
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

// Updates the rows that both elements have, and counts the new rows. It adds and removes none.
function updateRows(old, next) {
  const holdRows = true;
  for (const child of next.children) {
    const existing = idOf(child) ? childWithIDOf(old, child) : null;
    if (existing) {
      update(existing, child, holdRows);
    } else if (child.matches(":is(tr, tbody)[id]")) {
      heldRows++;
    }
  }
}

// Makes the children equal, in the order of the new ones.
function updateChildren(old, next, holdRows) {
  const nextIDs = new Set([...next.children].map(idOf).filter(Boolean));
  let at = old.firstChild; // the old nodes from here on are not updated yet
  for (const child of [...next.childNodes]) {
    while (at && idOf(at) && !nextIDs.has(idOf(at))) at = remove(at); // these have disappeared
    const match = findMatch(old, at, child);
    if (match) {
      // Remove the nodes before the match, up to one that a later child matches by its id. The match moves before that.
      while (at !== match && !nextIDs.has(idOf(at))) at = remove(at);
      if (at !== match) old.insertBefore(match, at);
      updateNode(match, child, holdRows);
      at = match.nextSibling;
    } else {
      old.insertBefore(document.importNode(child, true), at);
    }
  }
  while (at) at = remove(at);
}

// Returns the old node to update for a new child, or null if there is none. A child with an id needs the old child with
// the same id, at any place. A child without an id needs the node at the given place, which must have no id either.
function findMatch(parent, at, child) {
  const candidate = idOf(child) ? childWithIDOf(parent, child) : at;
  if (!candidate || !isSameKind(candidate, child)) return null;
  if (!idOf(child) && idOf(candidate)) return null;
  return candidate;
}

// Makes a node equal to another one of the same kind.
function updateNode(old, next, holdRows) {
  if (old.nodeType === Node.ELEMENT_NODE) {
    update(old, next, holdRows);
  } else if (old.data !== next.data) {
    old.data = next.data;
  }
}

// Returns the id of an element; other nodes have none. The property id would be wrong for a form with a field of
// that name: it is the field.
function idOf(node) {
  return node.getAttribute?.("id");
}

// Returns the child of a parent that has the same id as a node, or null.
function childWithIDOf(parent, node) {
  return parent.querySelector(`:scope > #${CSS.escape(idOf(node))}`);
}

// Reports whether both nodes are text, or elements of the same name.
function isSameKind(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName;
}

// Removes a node and returns the next one.
function remove(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

connect();
setInterval(showTime, 1000);
document.addEventListener("visibilitychange", connect);

// After a refused form, the fields have the refused input. When a script assigns a value, the browser treats it
// as typed, so that updates of the attribute value do not change it.
const refused = document.querySelector("#notices [role=alert]") !== null;
if (refused) {
  const fields = document.querySelectorAll("#live :is(input:not([type=hidden]), select, textarea)");
  for (const field of fields) field.value = field.value;
}

// The second click of a double click may hit a button of the page that the first click opened.
document.addEventListener("click", (event) => {
  const clicks = event.detail;
  if (clicks > 1 && event.target.closest("form[method=post] button")) event.preventDefault();
});

// The key / moves the focus to the search field, unless the user is typing into a field.
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  const search = document.querySelector("input[type=search]");
  if (!search || event.target.closest("input, select, textarea")) return;
  event.preventDefault();
  search.focus();
  search.select();
});

// A chart shows the figures of the day under the pointer or with the focus. On a touch screen, the first tap shows
// them, and a second tap opens the list of the day's purchases.
function showFigures(day) {
  const panel = day.closest("section");
  for (const other of panel.querySelectorAll("a.read")) other.classList.remove("read");
  day.classList.add("read");
  panel.querySelector(".readout").textContent = day.dataset.read;
}
for (const type of ["pointerover", "focusin"]) {
  document.addEventListener(type, (event) => {
    const day = event.target.closest("a[data-read]");
    if (day && event.pointerType !== "touch") showFigures(day);
  });
}
document.addEventListener("click", (event) => {
  const day = event.target.closest("a[data-read]");
  const isFirstTap = day && event.pointerType === "touch" && !day.classList.contains("read");
  if (!isFirstTap) return;
  event.preventDefault();
  showFigures(day);
});

document.documentElement.classList.add("scripted"); // shows the copy buttons, which need this script
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  try {
    // On a plain HTTP page of another host, browsers offer no clipboard, so this fails.
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed";
  }
});
