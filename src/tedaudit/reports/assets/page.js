"use strict";
// Fills the page and wires its controls.

const SECTIONS = [["example", "One trial"], ["summary", "Summary"], ["loss", "Loss"], ["calibration", "Chart"], ["utility", "Utility"], ["findings", "Findings"],
  ["worst", "Losses, worst cases, leaks"], ["trials", "Trials"], ["cards", "Cards"], ["how", "How to read"], ["manifest", "Settings"]];

function opening() {
  document.title = `Audit ${data.name}`;
  byId("title").replaceChildren(...written(data.name));
  byId("made").textContent = `Run last written ${data.written.replace("T", " ").replace("Z", " UTC")}, tedaudit ${data.version}`;
  const notice = byId("private");
  notice.hidden = false;
  notice.textContent = data.redacted
    ? "Texts, file names and labels of several words are left out of this page."
    : "This page contains texts of the audited corpus. Before you share it, run: tedaudit report RUN --redact";
  byId("headlines").replaceChildren(...data.headlines.map((line) => make("p", { class: `headline ${line.tone}` }, line.text)));
  byId("tiles").append(...data.tiles.map((tile) => make("div", {},
    make("dt", {}, tile.name), make("dd", { class: "value" }, tile.value), make("dd", { class: "quiet" }, tile.remark))));
  byId("paragraphs").append(...data.paragraphs.map((text) => make("p", {}, text)));
  byId("reading").textContent = data.reading;
  byId("notes").append(...data.notes.map((text) => make("li", {}, text)));
  const present = SECTIONS.filter(([id]) => !byId(id).hidden);
  byId("sections").append(...present.map(([id, words]) => make("li", {}, make("a", { href: `#${id}` }, words))));
}

function tables() {
  byId("tables").append(...data.tables.map((section) => sectionTable(section)));
}

function worstCases() {
  for (const section of data.sections) {
    byId("worst").hidden = false;
    byId("worst-tables").append(sectionTable(section, true),
      ...section.remarks.map((remark) => make("p", { class: "prose quiet" }, remark)));
  }
}

function charts() {
  const redraws = [];
  byId("loss").hidden = !data.losses.rows.length;
  if (data.missing || typeof Plotly === "undefined") {
    for (const id of ["loss-chart", "calibration-chart", "utility-chart"]) {
      byId(id).replaceWith(make("p", { class: "notice", id }, data.missing || "The charts could not be loaded."));
    }
  } else if (data.findings.length) {
    redraws.push(calibrationControls());
    if (data.losses.rows.length) redraws.push(lossControls());
  } else byId("calibration").hidden = true;
  if (data.utility.rows.length) {
    byId("utility").hidden = false;
    if (redraws.length) redraws.push(utilityControls());
    byId("utility-table").append(make("details", {}, make("summary", {}, "All scores"), table("Scores by task", ["mechanism", "epsilon", "task", "score", "spread"],
      data.utility.rows.map((row) => [row.mechanism, epsilonName(row.epsilon), row.task, scored(row.score), scored(row.spread ?? 0)]), { right: ["epsilon", "score", "spread"] })));
  }
  followPage(redraws);
}

function utilityControls() {
  const tasks = distinct(data.utility.rows.map((row) => row.task));
  const state = { plan: data.plans[0].name, task: tasks[0] };
  const redraw = () => tradeoff(state);
  const controls = byId("utility-controls");
  if (data.plans.length > 1) controls.append(planChoice(state, redraw));
  if (tasks.length > 1) {
    controls.append(choices("Task", tasks.map((value) => ({ value, label: value })),
      { chosen: state.task, changed: (value) => { state.task = value; redraw(); } }));
  }
  redraw();
  return redraw;
}

function card(kind, one) {
  const made = make("article", { class: "card" }, make("p", { class: "label" }, kind), make("h3", {}, one.label || one.name));
  if (one.label && one.label !== one.name) made.append(make("p", { class: "quiet" }, `plug-in ${one.name}`));
  if (one.missing) made.append(make("p", { class: "quiet" }, one.missing));
  const facts = Object.entries({ Paper: one.paper, Claim: one.claim, Sees: (one.sees ?? []).join(", "),
    Settings: Object.entries(one.settings).map(([key, value]) => `${key}: ${value}`).join(", ") }).filter(([, value]) => value);
  if (one.summary) made.append(make("p", {}, one.summary));
  if (facts.length) made.append(pairs(Object.fromEntries(facts)));
  if (one.departures?.length) {
    made.append(make("p", { class: "label" }, "Departures from the paper, and remarks"),
      make("ul", {}, one.departures.map((text) => make("li", {}, text))));
  }
  return made;
}

function manifest() {
  const { spec, versions, machine, corpus, alpha, models } = data.manifest;
  const part = (title, content) => make("details", {}, make("summary", {}, title), content);
  byId("manifest-parts").append(
    part("Corpus and statistics", pairs({ ...corpus, alpha })),
    part("Models", models.length ? table("Models behind the results", ["used by", "model", "checksum", "of"],
      models.map((model) => [model.used_by, model.model, model.checksum, model.part]), {}) : make("p", {}, "No model, or none recorded.")),
    part("Versions and machine", pairs({ ...versions, ...machine })),
    part("Spec", make("pre", { tabindex: "0" }, spec)));
}

charts();
worstCases();
example();
opening();
tables();
explorer();
byId("card-list").append(...data.cards.mechanisms.map((one) => card("Mechanism", one)), ...data.cards.attacks.map((one) => card("Attack", one)));
manifest();
