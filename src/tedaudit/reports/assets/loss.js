"use strict";
// The sandwich: what attacks showed, what an adversary could learn, and what is claimed, for one mechanism at a time.

const FLOOR = 0.01; // a logarithmic axis has no place for 0
const onAxis = (value) => Math.max(FLOOR, value);

function lossOf(mechanism, plan) {
  return data.losses.rows.filter((row) => row.mechanism === mechanism && row.plan === plan)
    .sort((a, b) => (a.epsilon ?? 1) - (b.epsilon ?? 1));
}

function lossTraces(rows, findings) {
  const ink = variable("--ink");
  const xs = rows.map((row) => row.epsilon ?? 1);
  const say = (row, words, value) => [`${row.mechanism}, epsilon ${epsilonName(row.epsilon)}`, `${words}: ${value === null ? "infinite, unknown or refuted" : shown(value)}`]
    .map(forPlotly).join("<br>");
  const curve = (name, field, more) => ({
    type: "scatter", mode: "lines+markers", name, x: xs, cliponaxis: false,
    y: rows.map((row) => (row[field] === null ? null : onAxis(row[field]))),
    text: rows.map((row) => say(row, name, row[field])), hovertemplate: "%{text}<extra></extra>", ...more,
  });
  const most = 10 * Math.max(1, ...rows.map((row) => row.claim ?? row.lower ?? 1));
  const believed = rows.filter((row) => !row.refuted);
  const around = believed.map((row) => row.epsilon ?? 1);
  const band = { type: "scatter", mode: "lines", x: [...around, ...[...around].reverse()], hoverinfo: "skip", showlegend: false, fill: "toself",
    y: [...believed.map((row) => onAxis(row.upper ?? most)), ...[...believed].reverse().map((row) => onAxis(row.lower ?? most))],
    line: { width: 0 }, fillcolor: "rgba(128,128,128,.25)" };
  const traces = [band, curve("claim", "claim", { line: { color: variable("--quiet"), dash: "dash", width: 2 }, marker: { symbol: "line-ew-open", size: 11 } }),
    curve("most that a drawn pair can lose", "supremum", { line: { color: ink, dash: "dot", width: 2 }, marker: { symbol: "line-ew-open", size: 11 } }),
    curve(`loss of what was drawn, at delta ${data.losses.delta}`, "point", { line: { color: ink, width: 2.5 }, marker: { size: 7, color: ink } }),
    curve("median loss of what was drawn", "median", { mode: "markers", marker: { size: 9, color: ink, symbol: "line-ew-open" } }),
    curve(`loss of the text, at delta ${data.losses.delta}`, "text", { line: { color: ink, dash: "dashdot", width: 2 }, marker: { size: 7, color: ink } })];
  distinct(findings.map((finding) => finding.attack)).forEach((attack, number) => {
    const mine = join(findings.filter((finding) => finding.attack === attack).map((finding) => ({ x: finding.epsilon ?? 1, finding })).sort((a, b) => a.x - b.x));
    const colour = variable(`--series-${number % SYMBOLS.length}`);
    traces.push({
      type: "scatter", mode: "lines+markers", name: forPlotly(`${attack}, lower bound`), cliponaxis: false,
      x: mine.map(({ x }) => x), y: mine.map(({ finding }) => finding && onAxis(finding.lower)),
      text: mine.map(({ finding }) => finding && hover(finding)), hovertemplate: "%{text}<extra></extra>",
      line: { color: colour, width: 1.5 }, marker: { color: colour, symbol: SYMBOLS[number % SYMBOLS.length], size: 8 },
    });
  });
  return traces.filter((trace) => trace === band || trace.y.some((value) => value !== null));
}

function sandwich({ plan, mechanism }) {
  const rows = lossOf(mechanism, plan);
  const findings = data.findings.filter((finding) => finding.plan === plan && finding.mechanism === mechanism);
  const epsilons = distinct(rows.map((row) => row.epsilon ?? 1));
  const takesEpsilon = rows.some((row) => row.epsilon !== null);
  const { traces, apart, shapes, annotations } = ceilings(findings, (finding) => [finding.epsilon ?? 1], "ceiling of these trials");
  draw("loss-chart", [...lossTraces(rows, findings), ...traces], {
    xaxis: { type: "log", title: { text: takesEpsilon ? AXES.nominal.narrow : NO_EPSILON }, tickvals: epsilons, ticktext: epsilons.map(String), showgrid: false, tickangle: 0,
      showticklabels: takesEpsilon },
    yaxis: { type: "log", title: { text: "epsilon of a whole text" }, tickvals: [0.01, 0.1, 1, 10, 100, 1000, 10000],
      ticktext: ["0", "0.1", "1", "10", "100", "1,000", "10,000"] },
    shapes, annotations: annotations.map((note) => ({ ...note, y: Math.log10(note.y) })),
    showlegend: true, legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
    margin: narrow.matches ? { l: 52, r: 16, t: 150, b: 52 } : { l: 64, r: 24, t: 70, b: 56 },
    height: narrow.matches ? 500 : 480,
  });
  const slacks = rows.map((row) => row.slack).filter((value) => value);  // none if the loss is infinite
  const upTo = (value) => counted(Math.ceil(value * 10 - 0.02) / 10);
  const ends = distinct([Math.min(...slacks), Math.max(...slacks)].map(upTo)).join(" to ");
  const refuted = rows.filter((row) => row.refuted).map((row) => epsilonName(row.epsilon));
  byId("loss-caption").textContent = "Between an attack and the loss lies what a stronger attack could still find. "
    + `The loss is the least epsilon that holds at delta ${data.losses.delta} on average over these pairs of texts. It is no mean: unless it is 0, at least 1 output in ${Math.round(1 / data.losses.delta)} loses more, and single pairs may. `
    + "A claim is for any two texts, at a delta of its own. "
    + (rows.some((row) => row.text !== null) ? "The loss of the text is what whoever knows the mechanism learns by reading alone. " : "")
    + (rows.some((row) => row.supremum !== null) ? "The dotted line is the most that any output can tell between the two texts of a pair that was drawn; other pairs of the same texts may lose more. " : "")
    + (slacks.length ? `The claim is at most ${ends} times as large as what the worst of these pairs loses at the claim's delta (slack). ` : "")
    + (refuted.length ? `Refuted at epsilon ${refuted.join(", ")}: the guesses there do not fit the likelihoods, so no loss is drawn. ` : "")
    + "The band holds the loss with its error. "
    + (rows.some((row) => row.unknown) ? "Outputs without a likelihood, such as failed rewrites, may tell more than all others: the line is as if they told nothing, the upper end of the band as if they told all. " : "")
    + `What is infinite or not known is not drawn.${apart ? APART : ""}`;
  byId("loss-chart").setAttribute("aria-label",
    `${mechanism}: claim, loss and lower bounds of attacks against nominal epsilon. The table of losses has the same numbers.`);
}

function lossControls() {
  const plans = distinct(data.losses.rows.map((row) => row.plan));
  const first = data.losses.rows.find((row) => row.plan === opened.plan && row.mechanism === opened.mechanism) ?? data.losses.rows[0];
  const state = { plan: first.plan, mechanism: first.mechanism };
  const redraw = () => sandwich(state);
  const controls = byId("loss-controls");
  if (plans.length > 1) {
    const options = data.plans.filter((plan) => plans.includes(plan.name)).map((plan) => ({ value: plan.name, label: plan.words }));
    controls.append(choices("Plan", options, { chosen: state.plan, changed: (value) => { state.plan = value; redraw(); } }));
  }
  const known = distinct(data.losses.rows.map((row) => row.mechanism));
  if (known.length > 1) {
    controls.append(choices("Mechanism", known.map((value) => ({ value, label: value })),
      { chosen: state.mechanism, changed: (value) => { state.mechanism = value; redraw(); } }));
  }
  redraw();
  return redraw;
}
