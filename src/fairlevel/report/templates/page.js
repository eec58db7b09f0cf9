// Shows the layers of the chosen option, sorts tables, reads curves under the pointer.
"use strict";

function setUpChooser(chooser) {
  const slider = chooser.querySelector("input[type=range]");
  const articles = [...chooser.querySelectorAll("article.layer")];
  const drawing = chooser.querySelector(".stage svg");
  const marks = [...drawing.querySelectorAll(".mark")];
  const byKey = (key) => articles.findIndex((article) => article.dataset.key === key);
  const choose = (chosen) => {
    slider.value = chosen;
    slider.setAttribute("aria-valuetext", articles[chosen].dataset.spoken);
    chooser.querySelectorAll(".layer").forEach((layer) => layer.classList.toggle("on", Number(layer.dataset.option) === chosen));
    chooser.querySelectorAll("[data-go]").forEach((button) => button.setAttribute("aria-pressed", Number(button.dataset.go) === chosen));
  };
  const chooseAndRemember = (chosen) => {
    choose(chosen);
    history.replaceState(null, "", `#${articles[chosen].dataset.key}`);
  };
  slider.addEventListener("input", () => chooseAndRemember(Number(slider.value)));
  chooser.querySelectorAll("[data-go]").forEach((button) => button.addEventListener("click", () => chooseAndRemember(Number(button.dataset.go))));
  drawing.addEventListener("click", (event) => {
    const distance = (mark) => {
      const box = mark.querySelector(".target").getBoundingClientRect();
      return Math.hypot(event.clientX - box.x - box.width / 2, event.clientY - box.y - box.height / 2);
    };
    const nearest = marks.reduce((one, two) => (distance(two) < distance(one) ? two : one));
    chooseAndRemember(Number(nearest.dataset.option));
  });
  const fromAddress = () => {
    const known = byKey(decodeURIComponent(location.hash.slice(1)));
    if (known >= 0) choose(known);
    return known >= 0;
  };
  addEventListener("hashchange", fromAddress);
  if (!fromAddress()) choose(Number(chooser.dataset.first));
}

function value(text) {
  const number = parseFloat(text.replace(/[,%±<\s]/g, "").replace("−", "-").replace(/×10.*/, ""));
  const power = text.match(/10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)/);
  if (!power) return number;
  return number * 10 ** Number([...power[1]].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(digit)).map((digit) => (digit < 0 ? "-" : digit)).join(""));
}

function compare(one, two) {
  const numbers = [one, two].map(value);
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

// The value of each visible curve under the pointer, read back from its path.
function setUpReading(drawing) {
  const [left, right, base, top, low, high, bottom, upper] = drawing.dataset.scale.split(" ").map(Number);
  const tip = Object.assign(document.createElement("div"), { className: "tip", hidden: true });
  tip.setAttribute("aria-hidden", "true");
  drawing.parentElement.append(tip);
  const points = (path) => (path.points ??= path.getAttribute("d").match(/[ML][^ML]+/g).map((part) => part.slice(1).split(" ").map(Number)));
  const round = (number, range) => number.toLocaleString("en", { maximumFractionDigits: Math.max(0, 2 - Math.floor(Math.log10(range))) });
  drawing.addEventListener("pointermove", (event) => {
    const box = drawing.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * drawing.viewBox.baseVal.width;
    tip.hidden = x < left || x > right;
    if (tip.hidden) return;
    const values = [...drawing.querySelectorAll("path.curve")].filter((path) => path.getClientRects().length).map((path) => {
      const known = points(path);
      const after = Math.max(1, known.findIndex((point) => point[0] >= x - 0.05));
      const [one, two] = [known[after - 1], known[after]];
      const y = one[1] + ((two[1] - one[1]) * (x - one[0])) / (two[0] - one[0] || 1);
      const shown = round(bottom + ((base - y) / (base - top)) * (upper - bottom), upper - bottom);
      return path.classList.contains("before") ? `before ${shown}` : shown;
    });
    tip.textContent = `${round(low + ((x - left) / (right - left)) * (high - low), high - low)}: ${values.join(" → ")}`;
    tip.style.left = `${Math.min(Math.max(event.clientX - box.left, 70), box.width - 70)}px`;
    tip.style.top = `${event.clientY - box.top}px`;
  });
  drawing.addEventListener("pointerleave", () => { tip.hidden = true; });
}

document.querySelectorAll("table.sortable").forEach(setUpSorting);
document.querySelectorAll("svg[data-scale]").forEach(setUpReading);
document.querySelectorAll(".chooser").forEach(setUpChooser);

const closed = [];
addEventListener("beforeprint", () => document.querySelectorAll("details.more:not([open])").forEach((details) => {
  details.open = true;
  closed.push(details);
}));
addEventListener("afterprint", () => closed.splice(0).forEach((details) => { details.open = false; }));
