// Draws charts in the page's colours, shows the panel of the chosen model, sorts tables.
"use strict";

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function colours() {
  const axis = { gridcolor: css("--line"), linecolor: css("--line"), tickcolor: css("--line") };
  const changes = { "font.color": css("--ink"), paper_bgcolor: css("--paper"), plot_bgcolor: css("--paper") };
  for (const [name, value] of Object.entries(axis)) {
    changes[`xaxis.${name}`] = value;
    changes[`yaxis.${name}`] = value;
  }
  return changes;
}

function draw(plot) {
  if (plot.drawn || !plot.offsetParent) return; // a hidden chart has no width: it is drawn when it is shown
  const figure = JSON.parse(plot.querySelector("script").textContent);
  plot.drawn = Plotly.newPlot(plot, figure.data, figure.layout, { responsive: true, displaylogo: false })
    .then(() => Plotly.relayout(plot, colours()));
}

function drawAll(within) {
  within.querySelectorAll(".plot").forEach(draw);
}

function setUpChooser(chooser) {
  const inputs = [...chooser.querySelectorAll("input[type=radio]")];
  const panels = [...chooser.querySelectorAll(".panel")];
  const plot = chooser.querySelector(".plot");
  const choose = (chosen) => {
    inputs[chosen].checked = true;
    panels.forEach((panel, number) => { panel.hidden = number !== chosen; });
    drawAll(panels[chosen]);
    plot.drawn.then(() => Plotly.restyle(plot, {
      "marker.size": [inputs.map((_, number) => (number === chosen ? 17 : 11))],
      "marker.symbol": [inputs.map((_, number) => (number === chosen ? "diamond" : "circle"))],
    }, [0]));
  };
  draw(plot);
  plot.drawn.then(() => plot.on("plotly_click", (event) => choose(event.points[0].pointIndex)));
  inputs.forEach((input, number) => input.addEventListener("change", () => choose(number)));
  choose(Number(chooser.dataset.first));
}

function compare(one, two) {
  const numbers = [one, two].map((text) => parseFloat(text.replace(/[,%±]/g, "")));
  if (numbers.every(Number.isFinite)) return numbers[0] - numbers[1];
  return Number.isFinite(numbers[1]) - Number.isFinite(numbers[0]) || one.localeCompare(two);
}

function setUpSorting(table) {
  const body = table.tBodies[0];
  table.querySelectorAll("thead button").forEach((button, column) => {
    const head = button.parentElement;
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sign = down ? -1 : 1;
      const cell = (row) => row.cells[column].textContent;
      [...body.rows].sort((one, two) => sign * compare(cell(one), cell(two))).forEach((row) => body.append(row));
    });
  });
}

document.querySelectorAll("table.sortable").forEach(setUpSorting);
document.querySelectorAll(".chooser").forEach(setUpChooser);
drawAll(document);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  document.querySelectorAll(".plot").forEach((plot) => plot.drawn && Plotly.relayout(plot, colours()));
});
