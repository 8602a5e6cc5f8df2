"use strict";
// Small helpers. Every text goes through textContent or an attribute: none is ever read as markup.

const data = JSON.parse(document.getElementById("data").textContent);

const byId = (id) => document.getElementById(id);

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  for (const child of children.flat()) {
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

const distinct = (values) => [...new Set(values)];
const epsilonName = (epsilon) => (epsilon === null ? "any" : String(epsilon));
const shown = (number) => (number === null ? "inf" : number.toFixed(2));
const counted = (number) => number.toLocaleString("en");

// A group of radio buttons or checkboxes. `options` are {value, label, mark}; calls `changed` with the current choice.
function choices(legend, options, { many = false, chosen = null, changed }) {
  const name = `choice-${choices.count++}`;
  const inputs = [];
  const group = make("fieldset", { class: "choices" }, make("legend", {}, legend));
  for (const option of options) {
    const input = make("input", { type: many ? "checkbox" : "radio", name, value: option.value });
    input.checked = many || option.value === chosen;
    input.addEventListener("change", () => changed(current()));
    inputs.push(input);
    const mark = option.mark ? [make("span", { class: `mark series-${option.series}`, "aria-hidden": "true" }, option.mark)] : [];
    group.append(make("label", {}, input, mark, make("span", {}, option.label)));
  }
  const current = () => {
    const values = inputs.filter((input) => input.checked).map((input) => input.value);
    return many ? values : values[0];
  };
  return group;
}
choices.count = 0;

function table(caption, headings, rows, { right = [], marked = () => "", wraps = false } = {}) {
  const head = headings.map((heading) =>
    make("th", { scope: "col", class: right.includes(heading) ? "number" : null }, heading));
  const body = rows.map((cells, at) => make("tr", { class: marked(at) || null }, cells.map((cell, i) =>
    make(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, class: right.includes(headings[i]) ? "number" : null }, cell))));
  const made = make("table", { "aria-label": caption, class: wraps ? "wraps" : null }, make("thead", {}, make("tr", {}, head)), make("tbody", {}, body));
  return make("div", {}, make("h3", {}, caption), // outside, so that it does not scroll away
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, made));
}

function pairs(entries) {
  return make("dl", { class: "pairs" }, Object.entries(entries).map(([key, value]) =>
    [make("dt", {}, key), make("dd", {}, value)]).flat());
}
