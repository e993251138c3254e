"use strict";
// Draws the figures in the colours of the page, again when those change and before the page is printed.
const plots = [...document.querySelectorAll(".plot")].map((element) => ({
  element,
  height: parseInt(element.style.height),
  ...JSON.parse(document.getElementById(element.dataset.plot).textContent),
}));
const narrow = matchMedia("(max-width: 44rem)");
const root = document.documentElement;
const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();

function layoutOf(plot, width) {
  const lines = { gridcolor: colour("--line"), zerolinecolor: colour("--line"), linecolor: colour("--line") };
  return {
    ...plot.layout,
    width,
    height: parseInt(plot.element.style.height),
    font: { family: "system-ui, sans-serif", size: 13, color: colour("--text") },
    xaxis: { ...lines, ...plot.layout.xaxis },
    yaxis: { ...lines, ...plot.layout.yaxis },
  };
}

const LEGEND_ROOM = 60; // of a legend, in the height of each figure
// A legend that is higher gets its own room; how high it is shows when it is drawn, and it may be scrolled then.
function legendOf(plot) {
  const entries = plot.element.querySelector(".legend .scrollbox");
  return entries ? Math.max(0, Math.ceil(entries.getBBox().height) - LEGEND_ROOM) : 0;
}

function dataOf(plot) {
  const whiskers = { color: colour("--text"), thickness: 1.2, width: 4 };
  return plot.data.map((trace) => {
    const drawn = { ...trace };
    for (const axis of ["error_x", "error_y"]) if (trace[axis]) drawn[axis] = { ...trace[axis], ...whiskers };
    return drawn;
  });
}

const config = { displaylogo: false, responsive: true, displayModeBar: false };
const PAPER_WIDTH = 680; // A4 and Letter without margins, in CSS pixels
function draw(width) {
  root.classList.toggle("paper", width !== undefined);
  for (const plot of plots) {
    for (const more of [() => 0, () => legendOf(plot)]) {
      plot.element.style.height = `${plot.height + more()}px`;
      Plotly.react(plot.element, dataOf(plot), layoutOf(plot, width), config);
    }
  }
}

draw();
for (const media of [narrow, matchMedia("(prefers-color-scheme: dark)")]) media.addEventListener("change", () => draw());
addEventListener("beforeprint", () => draw(PAPER_WIDTH));
addEventListener("afterprint", () => draw());
