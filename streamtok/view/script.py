"""The style and the script of a page: the same for every text."""

STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1b1f24; --dim: #57606a; --line: #d0d7de;
  --c0: #cfe8ff; --c1: #ffe9b3; --c2: #d3f4d3; --c3: #f3d6f5; --s: #b3261e; --mark: #ff8c00; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14181d; --ink: #e6edf3; --dim: #9aa5b1; --line: #3b434c;
    --c0: #123f66; --c1: #574309; --c2: #1b4d22; --c3: #562359; --s: #d8453c; --mark: #ffb454; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.6 system-ui, sans-serif; }
header { position: sticky; top: 0; display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; padding: .5rem 1rem;
  background: var(--page); border-bottom: 1px solid var(--line); }
h1 { font-size: 1.1rem; margin: 0 auto 0 0; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 0; }
p { margin: 0 0 .5rem; color: var(--dim); }
input { font: inherit; width: 16rem; max-width: 100%; }
button { font: inherit; }
main { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1rem; padding: 1rem 1rem 6rem; }
section { min-width: 0; }
.tokens { font: 14px/1.9 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; direction: ltr; }
b { font-weight: normal; unicode-bidi: isolate; border-radius: 3px; padding: 1px 0; }
i { font-size: .8em; font-weight: bold; }
.c0 { background: var(--c0); } .c1 { background: var(--c1); } .c2 { background: var(--c2); } .c3 { background:
var(--c3); } .s { background: var(--s); color: #fff; font-weight: bold; } .at { outline: 2px solid var(--ink); } .same
{ outline: 2px dashed var(--dim); } .hit { outline: 2px solid var(--mark); } .here { background: var(--mark); color:
#000; } footer { position: fixed; bottom: 0; left: 0; right: 0; padding: .5rem 1rem; min-height: 3rem; background:
var(--page);
  border-top: 1px solid var(--line); font: 14px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
"""

SCRIPT = """
"use strict";
const columns = [...document.querySelectorAll(".tokens")].map(box => {
  const tokens = [...box.querySelectorAll("b")];
  const starts = tokens.map(token => Number(token.dataset.o));
  return { tokens, starts, hex: tokens.map(token => token.dataset.b).join("") };
});
const card = document.getElementById("card"), query = document.getElementById("query");
const found = document.getElementById("found");

// The number of the token that has byte `at`.
function tokenAt(column, at) {
  let low = 0, high = column.starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (column.starts[middle] <= at) low = middle; else high = middle - 1;
  }
  return low;
}

function unmark(...names) {
  for (const name of names)
    for (const token of document.querySelectorAll("." + name)) token.classList.remove(name);
}

function spaced(hex) { return (hex.match(/../g) || []).join(" "); }

function say(token) {
  const { n, i, o, b } = token.dataset, size = b.length / 2;
  const special = token.classList.contains("s") ? ", special" : "";
  card.textContent = `id ${i}${special} | token ${n} | bytes ${o} to ${Number(o) + size} | ${spaced(b)} |
  ${token.textContent}`;
}

function point(token, scroll) {
  unmark("at", "same");
  token.classList.add("at");
  say(token);
  const first = Number(token.dataset.o), last = first + Math.max(1, token.dataset.b.length / 2);
  for (const column of columns) {
    if (column.tokens.includes(token)) continue;
    for (let k = tokenAt(column, first); k < column.tokens.length && column.starts[k] < last; k++) {
      column.tokens[k].classList.add("same");
      if (scroll) { column.tokens[k].scrollIntoView({ block: "center" }); scroll = false; }
    }
  }
}

document.querySelector("main").addEventListener("mouseover", event => {
  const token = event.target.closest("b");
  if (token) point(token, false);
});
document.querySelector("main").addEventListener("click", event => {
  const token = event.target.closest("b");
  if (token) point(token, true);
});

let hits = [], here = -1;

function hexOf(text) {
  return [...new TextEncoder().encode(text)].map(byte => byte.toString(16).padStart(2, "0")).join("");
}

// Lists of tokens, one for each place where the text, or the bytes, or the id is.
function search(text) {
  const places = [];
  const id = /^#(\\d+)$/.exec(text), bytes = /^0x((?:[0-9a-f]{2})+)$/i.exec(text);
  const hex = bytes ? bytes[1].toLowerCase() : hexOf(text);
  for (const column of columns) {
    if (id) {
      for (const token of column.tokens) if (token.dataset.i === id[1]) places.push([token]);
      continue;
    }
    for (let at = column.hex.indexOf(hex); hex && at >= 0; at = column.hex.indexOf(hex, at + 1)) {
      if (at % 2) continue;
      const first = tokenAt(column, at / 2), last = tokenAt(column, (at + hex.length) / 2 - 1);
      places.push(column.tokens.slice(first, last + 1));
    }
  }
  return places;
}

function go(step) {
  unmark("here");
  if (!hits.length) { found.textContent = query.value ? "not found" : ""; return; }
  here = (here + step + hits.length) % hits.length;
  for (const token of hits[here]) token.classList.add("here");
  hits[here][0].scrollIntoView({ block: "center" });
  say(hits[here][0]);
  found.textContent = `${here + 1} of ${hits.length}`;
}

query.addEventListener("input", () => {
  unmark("hit", "here");
  hits = search(query.value);
  here = -1;
  for (const tokens of hits) for (const token of tokens) token.classList.add("hit");
  go(1);
});
query.addEventListener("keydown", event => { if (event.key === "Enter") go(event.shiftKey ? -1 : 1); });
document.getElementById("on").addEventListener("click", () => go(1));
document.getElementById("back").addEventListener("click", () => go(-1));
"""
