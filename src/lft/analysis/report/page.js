"use strict";

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const YARDSTICK = "#000000";

// The baseline's black would vanish on a dark page.
function inkOf(colour, isDark) {
  return isDark && colour === YARDSTICK ? "#ffffff" : colour;
}

function paint(trace, isDark) {
  const colour = inkOf(trace.meta, isDark);
  for (const part of ["line", "marker", "error_x"]) {
    if (trace[part] && trace[part].color) trace[part].color = colour;
  }
  if (trace.fillcolor) trace.fillcolor = colour;
  return trace;
}

// Paper is white, whatever the screen is.
let printing = false;

function draw(element) {
  const figure = JSON.parse(element.dataset.chart);
  const isDark = dark.matches && !printing;
  const ink = isDark ? "#e8e8e8" : "#1a1a1a";
  const layout = { ...figure.layout, template: undefined, font: { ...figure.layout.font, color: ink } };
  if (layout.updatemenus && element.clientWidth < 500) {
    layout.updatemenus[0].font.size = 10;
  }
  const traces = figure.data.map((trace) => paint(trace, isDark));
  // What the reader hid, and the axis that they chose, stay.
  (element.data || []).forEach((shown, place) => { traces[place].visible = shown.visible; });
  if (element.layout) {
    layout.xaxis.title.text = element.layout.xaxis.title.text;
    (layout.updatemenus || []).forEach((menu, place) => { menu.active = element.layout.updatemenus[place].active; });
  }
  Plotly.react(element, traces, layout, { responsive: true, displaylogo: false });
}

// Charts far down are drawn when they come near, so that the page opens at once.
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (entry.isIntersecting) {
      seen.unobserve(entry.target);
      draw(entry.target);
    }
  }
}, { rootMargin: "600px" });

const charts = [...document.querySelectorAll(".chart")];
charts.forEach((element) => seen.observe(element));
dark.addEventListener("change", () => charts.filter((element) => element.data).forEach(draw));
for (const [event, onPaper] of [["beforeprint", true], ["afterprint", false]]) {
  window.addEventListener(event, () => {
    printing = onPaper;
    charts.filter((element) => dark.matches || !element.data).forEach(draw);
  });
}

function compare(first, second) {
  const [a, b] = [first, second].map((key) => (key === "" ? NaN : Number(key)));
  if (!Number.isNaN(a) && !Number.isNaN(b)) return a - b;
  return first.localeCompare(second, undefined, { numeric: true });
}

function sortBy(table, column, ascending) {
  const body = table.tBodies[0];
  const keyOf = (row) => row.cells[column].dataset.key;
  const rows = [...body.rows];
  rows.sort((a, b) => {
    // Empty cells stay at the end, whichever way.
    const missing = (keyOf(a) === "") - (keyOf(b) === "");
    return missing || (ascending ? 1 : -1) * compare(keyOf(a), keyOf(b));
  });
  body.append(...rows);
}

for (const block of document.querySelectorAll(".table")) {
  const table = block.querySelector("table");
  const rows = [...table.tBodies[0].rows];
  const count = block.querySelector(".count");
  const filter = block.querySelector("input");
  const tell = () => {
    const shown = rows.filter((row) => !row.hidden).length;
    const all = rows.length === 1 ? "1 row" : `${rows.length} rows`;
    count.textContent = shown === rows.length ? all : `${shown} of ${all}`;
  };
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    tell();
  });
  [...table.tHead.rows[0].cells].forEach((cell, column, cells) => {
    cell.firstChild.addEventListener("click", () => {
      const ascending = cell.getAttribute("aria-sort") !== "ascending";
      cells.forEach((other) => other.setAttribute("aria-sort", "none"));
      cell.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      sortBy(table, column, ascending);
    });
  });
  tell();
}
