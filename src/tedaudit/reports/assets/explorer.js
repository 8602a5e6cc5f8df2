"use strict";
// The trial explorer: a sample of trials, filtered, the worst leaks first.

const PAGE = 20;
const OUTCOMES = { right: "right", wrong: "wrong", unusable: "no usable answer" };
const textAt = (place) => (place === null || place === undefined ? null : data.sample.texts[place]);
const trials = data.sample.tables.flatMap((table, finding) => table.row.map((row, n) => {
  const [source, ...members] = data.sample.sets[table.set[n]];
  const guess = table.guess[n];
  return {
    finding, row, worst: n < table.worst ? n : null, output: table.output[n], margin: table.margin[n], rank: table.rank[n], error: table.error[n] ?? "",
    right: source === guess, usable: !table.unusable.includes(n),
    candidates: members.map((at, place) => ({ at, text: data.sample.corpus[at], score: table.scores[n][place], source: place === source, guess: place === guess })),
  };
}));
const outcome = (trial) => (trial.right ? "right" : trial.usable ? "wrong" : "unusable");

function explorer() {
  byId("trials").hidden = opened === undefined;
  if (opened === undefined) return;
  const state = { plan: opened.plan, mechanism: opened.mechanism, epsilon: epsilonName(opened.epsilon), attack: opened.attack,
    outcome: "", order: "leak", words: "", limit: PAGE };
  byId("sampled").textContent = sampledWords(data.sample);
  const findings = trials.map((trial) => data.findings[trial.finding]);
  const update = () => show(state, findings);
  const set = (key) => (value) => { state[key] = value; state.limit = PAGE; update(); };
  const all = (what) => [["", what]];
  const named = (values) => values.map((value) => [value, value]);
  const epsilons = distinct(data.findings.map((finding) => finding.epsilon)).sort((a, b) => (a ?? Infinity) - (b ?? Infinity)).map(epsilonName);
  const form = byId("filters");
  if (data.plans.length > 1) form.append(selection("Plan", all("all plans").concat(data.plans.map((plan) => [plan.name, plan.words])), state.plan, set("plan")));
  form.append(
    selection("Mechanism", all("all mechanisms").concat(named(mechanisms)), state.mechanism, set("mechanism")),
    selection("Epsilon", all("all epsilons").concat(named(epsilons)), state.epsilon, set("epsilon")),
    selection("Attack", all("all attacks").concat(named(attacks)), state.attack, set("attack")),
    selection("Guess", all("right and wrong").concat(Object.entries(OUTCOMES)), "", set("outcome")),
    selection("Order", [["leak", "worst leaks first"], ["row", "by trial number"]], "leak", set("order")),
  );
  if (!data.redacted) {
    const search = make("input", { type: "search", id: "words", autocomplete: "off" });
    search.addEventListener("input", () => set("words")(search.value.normalize("NFC").toLowerCase()));
    form.append(make("label", {}, make("span", {}, "Containing"), search));
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  byId("more").addEventListener("click", () => {
    const before = state.limit;
    state.limit += PAGE;
    update();
    byId("list").children[before]?.focus();
  });
  update();
}

function sampledWords(sample) {
  const how = `A sample of ${counted(trials.length)} of ${counted(sample.of)} guesses: at most ${counted(sample.per_table)} for each mechanism, epsilon, attack and plan. `
    + "Half of them are the worst leaks: right guesses with the largest margins or, if scores are cosines, whose rewrite has most in common with its source alone, rare words above all. The rest were drawn at random from all others.";
  const whole = `All ${counted(sample.of)} guesses of this run.`;
  const first = "The list opens on the strongest finding; choose others below.";
  const few = trials.length === sample.of ? whole : how;
  return `${few} ${first} A right guess alone proves nothing, since some are right by luck; the table says what they prove together.`
    + (sample.cut ? " Of long texts only the beginning is shown." : "")
    + (data.redacted ? " Texts are left out." : "");
}

function selection(label, options, chosen, changed) {
  const select = make("select", { "data-filter": label.toLowerCase() }, options.map(([value, words]) => make("option", { value }, words)));
  select.value = chosen;
  select.addEventListener("change", () => changed(select.value));
  return make("label", {}, make("span", {}, label), select);
}

function wanted(state, trial, finding) {
  return (!state.plan || finding.plan === state.plan)
    && (!state.mechanism || finding.mechanism === state.mechanism)
    && (!state.epsilon || epsilonName(finding.epsilon) === state.epsilon)
    && (!state.attack || finding.attack === state.attack)
    && (!state.outcome || outcome(trial) === state.outcome)
    && (!state.words || [trial.output, ...trial.candidates.map((one) => one.text)]
      .some((place) => (textAt(place) ?? "").normalize("NFC").toLowerCase().includes(state.words)));
}

function show(state, findings) {
  const found = trials.map((trial, at) => at).filter((at) => wanted(state, trials[at], findings[at]));
  const leak = (trial) => trial.worst ?? (trial.right ? 1e6 : 1e7); // its place among the worst leaks of its table
  if (state.order === "leak") found.sort((a, b) => leak(trials[a]) - leak(trials[b]) || a - b);
  else found.sort((a, b) => trials[a].row - trials[b].row || a - b);
  const few = found.slice(0, state.limit);
  byId("found").textContent = found.length ? `${counted(few.length)} of ${counted(found.length)} trials shown` : "No trial in the sample matches.";
  byId("list").replaceChildren(...few.map((at) => article(trials[at], findings[at])));
  byId("more").hidden = few.length === found.length;
}

function article(trial, finding) {
  const result = outcome(trial);
  const number = Math.floor(trial.row / Math.round(finding.guesses / finding.trials));
  const facts = [`epsilon ${epsilonName(finding.epsilon)}`, finding.attack, `trial ${number}`];
  if (trial.margin !== null && trial.usable) facts.push(`margin ${trial.margin}`);
  const head = make("header", {}, make("h3", {}, finding.mechanism),
    make("span", { class: `badge ${result}` }, OUTCOMES[result]), make("span", { class: "quiet" }, facts.join(" · ")));
  const made = make("article", { class: "trial", tabindex: "-1" }, head);
  const output = textAt(trial.output);
  if (trial.error) made.append(make("p", { class: "quiet" }, `The rewrite failed (${trial.error})${trial.usable ? "; the attack saw that." : ": it counts as a wrong guess."}`));
  else if (output !== null) {
    made.append(make("p", { class: "label" }, "Rewrite"),
      output ? make("blockquote", { class: "text" }, output) : make("p", { class: "quiet" }, "(empty)"));
  }
  const more = finding.candidates - trial.candidates.length;
  made.append(make("p", { class: "label" }, more > 0 ? `Candidates (${trial.candidates.length} of ${counted(finding.candidates)}; the source has rank ${counted(trial.rank)})` : "Candidates"),
    make("ol", { class: "candidates" }, trial.candidates.map(candidate)),
    make("p", { class: "replay quiet" }, "Replay: ", make("code", {}, replay(number, finding))));
  return made;
}

const candidate = (one) => listed(one, textAt(one.text));

function listed(one, text) {
  const tags = [one.source ? "source" : "", one.guess ? "guess" : ""].filter(Boolean);
  return make("li", { class: tags.join(" ") || null },
    make("span", { class: "score" }, one.score === null ? "–" : one.score.toFixed(4)),
    make("span", { class: "text" }, text === null ? `text ${one.at} of the corpus` : text),
    make("span", { class: "tags" }, tags.map((tag) => make("span", { class: `tag ${tag}` }, tag))));
}

// The example at the top of the page: its texts are its own, since the sample below may not hold it.
function example() {
  const one = data.example;
  byId("example").hidden = one === null;
  if (one === null) return;
  byId("story").replaceChildren(...written(one.story));
  byId("chosen").replaceChildren(...written(one.choice));
  const source = one.candidates.filter((candidate) => candidate.source);
  byId("example-texts").append(
    make("p", { class: "label" }, "Source"), ...source.map(({ text }) => make("blockquote", { class: "text" }, text)),
    make("p", { class: "label" }, "Rewrite"),
    one.output ? make("blockquote", { class: "text" }, one.output) : make("p", { class: "quiet" }, "(empty)"),
    make("p", { class: "label" }, one.left_out > 0 ? `Candidates, with the score of each (${one.candidates.length} of ${counted(one.candidates.length + one.left_out)})` : "Candidates, with the score of each"),
    make("ol", { class: "candidates" }, one.candidates.map((candidate) => listed(candidate, candidate.text))));
}

function replay(number, finding) {
  return command("tedaudit", "replay", data.folder, number, "--plan", finding.plan, "-m", finding.mechanism,
    "-e", epsilonName(finding.epsilon), "-a", finding.attack);
}
