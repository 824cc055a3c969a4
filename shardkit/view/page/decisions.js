"use strict";
// ---- decisions

// The places that a key or a button acts on: those selected, else the current one.
const places = () => selected.size && !$("large").open ? [...selected].sort((one, other) => one - other) : num ? [chosen] : [];

async function decide(label) {
  const from = places();
  if (!from.length || list === "rejected") return;
  const rows = await Promise.all(from.map(rowAt)).catch((error) => fail(error));
  if (rows) await change("api/decide", {numbers: rows.map((row) => row.number), label}, from);
}

async function change(path, body, from) {
  try {
    const {examples, ...found} = await ask(path, body);
    fail();
    Object.assign(dataset, found);
    showDecisions();
    const changed = new Map(examples.map((one) => [one.number, one]));
    for (const waiting of pages.values()) for (const row of await waiting.catch(() => [])) {
      if (changed.has(row.number)) Object.assign(row, changed.get(row.number));
    }
    let first = null;
    for (const [at, tile] of tiles) {
      const row = await rowAt(at).catch(() => null);
      if (row && changed.has(row.number)) { fill(tile, row); first = Math.min(first ?? at, at); }
    }
    if (list === "decided") await load(true);
    else if (!from && first !== null) choose(first);
    else if (from?.length === 1 && from[0] === chosen && !selected.size) choose(chosen + 1);  // unless the reader was faster
    if (from && !$("large").open) select();
    if ($("large").open) await showLarge();
  } catch (error) {
    fail(error);
    if ($("large").open) $("large-state").textContent = error.message;
  }
}

async function relabel() {
  const from = places(), row = from.length ? await rowAt(from[0]).catch(() => null) : null;
  if (!row || !dataset.can_relabel || list === "rejected") return;
  $("relabel-key").textContent = from.length > 1 ? `${from.length.toLocaleString("en")} images` : `${row.key}: now ${row.label || classesOf(row)}`;
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
  relabel, drop: () => decide(null), skip: () => choose(chosen + 1), undo: () => change("api/undo", {}),
  clear: () => select(), annotations: () => $("annotated").click(), next: () => choose(chosen + 1), previous: () => choose(chosen - 1), close: () => $("large").close(),
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
  // In the dialog the list stays: a button below it would move away from a press of the mouse.
  input.addEventListener("blur", () => { if (!input.closest("dialog")) show(false); });
}

const rank = (name, text) => { const found = name.toLowerCase(); return found === text ? 0 : found.startsWith(text) ? 1 : 2; };

// ---- keys and buttons

function onKey(event) {
  if (event.altKey || event.target.matches("input:not([type=checkbox]), select, textarea")) return;
  const isLarge = $("large").open, isCommand = event.ctrlKey || event.metaKey;
  if ($("relabel").open || $("help").open || (!isLarge && document.activeElement !== grid)) {
    if (event.key === "?" && !document.querySelector("dialog[open]")) { event.preventDefault(); $("help").showModal(); }
    return;
  }
  if (isCommand && (isLarge || event.key !== "a")) return;
  const perPage = columns * Math.max(1, Math.floor(scroller.clientHeight / rowHeight));
  const moves = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: isLarge ? 1 : columns, ArrowUp: isLarge ? -1 : -columns, PageDown: perPage, PageUp: -perPage, Home: -num, End: num};
  const always = {"?": () => $("help").showModal(), m: ACTS.annotations, "+": () => zoom(side + 32), "=": () => zoom(side + 32), "-": () => zoom(side - 32)};
  const acts = {r: relabel, d: ACTS.drop, s: ACTS.skip, u: ACTS.undo};
  if (!isLarge) Object.assign(acts, {Enter: open_, " ": () => toggle(chosen), Escape: ACTS.clear});
  if (isCommand) select(Array.from({length: Math.min(num, MOST_SELECTED + 1)}, (_, at) => at));
  else if (event.key in moves) {
    if (event.shiftKey && !isLarge) extend(chosen + moves[event.key]);
    else { choose(chosen + moves[event.key]); anchor = chosen; }
  }
  else if (event.key in always) always[event.key]();
  else if (event.key in acts) { if (list !== "rejected") acts[event.key](); }
  else return;
  event.preventDefault();
}

// After a list was asked for, its images are what keys act on; with no image, or an error, the filter is.
const loadAndFocus = async () => { await load(); if (num && $("error").hidden) focusGallery(); };

async function start() {
  dataset = await ask("api/dataset");
  document.title = `${dataset.name} – shardkit view`;
  $("name").textContent = dataset.name;
  $("place").textContent = dataset.place;
  for (const [name, count] of Object.entries(dataset.splits)) $("split").append(make("option", {value: name, textContent: `${name} (${count.toLocaleString("en")})`}));
  for (const name of ["all", ...dataset.queues, "rejected"]) {
    const count = {all: dataset.num, rejected: dataset.num_rejected}[name];
    const button = make("button", {type: "button", value: name, textContent: count === undefined ? TITLES[name] : `${TITLES[name]} (${count.toLocaleString("en")})`});
    button.addEventListener("click", () => { list = name; loadAndFocus(); });
    $("lists").append(make("li", {}, button));
  }
  $("class-field").hidden = !dataset.classes.length;
  $("filter-box").open = innerWidth > 600;
  for (const element of document.querySelectorAll("[data-act=relabel], .relabel-only")) element.hidden = !dataset.can_relabel;
  for (const element of document.querySelectorAll(".annotated-only")) element.hidden = !dataset.annotated;
  for (const element of document.querySelectorAll(".annotated-what")) element.textContent = dataset.annotated;
  $("no-relabel").hidden = dataset.can_relabel;
  combobox($("label"), loadAndFocus);
  combobox($("new-label"), async (name) => { $("relabel").close(); await decide(name); });
  $("filters").addEventListener("submit", (event) => { event.preventDefault(); loadAndFocus(); });
  $("filters").addEventListener("reset", () => setTimeout(loadAndFocus));
  $("split").addEventListener("change", () => load());
  $("zoom").addEventListener("input", () => zoom(Number($("zoom").value)));
  $("help-open").addEventListener("click", () => $("help").showModal());
  $("help-close").addEventListener("click", () => $("help").close());
  $("relabel-cancel").addEventListener("click", () => $("relabel").close());
  for (const name of ["relabel", "help", "large"]) $(name).addEventListener("close", () => { if (!$("large").open) focusGallery(); });
  for (const name of ["zoom", "annotated"]) $(name).addEventListener("pointerup", () => setTimeout(focusGallery));
  $("annotated").addEventListener("change", switchAnnotations);
  $("opacity").addEventListener("input", showAnnotations);
  $("box-class").addEventListener("change", () => { boxClass = $("box-class").value; showBoxes(); });
  $("copy").addEventListener("click", async () => { $("command").select(); await navigator.clipboard.writeText(dataset.command); $("copy").textContent = "Copied"; focusGallery(); });
  for (const button of document.querySelectorAll("[data-act]")) {
    button.addEventListener("click", () => { ACTS[button.dataset.act](); if (!document.querySelector("dialog[open]")) focusGallery(); });
  }
  document.addEventListener("keydown", onKey);
  new ResizeObserver(() => { const middle = Math.floor(top_ / rowHeight) * columns; layOut(); goTo(Math.floor(middle / columns) * rowHeight); }).observe(scroller);
  showDecisions();
  await load();
  focusGallery();
}

start().catch(fail);
