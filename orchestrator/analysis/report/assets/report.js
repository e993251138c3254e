"use strict";
// Sorts, filters and shortens tables, copies them, computes another length of the job, and links figures with rows.
// Without it the page shows everything as it came.
const MOST_ROWS = 10;
const NEXT = { none: "ascending", ascending: "descending", descending: "none" };
const inWords = new Intl.Collator("en", { numeric: true }).compare;

function keyOf(row, index) {
  const cell = row.cells[index];
  if (cell.classList.contains("absent")) return null;
  if (cell.classList.contains("number")) return "value" in cell.dataset ? Number(cell.dataset.value) : null;
  return cell.dataset.text ?? cell.textContent;
}

function compare(one, other, sign) {
  if (one === null || other === null) return (one === null) - (other === null); // absent ones last, whatever the order
  return sign * (typeof one === "number" ? one - other : inWords(one, other));
}

function make(name, words, attributes = {}) {
  return Object.assign(document.createElement(name), { textContent: words, ...attributes });
}

function headerName(header) {
  return (header.querySelector(".name") ?? header).textContent;
}

class TableView {
  constructor(table) {
    this.body = table.tBodies[0];
    this.rows = [...this.body.rows];
    this.headers = [...table.tHead.rows[0].cells];
    this.isWhole = false;
    this.isKept = () => true;
    this.tools = make("span", "", { className: "tools" });
    table.parentElement.before(this.tools);
    if (this.rows.length > 1) this.addSorting(table);
    this.more = make("button", "", { type: "button" });
    this.more.addEventListener("click", () => { this.isWhole = !this.isWhole; this.show(); });
    this.tools.append(this.more);
    this.addCopy();
    this.show();
  }

  addSorting(table) {
    this.choice = document.createElement("select");
    this.choice.add(new Option("as in the report", ""));
    this.headers.forEach((header, index) => {
      const name = headerName(header);
      const button = make("button", name, { type: "button" });
      button.addEventListener("click", () => this.sortBy(index, NEXT[header.getAttribute("aria-sort")]));
      header.setAttribute("aria-sort", "none");
      const old = header.querySelector(".name");
      if (old) old.replaceChildren(button); else header.replaceChildren(button);
      for (const order of ["ascending", "descending"]) this.choice.add(new Option(`${name}, ${order}`, `${index} ${order}`));
    });
    this.choice.addEventListener("change", () => {
      const [index, order] = this.choice.value ? this.choice.value.split(" ") : [0, "none"];
      this.sortBy(Number(index), order);
    });
    const label = make("label", "Order of rows: ", { className: "sorting" });
    label.append(this.choice);
    table.parentElement.before(label);
  }

  sortBy(index, order) {
    const sign = order === "descending" ? -1 : 1;
    const keyed = this.rows.map((row) => ({ row, key: order === "none" ? null : keyOf(row, index) }));
    keyed.sort((one, other) => compare(one.key, other.key, sign)); // stable: ties stay as they came
    this.body.append(...keyed.map((entry) => entry.row));
    this.headers.forEach((header, at) => header.setAttribute("aria-sort", at === index ? order : "none"));
    this.choice.value = order === "none" ? "" : `${index} ${order}`;
    this.show();
  }

  sortAgain() {
    const sorted = this.headers.findIndex((header) => header.getAttribute("aria-sort")?.endsWith("ending"));
    if (sorted >= 0) this.sortBy(sorted, this.headers[sorted].getAttribute("aria-sort"));
  }

  showAll() {
    this.isWhole = true;
    this.show();
  }

  show() {
    const kept = [...this.body.rows].filter(this.isKept);
    const shown = new Set(this.isWhole ? kept : kept.filter((row, index) => index < MOST_ROWS || row.classList.contains("best")));
    for (const row of this.body.rows) {
      row.classList.toggle("hidden", !shown.has(row));
      row.classList.toggle("cut", this.isKept(row) && !shown.has(row));
    }
    this.more.hidden = kept.length <= MOST_ROWS;
    this.more.textContent = this.isWhole ? `Show ${MOST_ROWS} rows` : `Show all ${kept.length.toLocaleString("en")} rows`;
  }

  addCopy() {
    const button = make("button", "Copy as CSV", { type: "button" });
    button.addEventListener("click", async () => {
      await copied(this.csv());
      button.textContent = "Copied";
    });
    this.tools.append(button);
  }

  csv() {
    const quoted = (words) => `"${words.replaceAll('"', '""')}"`;
    const inert = (words) => (/^[=+\-@]/.test(words) ? `'${words}` : words);
    const cellOf = (cell) => cell.dataset.value ?? quoted(inert(cell.dataset.text ?? cell.textContent.trim()));
    const rows = [...this.body.rows].filter(this.isKept).map((row) => [...row.cells].map(cellOf).join(","));
    return [this.headers.map((header) => quoted(headerName(header))).join(","), ...rows].join("\r\n");
  }
}

async function copied(words) {
  try {
    await navigator.clipboard.writeText(words);
  } catch { // a page from a folder may not be allowed to
    const area = make("textarea", words);
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

const UNITS = [[86400, "days"], [3600, "h"], [60, "min"]];

function digits(value, count = 3) {
  if (!value) return "0";
  const decimals = Math.max(0, count - 1 - Math.floor(Math.log10(Math.abs(value))));
  return decimals > 7 ? value.toExponential(2) : value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

function rangeOf(middle, row, size) {
  const [low, high] = [Number(row.dataset.low), Number(row.dataset.high)];
  return low < high ? `${digits((middle * low) / size)} to ${digits((middle * high) / size)}` : "";
}

class Calculator {
  constructor(controls, view) {
    this.view = view;
    this.asked = Number(controls.dataset.samples);
    this.epoch = Number(controls.dataset.epoch);
    this.samples = controls.querySelector(".samples");
    this.epochs = controls.querySelector(".epochs");
    this.slider = controls.querySelector(".slider");
    this.note = make("span", "", { className: "note", ariaLive: "polite" });
    controls.append(this.note);
    this.kept = view.rows.map((row) => ["time", "usd"].map((name) => row.querySelector(`td.job-${name}`)?.innerHTML));
    Object.assign(this.slider, { min: 3, max: Math.max(11, Math.log10(this.asked) + 1) });
    this.samples.addEventListener("input", () => this.set(Number(this.samples.value), this.samples));
    this.epochs?.addEventListener("input", () => this.set(Number(this.epochs.value) * this.epoch, this.epochs));
    this.slider.addEventListener("input", () => this.set(Number((10 ** this.slider.value).toPrecision(2)), this.slider));
    this.set(this.asked, null);
  }

  set(samples, source) {
    if (!(samples > 0 && Number.isFinite(samples))) return;
    if (source !== this.samples) this.samples.value = samples;
    if (source !== this.slider) this.slider.value = Math.log10(samples);
    if (this.epochs && source !== this.epochs) this.epochs.value = Number((samples / this.epoch).toPrecision(4));
    this.view.rows.forEach((row, index) => this.compute(row, samples, this.kept[index]));
    this.note.textContent = samples === this.asked ? "" : `Times and costs are for ${samples.toLocaleString("en")} samples; the answer, chances and figures are not.`;
    this.view.sortAgain();
  }

  compute(row, samples, [time, usd]) {
    if (!("rate" in row.dataset)) return;
    const seconds = Number(row.dataset.fixed) + samples / Number(row.dataset.rate);
    const [size, unit] = UNITS.find(([least]) => seconds >= 2 * least) ?? [1, "s"];
    const isAsked = samples === this.asked;
    put(row.querySelector("td.job-time"), isAsked && time, [`${digits(seconds / size)} ${unit}`, rangeOf(seconds, row, size)], seconds);
    if ("price" in row.dataset) {
      const dollars = seconds * Number(row.dataset.price);
      put(row.querySelector("td.job-usd"), isAsked && usd, [digits(dollars), rangeOf(dollars, row, 1)], dollars);
    }
  }
}

function put(cell, asItCame, [middle, range], value) {
  if (asItCame) cell.innerHTML = asItCame;
  else cell.replaceChildren(make("span", middle), make("small", range));
  cell.dataset.value = value;
}

function addFilters(controls, view) {
  const choices = [...controls.querySelectorAll("select[data-key]")];
  const attribute = (key) => `data-${key.replaceAll("_", "-")}`;
  for (const choice of choices) {
    choice.addEventListener("change", () => {
      view.isKept = (row) => choices.every((one) => !one.value || row.getAttribute(attribute(one.dataset.key)) === one.value);
      view.show();
      for (const row of view.rows) {
        for (const mark of document.querySelectorAll(`[data-row="${row.id}"]`)) mark.classList.toggle("off", !view.isKept(row));
      }
    });
  }
}

function linkFigures(views) {
  const reveal = (id) => {
    const row = document.getElementById(id);
    if (row?.classList.contains("cut")) views.get(row.closest("table")).showAll();
    row?.scrollIntoView({ block: "center" });
  };
  const light = (id, isLit) => document.getElementById(id)?.classList.toggle("lit", isLit);
  for (const mark of document.querySelectorAll("[data-row]")) {
    mark.addEventListener("pointerenter", () => light(mark.dataset.row, true));
    mark.addEventListener("pointerleave", () => light(mark.dataset.row, false));
    mark.addEventListener("click", () => reveal(mark.dataset.row));
  }
  for (const row of document.querySelectorAll("table.settings tbody tr")) {
    const marks = () => document.querySelectorAll(`[data-row="${row.id}"]`);
    row.addEventListener("pointerenter", () => marks().forEach((mark) => mark.setAttribute("stroke-width", 5)));
    row.addEventListener("pointerleave", () => marks().forEach((mark) => mark.setAttribute("stroke-width", 2)));
  }
}

const views = new Map();
for (const table of document.querySelectorAll(".scroll table:not(.heat)")) {
  if (table.tBodies.length) views.set(table, new TableView(table));
}
for (const controls of document.querySelectorAll(".controls")) {
  const view = views.get(controls.parentElement.querySelector("table.settings"));
  controls.hidden = false;
  addFilters(controls, view);
  if (controls.querySelector(".samples")) new Calculator(controls, view);
}
linkFigures(views);
if (matchMedia("(max-width: 44rem)").matches) {
  for (const part of document.querySelectorAll("section > details, .card details")) part.open = false;
}
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});
