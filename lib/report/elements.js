// Elements and texts. Text from a run only ever becomes a text node: nothing here parses markup.

function element(tag, attributes = {}, ...children) {
  const made = tag === "svg" || tag.startsWith("svg:")
    ? document.createElementNS("http://www.w3.org/2000/svg", tag.replace("svg:", ""))
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter(child => child !== undefined && child !== null && child !== false));
  return made;
}

const colour = index => `var(--c${index % 8})`;
const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

// Large numbers with a letter.
function number(value, digits = 4) {
  if (value === null || value === undefined) return "not finite";
  const size = Math.abs(value);
  for (const [unit, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]])
    if (size >= unit) return Number((value / (letter === "k" ? 1e3 : unit)).toPrecision(digits)) + letter;
  if (size > 0 && size < 1e-3) return Number(value.toPrecision(3)).toExponential();
  return String(Number(value.toPrecision(digits)));
}

function select(label, options, chosen, change) {
  const box = element("select", { onchange: () => change(box.value) },
    options.map(([value, text]) => element("option", { value, selected: String(value) === String(chosen) }, text)));
  return element("label", {}, label, box);
}

// Rows of cells; on narrow screens each row becomes a block, so headings are given to the cells too.
function table(headings, rows, numeric = []) {
  const kind = column => (numeric.includes(column) ? "number" : undefined);
  return element("table", { class: "stacks" },
    element("thead", {}, element("tr", {}, headings.map((text, i) => element("th", { scope: "col", class: kind(i) }, text)))),
    element("tbody", {}, rows.map(row => element("tr", {},
      row.map((cell, i) => element("td", { class: kind(i), "data-name": headings[i] }, cell))))));
}
