"use strict";
// Fills the page and wires its controls.

const SECTIONS = [["lead", "Summary"], ["example", "One trial"], ["results", "Results"], ["loss", "Loss"], ["calibration", "Chart"],
  ["utility", "Utility"], ["how", "What a number means"], ["findings", "All rows"], ["worst", "Losses, worst cases, leaks"], ["trials", "Trials"],
  ["cards", "Cards"], ["manifest", "Settings"]];

const paragraphs = (texts, kind = null) => texts.map((text) => make("p", { class: kind }, coded(text)));
const folded = (title, ...content) => make("details", {}, make("summary", {}, title), ...content);

function opening() {
  document.title = `Audit ${data.name}`;
  byId("title").replaceChildren(...written(data.name));
  byId("made").textContent = `Run last written ${data.written.replace("T", " ").replace("Z", " UTC")}, tedaudit ${data.version}`;
  const notice = byId("private");
  notice.hidden = false;
  if (data.redacted) notice.textContent = "Texts, file names and labels of several words are left out of this page.";
  else notice.append("This page contains texts of the audited corpus. Before you share it, run: ", make("code", {}, command("tedaudit", "report", data.folder, "--redact")));
  byId("headline").classList.add(data.lead.tone);
  byId("headline").append(...written(data.lead.headline));
  byId("detail").append(...written(data.lead.detail));
  byId("detail").hidden = !data.lead.detail;
  for (const section of data.answers) byId("answers").append(sectionTable(section, true, true), ...paragraphs(section.remarks, "quiet"));
  byId("reading").textContent = data.reading;
  byId("notes").append(...data.notes.map((text) => make("li", {}, coded(text))));
  const present = SECTIONS.filter(([id]) => !byId(id).hidden);
  byId("sections").append(...present.map(([id, words]) => make("li", {}, make("a", { href: `#${id}` }, words))));
}

function results() {
  byId("results").hidden = !data.strongest.rows.length;
  byId("strongest").append(sectionTable(data.strongest, true, true));
  byId("explained").append(...paragraphs(data.audited), ...paragraphs(data.strongest.remarks, "quiet"));
  byId("meaning").append(sectionTable(data.meaning, false), ...paragraphs(data.meaning.remarks));
  byId("tables").append(...data.tables.map((section) => folded(section.title, sectionTable(section, false))));
}

function worstCases() {
  for (const section of data.sections) {
    byId("worst").hidden = false;
    byId("worst-tables").append(sectionTable(section), ...paragraphs(section.remarks, "quiet"));
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
    byId("utility-table").append(folded("All scores", table("Scores by task", ["mechanism", "epsilon", "task", "score", "spread"],
      data.utility.rows.map((row) => [row.mechanism, epsilonName(row.epsilon), row.task, scored(row.score), scored(row.spread ?? 0)]), { right: ["epsilon", "score", "spread"] })));
  }
  followPage(redraws);
}

function utilityControls() {
  const tasks = distinct(data.utility.rows.map((row) => row.task));
  const state = { plan: opened.plan, task: tasks[0] };
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
  byId("manifest-parts").append(
    folded("Corpus and statistics", pairs({ ...corpus, alpha })),
    folded("Models", models.length ? table("Models behind the results", ["used by", "model", "checksum", "of"],
      models.map((model) => [model.used_by, model.model, model.checksum, model.part]), {}) : make("p", {}, "No model, or none recorded.")),
    folded("Versions and machine", pairs({ ...versions, ...machine })),
    folded("Spec", make("pre", { tabindex: "0" }, spec)));
}

charts();
worstCases();
example();
results();
explorer();
opening();
byId("card-list").append(...data.cards.mechanisms.map((one) => card("Mechanism", one)), ...data.cards.attacks.map((one) => card("Attack", one)));
manifest();
