// Brings the page up to date while it is open: hears that something has changed, and
// then replaces what differs, so that focus, typed text and open parts stay.
"use strict";

const connection = document.getElementById("connection");
const clock = document.getElementById("clock");
const held = document.getElementById("held");
let version = document.body.dataset.version;
let newest = version; // that the server has told of
let fetching = false;
let latest; // the content that the server has, while rows of it are held back
let waiting = 0; // such rows
let stream;
let ahead; // of the service's clock, in milliseconds

function say(words) {
  if (connection.textContent !== words) connection.textContent = words;
}

// A hidden page does not listen: browsers have few connections to one host.
function listen() {
  stream?.close();
  if (document.hidden) return;
  stream = new EventSource("/live");
  stream.onmessage = (event) => {
    const state = JSON.parse(event.data);
    ahead = Date.parse(state.now) - Date.now();
    tick();
    newest = state.version;
    bringUpToDate();
  };
  stream.addEventListener("ended", () => location.replace(location.href));
  stream.onerror = () => {
    say("The sandbox does not answer");
    if (stream.readyState === EventSource.CLOSED) setTimeout(listen, 2000);
  };
}

function tick() {
  if (ahead !== undefined) clock.textContent = new Date(Date.now() + ahead).toISOString().slice(0, 19).replace("T", " ");
}

async function bringUpToDate() {
  if (fetching) return;
  fetching = true;
  try {
    while (version !== newest) {
      const told = newest;
      const response = await fetch(location.href, { cache: "no-store", headers: { "X-Dashboard-Live": "1" } });
      if (response.redirected) return location.replace(location.href);
      const next = new DOMParser().parseFromString(await response.text(), "text/html");
      show(next.getElementById("live"));
      for (const around of ["unusual", "pages"]) update(document.getElementById(around), next.getElementById(around));
      version = told;
    }
    say("");
  } catch {
    say("The sandbox does not answer");
  }
  fetching = false;
}

// Rows neither come nor go under a pointer, or around the focus: a press would hit another one.
function show(next, all = false) {
  const busy = !all && isBusy();
  waiting = 0;
  update(document.getElementById("live"), next, busy);
  latest = busy ? next : null;
  held.hidden = !waiting;
  held.textContent = `${waiting} new`;
}

function isBusy() {
  return document.querySelector("#live tr:is(:hover, :focus-within)") !== null;
}

held.addEventListener("click", () => show(latest, true));
for (const event of ["pointerout", "focusout"]) {
  document.addEventListener(event, () => setTimeout(() => latest && !isBusy() && show(latest)));
}

function update(old, next, busy) {
  if (old.isEqualNode(next) || old.hasAttribute("data-keep")) return; // kept as long as there is its like
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (busy && old.querySelector(":scope > :is(tr, tbody)[id]")) {
    for (const child of next.children) {
      const same = idOf(child) && rowOf(old, child);
      if (same) update(same, child, busy);
      else if (child.matches("tr, tbody") && idOf(child)) waiting++;
    }
    return;
  }
  const kept = new Set([...next.children].map(idOf).filter(Boolean));
  let at = old.firstChild;
  for (const child of [...next.childNodes]) {
    while (at && idOf(at) && !kept.has(idOf(at))) at = remove(at);
    const id = idOf(child);
    const same = id ? rowOf(old, child) : at && !idOf(at) && alike(at, child) ? at : null;
    if (!same || !alike(same, child)) {
      old.insertBefore(document.importNode(child, true), at);
      continue;
    }
    while (at !== same && !kept.has(idOf(at))) at = remove(at);
    if (at !== same) old.insertBefore(same, at);
    if (same.nodeType === Node.ELEMENT_NODE) update(same, child, busy);
    else if (same.data !== child.data) same.data = child.data;
    at = same.nextSibling;
  }
  while (at) at = remove(at);
}

// A form's own id property may be a field of that name.
function idOf(node) {
  return node.getAttribute?.("id");
}

function rowOf(parent, child) {
  return parent.querySelector(`:scope > #${CSS.escape(idOf(child))}`);
}

function alike(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName;
}

function remove(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

listen();
setInterval(tick, 1000);
document.addEventListener("visibilitychange", listen);

// What was refused is as if it were typed, which updates leave alone.
if (document.querySelector("#notices [role=alert]")) {
  for (const field of document.querySelectorAll("#live :is(input:not([type=hidden]), select, textarea)")) field.value = field.value;
}

// The second click of a double click may meet the page that the first one led to.
document.addEventListener("click", (event) => {
  if (event.detail > 1 && event.target.closest("form[method=post] button")) event.preventDefault();
});

document.addEventListener("keydown", (event) => {
  const field = document.querySelector("input[type=search]");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || !field || event.target.closest("input, select, textarea")) return;
  event.preventDefault();
  field.focus();
  field.select();
});

// A chart tells of the day under the pointer, or that has the focus. The first tap tells,
// a second one leads to the day's purchases.
function read(day) {
  const panel = day.closest("section");
  for (const other of panel.querySelectorAll("a.read")) other.classList.remove("read");
  day.classList.add("read");
  panel.querySelector(".readout").textContent = day.dataset.read;
}
for (const event of ["pointerover", "focusin"]) {
  document.addEventListener(event, (e) => {
    const day = e.target.closest("a[data-read]");
    if (day && e.pointerType !== "touch") read(day);
  });
}
document.addEventListener("click", (event) => {
  const day = event.target.closest("a[data-read]");
  if (!day || event.pointerType !== "touch" || day.classList.contains("read")) return;
  event.preventDefault();
  read(day);
});

document.documentElement.classList.add("scripted");
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy); // not there on a plain HTTP page of another host
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed";
  }
});
