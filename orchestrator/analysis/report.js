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
    font: { family: "system-ui, sans-serif", size: 13, color: colour("--text") },
    xaxis: { ...lines, ...plot.layout.xaxis },
    yaxis: { ...lines, ...plot.layout.yaxis },
  };
}

// Where a legend has one column, it gets its own room.
const legendOf = (plot) => 19 * plot.data.filter((trace) => trace.showlegend !== false).length;

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
    const more = width === undefined && narrow.matches ? legendOf(plot) : 0;
    plot.element.style.height = `${plot.height + more}px`;
    Plotly.react(plot.element, dataOf(plot), layoutOf(plot, width), config);
  }
}

draw();
for (const media of [narrow, matchMedia("(prefers-color-scheme: dark)")]) media.addEventListener("change", () => draw());
addEventListener("beforeprint", () => draw(PAPER_WIDTH));
addEventListener("afterprint", () => draw());
