"use strict";
// ---- one image, with its boxes, its mask and its record

const MOST_BOXES = 500;  // rows of the table

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
  image.src = `picture/${row.number}?side=1600&bare=1`;
  image.alt = `picture of ${row.key}`;
  image.onerror = async () => {
    image.hidden = true;
    failed.hidden = false;
    failed.textContent = await ask(`picture/${row.number}?side=1600&bare=1`).catch((error) => error.message);
  };
  $("frame").style.setProperty("--ratio", row.width / row.height);
  $("large-title").textContent = classesOf(row) || row.key;
  showState(row);
  const found = await ask(`api/example/${row.number}`).catch((error) => ({boxes: [], mask: [], record: [["key", row.key], ["problem", error.message]]}));
  if (at !== chosen) return;
  shown = {...row, ...found};
  $("record").replaceChildren(...found.record.map(([name, value]) => {
    const head = make("th", {textContent: name});
    head.scope = "row";
    return make("tr", {}, head, make("td", {textContent: value}));
  }));
  const counts = new Map();
  for (const box of found.boxes) counts.set(box.class, (counts.get(box.class) || 0) + 1);
  $("box-class").replaceChildren(
    make("option", {value: "", textContent: `all (${found.boxes.length.toLocaleString("en")})`}),
    ...[...counts].sort((one, other) => other[1] - one[1]).map(([name, count]) => make("option", {value: name, textContent: `${name} (${count.toLocaleString("en")})`})),
  );
  $("box-class").value = counts.has(boxClass) ? boxClass : "";
  $("box-class-field").hidden = !found.has_labels;
  $("boxes-part").hidden = !found.boxes.length;
  $("mask-part").hidden = !found.mask.length;
  $("legend").replaceChildren(...found.mask.map((one) => {
    const head = named(one.name, one.colour);
    head.scope = "row";
    return make("tr", {}, head, make("td", {textContent: one.share < 0.001 ? "< 0.1 %" : `${(100 * one.share).toFixed(1)} %`}));
  }));
  $("large-mask").src = found.mask.length ? `mask/${row.number}?side=1600` : "data:,";
  showBoxes();
  showAnnotations();
}

// ---- boxes and masks

let shown = null, boxClass = "";  // the record in the large view; the class whose boxes are shown

function named(name, colour) {
  const swatch = make("span", {className: "swatch"});
  swatch.style.background = `rgb(${colour})`;
  return make("th", {}, swatch, name);
}

function showBoxes() {
  const boxes = shown.boxes.filter((box) => !$("box-class").value || box.class === $("box-class").value);
  const drawn = boxes.map(({colour, sides: [top, left, bottom, right]}) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [name, value] of Object.entries({x: left, y: top, width: right - left, height: bottom - top, stroke: `rgb(${colour})`})) element.setAttribute(name, value);
    return element;
  });
  $("large-boxes").replaceChildren(...drawn);
  $("boxes-caption").textContent = `Boxes, in pixels${boxes.length > MOST_BOXES ? `: the first ${MOST_BOXES} of ${boxes.length.toLocaleString("en")}` : ""}`;
  const body = $("boxes").tBodies[0];
  body.replaceChildren(...boxes.slice(0, MOST_BOXES).map((box, at) => {
    const [top, left, bottom, right] = box.sides;
    const head = named(shown.has_labels ? box.class : "box", box.colour);
    head.scope = "row";
    const pixels = [left * shown.width, top * shown.height, (right - left) * shown.width, (bottom - top) * shown.height];
    const row = make("tr", {}, head, ...pixels.map((value) => make("td", {textContent: value.toFixed(0)})));
    const mark = (isMarked) => { drawn[at].classList.toggle("marked", isMarked); $("large-boxes").classList.toggle("marking", isMarked); };
    row.addEventListener("pointerenter", () => mark(true));
    row.addEventListener("pointerleave", () => mark(false));
    return row;
  }));
}

function showAnnotations() {
  for (const button of document.querySelectorAll("[data-act=annotations]")) button.setAttribute("aria-pressed", String(!isBare()));
  $("large-boxes").toggleAttribute("hidden", isBare());
  $("large-mask").hidden = isBare() || !shown?.mask.length;
  $("large-mask").style.opacity = $("opacity").value / 100;
}

function switchAnnotations() {
  if ($("large").open) showAnnotations();
  layOut();
}

function showState(row) {
  const state = $("large-state");
  state.textContent = row.dropped ? "dropped" : row.label ? `relabelled: ${row.label}` : `${(chosen + 1).toLocaleString("en")} of ${num.toLocaleString("en")}`;
  state.className = row.dropped ? "dropped" : row.label ? "relabelled" : "";
}
