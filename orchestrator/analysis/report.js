"use strict";
// Draws the figures in the colours of the page, again when those change and before the page is printed.
const plots = [...document.querySelectorAll(".plot")].map((element) => ({
  element,
  ...JSON.parse(document.getElementById(element.dataset.plot).textContent),
}));
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const isNarrow = () => document.documentElement.clientWidth < 640;

function layoutOf(plot, width) {
  const axis = { gridcolor: colour("--line"), zerolinecolor: colour("--line"), linecolor: colour("--line") };
  return {
    ...plot.layout,
    width,
    font: { family: "system-ui, sans-serif", size: 13, color: colour("--text") },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: isNarrow() ? 40 : 60, r: 10, t: 10, b: 40 },
    xaxis: { ...axis, automargin: true, ...plot.layout.xaxis },
    yaxis: { ...axis, automargin: true, ...plot.layout.yaxis },
    legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom" },
    showlegend: true,
    dragmode: false,
    hovermode: "closest",
  };
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
const draw = (width) => plots.forEach((plot) => Plotly.react(plot.element, dataOf(plot), layoutOf(plot, width), config));

draw();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
addEventListener("beforeprint", () => draw(PAPER_WIDTH));
addEventListener("afterprint", () => draw());
