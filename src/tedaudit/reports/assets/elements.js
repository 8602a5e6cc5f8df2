"use strict";
// Small helpers. Every text goes through textContent or an attribute: none is ever read as markup.

const data = JSON.parse(document.getElementById("data").textContent);

const byId = (id) => document.getElementById(id);

// Texts may be in any script. A text of the corpus (class "text") is laid out in its own direction, in a language that is not
// known. In a sentence of ours, what is written from right to left is isolated, so that it cannot move the numbers beside it.
// A character that cannot be seen is shown by its number; joiners inside emoji and words of other scripts are left alone.
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}](?:[\s\p{M}\p{P}]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}])*/gu;
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const PLAIN = /^[\t\n -~]*$/;
const beyondLatin = (character) => character !== undefined && character > "\u024f" && !/[\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/.test(character);

function isSpelling(text, at, character) { // a joiner between letters or emoji, or a tag of a flag
  if (character >= "\u{e0020}" && character <= "\u{e007f}") return /\u{1f3f4}[\u{e0020}-\u{e007f}]*$/u.test(text.slice(Math.max(0, at - 40), at));
  return (character === "\u200c" || character === "\u200d") && beyondLatin(text[at - 1]) && beyondLatin(text[at + 1]);
}

const numberOf = (character) => `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

function splitAt(text, pattern, wrap) { // what a pattern finds is wrapped, if `wrap` returns something for it
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(pattern)) {
    const wrapped = wrap(found[0], found.index);
    if (wrapped === null) continue;
    nodes.push(document.createTextNode(text.slice(from, found.index)), wrapped);
    from = found.index + found[0].length;
  }
  return [...nodes, document.createTextNode(text.slice(from))].filter((node) => node.textContent !== "");
}

const reveal = (text) => splitAt(text, UNSEEN, (character, at) => (isSpelling(text, at, character) ? null : make("span", { class: "unseen" }, numberOf(character))));

function written(text, isWhole = false) {
  if (PLAIN.test(text)) return [document.createTextNode(text)];
  if (isWhole) return reveal(text);
  const parts = splitAt(text, RIGHT_TO_LEFT, (run) => { const part = document.createElement("bdi"); part.append(...reveal(run)); return part; });
  return parts.flatMap((part) => (part instanceof Text ? reveal(part.data) : [part]));
}

const named = (text) => text.replace(UNSEEN, (character, at) => (isSpelling(text, at, character) ? character : `[${numberOf(character)}]`)); // where no element may stand

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  const isText = (attributes.class ?? "").split(" ").includes("text");
  if (isText || tag === "option") element.dir = "auto";
  if (isText) element.lang = "";
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  for (const child of children.flat()) {
    if (child instanceof Node) element.append(child);
    else if (tag === "option") element.append(named(String(child)));
    else element.append(...written(String(child), isText));
  }
  return element;
}

// A sentence in which what stands between backticks is code.
const coded = (text) => text.split(/`([^`\n]+)`/).map((part, at) => (at % 2 ? make("code", {}, part) : part));

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

// A table under its caption, which is left out if something else names it. Names and short cells are never broken.
// On a narrow page a stacked one shows a row as its first cell and below it the others, each beside its heading.
function table(caption, headings, rows, { right = [], texts = [], marked = () => "", titled = true, stacked = false } = {}) {
  const kinds = (heading, cell, most) => ["text", "number", "verdict", "short"].filter((_, n) =>
    [texts.includes(heading), right.includes(heading), heading === "verdict", !texts.includes(heading) && cell.length <= most][n]).join(" ") || null;
  const head = headings.map((heading) => make("th", { scope: "col", class: right.includes(heading) ? "number" : null }, heading));
  const body = rows.map((cells, at) => make("tr", { class: marked(at) || null }, cells.map((cell, i) => (i === 0
    ? make("th", { scope: "row", class: kinds(headings[i], cell, 20) }, cell) : make("td", { class: kinds(headings[i], cell, 12), "data-label": stacked ? headings[i] : null }, cell)))));
  const made = make("table", { "aria-label": caption, class: `${stacked ? "stacked" : ""} ${headings.length > 10 ? "wide" : ""}`.trim() || null }, make("thead", {}, make("tr", {}, head)), make("tbody", {}, body));
  return make("div", {}, titled ? make("h3", {}, caption) : [], // outside, so that it does not scroll away
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, made));
}

function sectionTable({ title, headings, rows, private: texts, right, marked }, titled = true, stacked = false) {
  return table(title, headings, rows, { texts, right, titled, stacked, marked: (at) => (marked.includes(at) ? "violated" : "") });
}

// A line for a shell, whatever is in its parts.
function command(...parts) {
  const quoted = (text) => (/^[\w.@%+=:,/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  return parts.map((part) => quoted(String(part))).join(" ");
}

function pairs(entries) {
  return make("dl", { class: "pairs" }, Object.entries(entries).map(([key, value]) =>
    [make("dt", {}, key), make("dd", {}, value)]).flat());
}
