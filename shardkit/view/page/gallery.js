"use strict";
const $ = (id) => document.getElementById(id);
const grid = $("grid"), scroller = $("scroller"), spacer = $("spacer");
const CAPTION = 54;  // pixels of a tile below its picture, with its padding
const GAP = 6, PAGE = 100, MOST_PAGES = 60;
const MAX_HEIGHT = 8e6;  // pixels: browsers cut taller elements
const TITLES = {all: "All", conflicts: "Conflicts", copies: "Near-duplicates", unlike: "Unlike their class", decided: "Decided", rejected: "Rejected"};

const MOST_SELECTED = 5000;
let dataset, list = "all", query = "", num = 0, chosen = 0, top_ = 0, search = 0;
let selected = new Set(), anchor = 0;  // places in the list
const isBare = () => !$("annotated").checked;
let side = 160, columns = 1, rowHeight = 1, tileWidth = 1;
let pages = new Map(), tiles = new Map(), lastTop = 0, settle = 0;

function classesOf(row) {
  return row.is_unlabelled ? "no label" : row.classes.join(", ");
}

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
  for (const name of ["split", "label", "words", "where", "least", "most"]) {
    const value = $(name).value.trim();
    if (value && list !== "decided") found.set(name, value);
  }
  return found.toString();
}

async function load(keepPlace = false) {
  const mine = ++search;
  query = parameters();
  fail();
  select();
  if (!keepPlace) { num = 0; chosen = 0; top_ = 0; pages.clear(); layOut(); }
  $("filter-box").hidden = list === "rejected" || list === "decided";
  for (const button of $("lists").querySelectorAll("button")) button.setAttribute("aria-current", String(button.value === list));
  try {
    let found = {num: dataset.num_rejected, note: `Files that the conversion left out, and why.${dataset.has_source || !dataset.num_rejected ? "" : " They are not in the shards: start shardkit view with --source-folder to see their pictures."}`};
    while (list !== "rejected") {
      found = await ask(`api/list?${query}`);
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
    const path = list === "rejected" ? "api/rejected?" : `api/rows?${query}&`;
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
  tile.setAttribute("aria-selected", String(selected.has(at)));
  tile.classList.toggle("current", at === chosen);
  tile.setAttribute("aria-setsize", num);
  tile.setAttribute("aria-posinset", at + 1);
  tile.setAttribute("aria-label", `image ${at + 1}`);
  tile.style.width = `${tileWidth}px`;
  tile.style.height = `${rowHeight - GAP}px`;
  tile.addEventListener("click", (event) => {
    const tick = event.target.closest(".tick");
    if (event.shiftKey) extend(at, false);
    else if (tick || event.ctrlKey || event.metaKey) { choose(at, false); toggle(at); }
    else { select(); choose(at, false); anchor = at; }
  });
  tile.addEventListener("dblclick", (event) => { if (!event.target.closest(".tick")) open_(); });
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
  picture.replaceChildren(...(row.reason ? [] : [make("span", {className: "tick", title: "Select it"})]));
  tile.classList.remove("dropped", "relabelled");
  if (row.reason) {
    const why = make("p", {className: "reason", textContent: row.message});
    picture.append(why);
    if (dataset.has_source) {
      const image = make("img", {alt: "", draggable: false, hidden: true});
      image.addEventListener("load", () => { image.hidden = false; why.remove(); name.textContent = `${row.reason}: ${row.message}`; });
      image.src = `rejected/${tile.id.slice(5)}?side=256`;
      picture.append(image);
    }
    name.textContent = row.reason;
    tile.title = `${row.key}\n${row.message}`;
    tile.setAttribute("aria-label", `${row.key}, rejected: ${row.reason}, ${row.message}`);
  } else {
    const image = make("img", {alt: "", draggable: false});
    image.addEventListener("error", () => { if (image.hasAttribute("src")) image.replaceWith(make("p", {className: "reason", textContent: "cannot be shown; open it to see why"})); });
    image.src = `picture/${row.number}?side=${side * devicePixelRatio > 256 ? 512 : 256}${isBare() ? "&bare=1" : ""}`;
    picture.append(image);
    name.textContent = classesOf(row) || row.split;
    const state = stateOf(row);
    if (state) { tile.classList.add(row.dropped ? "dropped" : "relabelled"); picture.append(make("span", {className: "badge", textContent: state})); }
    const size = `${row.width} × ${row.height}`;
    if (row.set !== null) { tile.classList.toggle("odd", row.set % 2 === 1); name.textContent = `${row.set + 1} · ${name.textContent}`; }
    tile.setAttribute("aria-label", [row.set === null ? "" : `set ${row.set + 1}`, classesOf(row), row.key, row.split, size, state].filter(Boolean).join(", "));
    tile.title = `${row.key}\n${row.split}, ${size}`;
  }
  key.append(make("bdi", {textContent: row.key}));
  if (key.childNodes.length > 1) key.firstChild.remove();
}

const stateOf = (row) => row.dropped ? "dropped" : row.label ? `→ ${row.label}` : "";

function choose(at, scroll = true) {
  if (!num) return;
  tiles.get(chosen)?.classList.remove("current");
  chosen = Math.max(0, Math.min(at, num - 1));
  if (scroll) {
    const y = GAP + Math.floor(chosen / columns) * rowHeight;
    if (y - GAP < top_) goTo(y - GAP);
    else if (y + rowHeight > top_ + scroller.clientHeight) goTo(y + rowHeight - scroller.clientHeight);
  }
  draw();
  tiles.get(chosen)?.classList.add("current");
  if ($("large").open) showLarge();
}

// ---- selection

function select(places = []) {
  if (list === "rejected") places = [];
  if (places.length > MOST_SELECTED) {
    fail(new Error(`At most ${MOST_SELECTED.toLocaleString("en")} images are selected at once: narrow the list with a filter.`));
    return;
  }
  selected = new Set(places);
  for (const [at, tile] of tiles) tile.setAttribute("aria-selected", String(selected.has(at)));
  $("selection").hidden = !selected.size;
  $("num-selected").textContent = selected.size ? `${selected.size.toLocaleString("en")} selected` : "";
}

function toggle(at) {
  anchor = at;
  select(selected.has(at) ? [...selected].filter((one) => one !== at) : [...selected, at]);
}

function extend(at, scroll = true) {
  choose(at, scroll);
  const [first, last] = [Math.min(anchor, chosen), Math.max(anchor, chosen)];
  select(Array.from({length: Math.min(last - first + 1, MOST_SELECTED + 1)}, (_, one) => first + one));
}

const focusGallery = () => grid.focus({preventScroll: true});
scroller.addEventListener("click", focusGallery);

function zoom(value) {
  const middle = chosen;
  side = Math.max(96, Math.min(value, 448));
  $("zoom").value = side;
  top_ = 0;
  layOut();
  choose(middle);
}
