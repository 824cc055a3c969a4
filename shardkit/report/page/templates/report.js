"use strict";
(() => {
  const data = document.getElementById("class-data");
  if (data) {
    const {examples, rows} = JSON.parse(data.textContent);
    const all = examples.reduce((sum, one) => sum + one, 0);
    const found = document.getElementById("class-table");
    const body = found.querySelector("tbody");
    const more = document.getElementById("class-more");
    const search = document.getElementById("class-search");
    const status = document.getElementById("class-status");
    const FIRST = body.rows.length, STEP = 200;
    const number = new Intl.NumberFormat("en-US");
    const total = row => row.slice(2).reduce((sum, one) => sum + one, 0);
    const percent = share => share === 0 ? "0%" : share < 0.0001 ? "<0.01%"
      : (100 * share).toFixed(share >= 0.001 ? 1 : 2) + "%";
    const folded = rows.map(row => row[1].toLowerCase());
    const compareNames = new Intl.Collator("en", {numeric: true}).compare;
    let limit = FIRST, order = rows.map((_, at) => at), shown = order;

    const cell = (tag, text) => {
      const made = document.createElement(tag);
      made.textContent = text;
      return made;
    };
    const line = row => {
      const made = document.createElement("tr");
      const name = document.createElement("th");
      name.scope = "row";
      const pictures = document.getElementById(`class-${row[0]}`);
      const text = pictures ? document.createElement("a") : name;
      text.textContent = row[1];
      if (pictures) {
        text.href = `#${pictures.id}`;
        name.append(text);
      }
      const sum = total(row);
      made.append(cell("td", row[0]), name, cell("td", number.format(sum)), cell("td", percent(sum / all)));
      if (examples.length > 1) {
        row.slice(2).forEach((count, at) => {
          made.append(cell("td", number.format(count)), cell("td", percent(count / examples[at])));
        });
      }
      return made;
    };
    const draw = () => {
      body.replaceChildren(...shown.slice(0, limit).map(at => line(rows[at])));
      more.hidden = shown.length <= limit;
      more.textContent = `Show ${number.format(Math.min(STEP, shown.length - limit))} more`;
      status.textContent = shown.length === rows.length
        ? `${number.format(rows.length)} classes`
        : `${number.format(shown.length)} of ${number.format(rows.length)} classes`;
    };
    const filter = () => {
      const wanted = search.value.trim().toLowerCase();
      shown = wanted ? order.filter(at => folded[at].includes(wanted)) : order;
      limit = FIRST;
      draw();
    };
    const KEYS = {
      label: () => (a, b) => rows[a][0] - rows[b][0],
      name: () => (a, b) => compareNames(rows[a][1], rows[b][1]),
      total: () => (a, b) => total(rows[a]) - total(rows[b]),
      split: at => (a, b) => rows[a][2 + at] - rows[b][2 + at],
    };
    for (const head of found.querySelectorAll("th[data-sort]")) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        const isText = head.dataset.sort === "label" || head.dataset.sort === "name";
        const ascending = before ? before !== "ascending" : isText;
        found.querySelectorAll("th[aria-sort]").forEach(one => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
        const compare = KEYS[head.dataset.sort](Number(head.dataset.split));
        order = rows.map((_, at) => at).sort((a, b) => (ascending ? 1 : -1) * compare(a, b) || a - b);
        filter();
      });
    }
    search.addEventListener("input", filter);
    more.addEventListener("click", () => {
      limit += STEP;
      draw();
    });
    search.closest(".search").hidden = false;
    found.querySelectorAll(".no-script").forEach(one => one.remove());
    draw();
  }
  // A picture that is clicked is shown as large as the page holds it; the arrow keys go on to the next ones.
  const dialog = document.getElementById("picture");
  let current = null;
  const show = button => {
    current = button;
    const small = button.querySelector("img"), large = dialog.querySelector("img");
    large.src = small.src;
    large.alt = small.alt;
    const isIcon = button.parentElement.classList.contains("small");
    const {naturalWidth: width, naturalHeight: height} = small;
    const scale = Math.min((innerWidth * 0.96 - 40) / width, innerHeight * 0.7 / height, isIcon ? 8 : 2.5);
    large.width = Math.max(1, Math.round(width * scale));
    large.height = Math.max(1, Math.round(height * scale));
    dialog.classList.toggle("small", isIcon);
    document.getElementById("picture-key").textContent = button.dataset.key;
    document.getElementById("picture-details").textContent = button.dataset.details;
    if (!dialog.open) dialog.showModal();
  };
  const step = by => {
    const all = [...document.querySelectorAll("button.zoom")].filter(one => one.offsetParent);
    const next = all[all.indexOf(current) + by];
    if (next) show(next);
  };
  addEventListener("click", event => {
    const button = event.target.closest("button");
    if (button && button.matches(".zoom")) show(button);
    else if (button && button.dataset.step) step(Number(button.dataset.step));
    else if (event.target === dialog || (button && "close" in button.dataset)) dialog.close();
  });
  dialog.addEventListener("keydown", event => {
    const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (by) step(by);
  });
  dialog.addEventListener("close", () => current.focus());
  // Paper has nothing to click: everything is unfolded for it.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach(one => { one.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach(one => { one.open = false; }));
  // A link into a folded part unfolds it.
  const unfold = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let one = target && target.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();
})();
