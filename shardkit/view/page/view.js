"use strict";
const $ = (id) => document.getElementById(id);
const grid = $("grid"), scroller = $("scroller"), spacer = $("spacer");
const CAPTION = 54;  // pixels of a tile below its picture, with its padding
const GAP = 6, PAGE = 100, MOST_PAGES = 60;
const MAX_HEIGHT = 8e6;  // pixels: browsers cut taller elements
const TITLES = {all: "All", conflicts: "Conflicts", copies: "Near-duplicates", unlike: "Unlike their class", decided: "Decided", rejected: "Rejected"};

let dataset, list = "all", query = "", num = 0, chosen = 0, top_ = 0, search = 0;
let side = 160, columns = 1, rowHeight = 1, tileWidth = 1;
let pages = new Map(), tiles = new Map(), lastTop = 0, settle = 0;

function make(tag, values = {}, ...children) {
  const element = Object.assign(document.createElement(tag), values);
  element.append(...children);
  return element;
}

async function ask(path, body) {
  const options = body === undefined ? {} : {method: "POST", body: JSON.stringify(body), headers: {"X-Shardkit-Token": dataset.token}};
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("shardkit view does not answer: it was stopped. Start it again and open its new address.");
  }
  const text = await response.text();
  const found = response.headers.get("content-type")?.startsWith("application/json") ? JSON.parse(text) : {error: text};
  if (!response.ok) throw new Error(found.error);
  return found;
}

function fail(error) {
  $("error").textContent = error ? error.message : "";
  $("error").hidden = !error;
}

// ---- the list

function parameters() {
  const found = new URLSearchParams({name: list});
  for (const name of ["split", "label", "where", "least", "most"]) {
    const value = $(name).value.trim();
    if (value && list !== "decided") found.set(name, value);
  }
  return found.toString();
}

async function load(keepPlace = false) {
  const mine = ++search;
  query = parameters();
  fail();
  if (!keepPlace) { num = 0; chosen = 0; top_ = 0; pages.clear(); layOut(); }
  $("filter-box").hidden = list === "rejected" || list === "decided";
  for (const button of $("lists").querySelectorAll("button")) button.setAttribute("aria-current", String(button.value === list));
  try {
    let found = {num: dataset.num_rejected, note: `Files that the conversion left out, and why.${dataset.has_source || !dataset.num_rejected ? "" : " They are not in the shards: start shardkit view with --source-folder to see their pictures."}`};
    while (list !== "rejected") {
      found = await ask(`/api/list?${query}`);
      if (mine !== search) return;
      if (found.num !== undefined) break;
      $("status").textContent = found.total ? `${found.done.toLocaleString("en")} of ${found.total.toLocaleString("en")} images read …` : "Comparing …";
      await new Promise((resolve) => setTimeout(resolve, 150));
      if (mine !== search) return;
    }
    num = found.num;
    chosen = Math.max(0, Math.min(chosen, num - 1));
    if (keepPlace) pages.clear();
    const what = list === "rejected" ? "file" : "image";
    $("status").textContent = `${num.toLocaleString("en")} ${what}${num === 1 ? "" : "s"}. ${found.note}`;
    layOut();
  } catch (error) {
    if (mine === search) { $("status").textContent = ""; fail(error); }
  }
}

async function page(number) {
  if (!pages.has(number)) {
    const path = list === "rejected" ? "/api/rejected?" : `/api/rows?${query}&`;
    const mine = search;
    const waiting = ask(`${path}start=${number * PAGE}&count=${PAGE}`).then((found) => found.rows);
    pages.set(number, waiting);
    if (pages.size > MOST_PAGES) pages.delete(pages.keys().next().value);
    waiting.catch((error) => { if (mine === search) { pages.delete(number); fail(error); } });
  }
  return pages.get(number);
}

const rowAt = async (at) => (await page(Math.floor(at / PAGE)))[at % PAGE];

// ---- virtual scrolling: the element is at most MAX_HEIGHT tall; small moves go pixel by pixel, large ones in proportion

const fullHeight = () => Math.ceil(num / columns) * rowHeight + GAP;
const limit = () => Math.max(0, fullHeight() - scroller.clientHeight);
const realLimit = () => Math.max(0, Math.min(fullHeight(), MAX_HEIGHT) - scroller.clientHeight);

function layOut() {
  const width = scroller.clientWidth - GAP;
  columns = Math.max(1, Math.floor(width / (side + GAP)));
  tileWidth = Math.floor(width / columns) - GAP;
  rowHeight = Math.round(tileWidth * 0.82) + CAPTION + GAP;
  spacer.style.height = `${Math.min(fullHeight(), MAX_HEIGHT)}px`;
  for (const tile of tiles.values()) tile.remove();
  tiles.clear();
  goTo(top_);
}

function goTo(y) {
  top_ = Math.max(0, Math.min(y, limit()));
  lastTop = realLimit() ? Math.round(top_ / limit() * realLimit()) : 0;
  scroller.scrollTop = lastTop;
  lastTop = scroller.scrollTop;
  draw();
}

scroller.addEventListener("scroll", () => {
  const now = scroller.scrollTop, moved = now - lastTop;
  if (!moved) return;
  lastTop = now;
  if (realLimit() === limit()) top_ = now;
  else if (Math.abs(moved) < 3 * scroller.clientHeight && now > 0 && now < realLimit()) top_ = Math.max(0, Math.min(top_ + moved, limit()));
  else top_ = now / realLimit() * limit();
  draw();
  clearTimeout(settle);
  settle = setTimeout(() => { if (realLimit() !== limit()) goTo(top_); else draw(); }, 120);
});

function draw() {
  const first = Math.max(0, Math.floor(top_ / rowHeight) - 1) * columns;
  const last = Math.min(num, (Math.ceil((top_ + scroller.clientHeight) / rowHeight) + 1) * columns);
  for (const [at, tile] of tiles) if (at < first || at >= last) { tile.querySelector("img")?.removeAttribute("src"); tile.remove(); tiles.delete(at); }
  let before = null;
  for (let at = first; at < last; at++) {
    let tile = tiles.get(at);
    if (!tile) {
      tile = makeTile(at);
      tiles.set(at, tile);
      before ? before.after(tile) : grid.prepend(tile);
    }
    before = tile;
    const x = GAP + (at % columns) * (tileWidth + GAP), y = GAP + Math.floor(at / columns) * rowHeight - top_;
    tile.style.transform = `translate(${x}px, ${y}px)`;
  }
  grid.setAttribute("aria-activedescendant", tiles.has(chosen) ? `tile-${chosen}` : "");
  if (!tiles.has(chosen)) grid.removeAttribute("aria-activedescendant");
}

function makeTile(at) {
  const tile = make("div", {id: `tile-${at}`, className: "tile"}, make("div", {className: "picture"}), make("div", {className: "name"}), make("div", {className: "key"}));
  tile.setAttribute("role", "option");
  tile.setAttribute("aria-selected", String(at === chosen));
  tile.setAttribute("aria-setsize", num);
  tile.setAttribute("aria-posinset", at + 1);
  tile.setAttribute("aria-label", `image ${at + 1}`);
  tile.style.width = `${tileWidth}px`;
  tile.style.height = `${rowHeight - GAP}px`;
  tile.addEventListener("click", () => { choose(at, false); grid.focus({preventScroll: true}); });
  tile.addEventListener("dblclick", open_);
  // Where the reader only passes by, nothing is asked for.
  setTimeout(async () => {
    if (tiles.get(at) !== tile) return;
    const row = await rowAt(at).catch(() => null);
    if (row && tiles.get(at) === tile) fill(tile, row);
  }, 40);
  return tile;
}

function fill(tile, row) {
  const [picture, name, key] = tile.children;
  picture.replaceChildren();
  tile.classList.remove("dropped", "relabelled");
  if (row.reason) {
    const why = make("p", {className: "reason", textContent: row.message});
    picture.append(why);
    if (dataset.has_source) {
      const image = make("img", {alt: "", draggable: false, hidden: true});
      image.addEventListener("load", () => { image.hidden = false; why.remove(); name.textContent = `${row.reason}: ${row.message}`; });
      image.src = `/rejected/${tile.id.slice(5)}?side=256`;
      picture.append(image);
    }
    name.textContent = row.reason;
    tile.title = `${row.key}\n${row.message}`;
    tile.setAttribute("aria-label", `${row.key}, rejected: ${row.reason}, ${row.message}`);
  } else {
    const image = make("img", {alt: "", draggable: false});
    image.addEventListener("error", () => { if (image.hasAttribute("src")) image.replaceWith(make("p", {className: "reason", textContent: "cannot be shown; open it to see why"})); });
    image.src = `/picture/${row.number}?side=${side * devicePixelRatio > 256 ? 512 : 256}`;
    picture.append(image);
    name.textContent = row.classes.join(", ") || row.split;
    const state = stateOf(row);
    if (state) { tile.classList.add(row.dropped ? "dropped" : "relabelled"); picture.append(make("span", {className: "badge", textContent: state})); }
    const size = `${row.width} × ${row.height}`;
    if (row.set !== null) { tile.classList.toggle("odd", row.set % 2 === 1); name.textContent = `${row.set + 1} · ${name.textContent}`; }
    tile.setAttribute("aria-label", [row.set === null ? "" : `set ${row.set + 1}`, row.classes.join(", "), row.key, row.split, size, state].filter(Boolean).join(", "));
    tile.title = `${row.key}\n${row.split}, ${size}`;
  }
  key.append(make("bdi", {textContent: row.key}));
  if (key.childNodes.length > 1) key.firstChild.remove();
}

const stateOf = (row) => row.dropped ? "dropped" : row.label ? `→ ${row.label}` : "";

function choose(at, scroll = true) {
  if (!num) return;
  tiles.get(chosen)?.setAttribute("aria-selected", "false");
  chosen = Math.max(0, Math.min(at, num - 1));
  if (scroll) {
    const y = GAP + Math.floor(chosen / columns) * rowHeight;
    if (y - GAP < top_) goTo(y - GAP);
    else if (y + rowHeight > top_ + scroller.clientHeight) goTo(y + rowHeight - scroller.clientHeight);
  }
  draw();
  tiles.get(chosen)?.setAttribute("aria-selected", "true");
  if ($("large").open) showLarge();
}

function zoom(value) {
  const middle = chosen;
  side = Math.max(96, Math.min(value, 448));
  $("zoom").value = side;
  top_ = 0;
  layOut();
  choose(middle);
}

// ---- one image

async function open_() {
  if (!num || list === "rejected") return;
  await showLarge();
  if (!$("large").open) { $("large").showModal(); $("large").focus(); }
}

async function showLarge() {
  const at = chosen, row = await rowAt(at).catch(() => null);
  if (!row || at !== chosen) return;
  const image = $("large-picture"), failed = $("large-failed");
  image.hidden = false;
  failed.hidden = true;
  image.src = `/picture/${row.number}?side=1600`;
  image.alt = `picture of ${row.key}`;
  image.onerror = async () => {
    image.hidden = true;
    failed.hidden = false;
    failed.textContent = await ask(`/picture/${row.number}?side=1600`).catch((error) => error.message);
  };
  $("large-title").textContent = row.classes.join(", ") || row.key;
  showState(row);
  const found = await ask(`/api/example/${row.number}`).catch((error) => ({record: [["key", row.key], ["problem", error.message]]}));
  if (at !== chosen) return;
  $("record").replaceChildren(...found.record.map(([name, value]) => {
    const head = make("th", {textContent: name});
    head.scope = "row";
    return make("tr", {}, head, make("td", {textContent: value}));
  }));
}

function showState(row) {
  const state = $("large-state");
  state.textContent = row.dropped ? "dropped" : row.label ? `relabelled: ${row.label}` : `${(chosen + 1).toLocaleString("en")} of ${num.toLocaleString("en")}`;
  state.className = row.dropped ? "dropped" : row.label ? "relabelled" : "";
}

// ---- decisions

async function decide(label) {
  const at = chosen, row = await rowAt(at).catch(() => null);
  if (row) await change("/api/decide", {number: row.number, label}, at);
}

async function change(path, body, from) {
  try {
    const found = await ask(path, body);
    fail();
    Object.assign(dataset, found);
    showDecisions();
    for (const waiting of pages.values()) for (const row of await waiting) {
      if (row.number === found.number) Object.assign(row, {dropped: found.dropped, label: found.label});
    }
    for (const [at, tile] of tiles) {
      const row = await rowAt(at).catch(() => null);
      if (row?.number === found.number) { fill(tile, row); if (from === undefined) choose(at); }
    }
    if (list === "decided") await load(true);
    else if (from === chosen) choose(from + 1);  // unless the reader was faster
    if ($("large").open) await showLarge();
  } catch (error) {
    fail(error);
    if ($("large").open) $("large-state").textContent = error.message;
  }
}

async function relabel() {
  const row = await rowAt(chosen).catch(() => null);
  if (!row || !dataset.can_relabel) return;
  $("relabel-key").textContent = `${row.key}: now ${row.label || row.classes.join(", ")}`;
  $("new-label").value = "";
  $("relabel").showModal();
  $("new-label").focus();
  $("new-label").dispatchEvent(new Event("input"));
}

function showDecisions() {
  const {num_relabelled: fixed, num_dropped: dropped, command} = dataset;
  $("decided").textContent = fixed + dropped ? `${fixed.toLocaleString("en")} relabelled, ${dropped.toLocaleString("en")} dropped` : "Nothing is decided yet.";
  $("apply").hidden = !command;
  $("command").value = command;
  for (const button of document.querySelectorAll("[data-act=undo]")) button.disabled = !dataset.can_undo;
  $("lists").querySelector("[value=decided]").textContent = `${TITLES.decided} (${(fixed + dropped).toLocaleString("en")})`;
}

const ACTS = {
  relabel, drop: () => decide(null), skip: () => choose(chosen + 1), undo: () => change("/api/undo", {}),
  next: () => choose(chosen + 1), previous: () => choose(chosen - 1), close: () => $("large").close(),
};

// ---- a field that finds classes by a part of their name (ARIA's combobox)

function combobox(input, pick) {
  const options = make("ul", {className: "options", id: `${input.id}-options`, hidden: true});
  options.setAttribute("role", "listbox");
  options.setAttribute("aria-label", "Classes");
  const box = make("div", {className: "box"});
  input.replaceWith(box);
  box.append(input, options);
  for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-expanded", "false"], ["aria-controls", options.id]]) input.setAttribute(name, value);
  let names = [], at = -1;
  const mark = (to) => {
    at = to === null || !names.length ? -1 : (to + names.length) % names.length;
    [...options.children].forEach((one, number) => one.setAttribute("aria-selected", String(number === at)));
    if (at >= 0) { input.setAttribute("aria-activedescendant", `${input.id}-${at}`); options.children[at].scrollIntoView({block: "nearest"}); }
    else input.removeAttribute("aria-activedescendant");
  };
  const show = (isOpen) => { options.hidden = !isOpen; input.setAttribute("aria-expanded", String(isOpen)); if (!isOpen) mark(null); };
  const take = (name) => { input.value = name; show(false); pick(name); };
  input.addEventListener("input", () => {
    const text = input.value.trim().toLowerCase();
    const found = dataset.classes.filter(([name]) => name.toLowerCase().includes(text));
    found.sort((one, other) => rank(one[0], text) - rank(other[0], text));
    names = found.slice(0, 50).map(([name]) => name);
    options.replaceChildren(...found.slice(0, 50).map(([name, count], number) => {
      const item = make("li", {id: `${input.id}-${number}`}, make("b", {textContent: name}), make("span", {textContent: count.toLocaleString("en")}));
      item.setAttribute("role", "option");
      item.addEventListener("mousedown", (event) => { event.preventDefault(); take(name); });
      return item;
    }));
    show(names.length > 0);
    mark(text ? 0 : null);
  });
  input.addEventListener("keydown", (event) => {
    const move = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (move) { event.preventDefault(); if (options.hidden) input.dispatchEvent(new Event("input")); else mark(at < 0 && move < 0 ? -1 : at + move); }
    else if (event.key === "Enter" && !options.hidden && at >= 0) { event.preventDefault(); take(names[at]); }
    else if (event.key === "Escape" && !options.hidden && !input.closest("dialog")) { event.preventDefault(); event.stopPropagation(); show(false); }
  });
  input.addEventListener("blur", () => show(false));
}

const rank = (name, text) => { const found = name.toLowerCase(); return found === text ? 0 : found.startsWith(text) ? 1 : 2; };

// ---- keys and buttons

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
  if (event.key === "?") { event.preventDefault(); $("help").showModal(); return; }
  const isLarge = $("large").open;
  if ($("relabel").open || $("help").open || (!isLarge && document.activeElement !== grid)) return;
  const perPage = columns * Math.max(1, Math.floor(scroller.clientHeight / rowHeight));
  const moves = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: isLarge ? 1 : columns, ArrowUp: isLarge ? -1 : -columns, PageDown: perPage, PageUp: -perPage, Home: -num, End: num};
  const acts = {r: relabel, d: ACTS.drop, s: ACTS.skip, u: ACTS.undo, "+": () => zoom(side + 32), "=": () => zoom(side + 32), "-": () => zoom(side - 32)};
  if (!isLarge) { acts.Enter = open_; acts[" "] = open_; }
  if (event.key in moves) choose(chosen + moves[event.key]);
  else if (event.key in acts) { if (list !== "rejected" || "+=-".includes(event.key)) acts[event.key](); }
  else return;
  event.preventDefault();
}

async function start() {
  dataset = await ask("/api/dataset");
  document.title = `${dataset.name} – shardkit view`;
  $("name").textContent = dataset.name;
  $("place").textContent = dataset.place;
  for (const [name, count] of Object.entries(dataset.splits)) $("split").append(make("option", {value: name, textContent: `${name} (${count.toLocaleString("en")})`}));
  for (const name of ["all", ...dataset.queues, "rejected"]) {
    const count = {all: dataset.num, rejected: dataset.num_rejected}[name];
    const button = make("button", {type: "button", value: name, textContent: count === undefined ? TITLES[name] : `${TITLES[name]} (${count.toLocaleString("en")})`});
    button.addEventListener("click", () => { list = name; load(); });
    $("lists").append(make("li", {}, button));
  }
  $("class-field").hidden = !dataset.classes.length;
  $("filter-box").open = innerWidth > 600;
  for (const element of document.querySelectorAll("[data-act=relabel], .relabel-only")) element.hidden = !dataset.can_relabel;
  $("no-relabel").hidden = dataset.can_relabel;
  combobox($("label"), () => load());
  combobox($("new-label"), async (name) => { $("relabel").close(); await decide(name); });
  $("filters").addEventListener("submit", (event) => { event.preventDefault(); load(); });
  $("filters").addEventListener("reset", () => setTimeout(load));
  $("split").addEventListener("change", () => load());
  $("zoom").addEventListener("input", () => zoom(Number($("zoom").value)));
  $("help-open").addEventListener("click", () => $("help").showModal());
  $("help-close").addEventListener("click", () => $("help").close());
  $("relabel-cancel").addEventListener("click", () => $("relabel").close());
  $("relabel").addEventListener("close", () => { if ($("large").open) return; grid.focus({preventScroll: true}); });
  $("large").addEventListener("close", () => grid.focus({preventScroll: true}));
  $("copy").addEventListener("click", async () => { $("command").select(); await navigator.clipboard.writeText(dataset.command); $("copy").textContent = "Copied"; });
  for (const button of document.querySelectorAll("[data-act]")) button.addEventListener("click", () => ACTS[button.dataset.act]());
  document.addEventListener("keydown", onKey);
  new ResizeObserver(() => { const middle = Math.floor(top_ / rowHeight) * columns; layOut(); goTo(Math.floor(middle / columns) * rowHeight); }).observe(scroller);
  showDecisions();
  await load();
  grid.focus({preventScroll: true});
}

start().catch(fail);
