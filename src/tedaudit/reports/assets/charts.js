"use strict";
// The two charts. Plotly reads a little markup in labels, so every name is escaped for it.

const SYMBOLS = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star"];
const MARKS = ["●", "■", "▲", "◆", "▼", "✚", "✖", "★"];
const DASHES = ["solid", "dash", "dot", "dashdot"];
const DASH_WORDS = ["solid", "dashed", "dotted", "dash and dot"];

const mechanisms = distinct(data.findings.map((finding) => finding.mechanism));
const attacks = distinct(data.findings.map((finding) => finding.attack));
const series = (mechanism) => mechanisms.indexOf(mechanism) % SYMBOLS.length;
const forPlotly = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const dark = matchMedia("(prefers-color-scheme: dark)");
const narrow = matchMedia("(max-width: 600px)");

const opened = data.findings[data.opened]; // what charts and trials open on: the strongest finding

function layout({ printed = 340, ...more }) {
  const ink = variable("--ink");
  const axis = { color: ink, gridcolor: variable("--line"), zerolinecolor: variable("--line"), fixedrange: true };
  const made = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, dragmode: false,
    font: { family: "system-ui, sans-serif", size: 13, color: ink }, hovermode: "closest",
    hoverlabel: { bgcolor: variable("--card"), bordercolor: variable("--quiet"), align: "left",
      font: { color: ink, family: "system-ui, sans-serif", size: 13 } },
    margin: narrow.matches ? { l: 46, r: 50, t: 12, b: 52 } : { l: 64, r: 76, t: 16, b: 56 },
    height: narrow.matches ? 340 : 460, ...more,
  };
  // the size of a printed page without its margins
  if (isPrinting()) Object.assign(made, { width: 680, height: printed });
  for (const name of ["xaxis", "yaxis", "yaxis2"]) if (made[name]) made[name] = { ...axis, ...made[name] };
  return made;
}

function draw(id, traces, more) {
  // the width of its place, said outright: without it Plotly keeps the one that a printed page had
  const config = { displaylogo: false, modeBarButtons: [["toImage"]] };
  const place = byId(id);
  return Plotly.react(place, traces, { width: place.clientWidth || undefined, ...layout(more) }, config);
}

const isPrinting = () => document.documentElement.classList.contains("printing");

// Charts follow the colours and the width of the page; on paper they are light, as wide as the paper, and nothing is folded away.
function followPage(redraws) {
  const again = () => redraws.forEach((redraw) => redraw());
  for (const change of [dark, narrow]) change.addEventListener("change", again);
  addEventListener("resize", () => requestAnimationFrame(() => {
    const charts = isPrinting() ? [] : document.querySelectorAll(".js-plotly-plot");
    for (const chart of charts) if (chart.clientWidth && chart.clientWidth !== chart.layout.width) Plotly.relayout(chart, { width: chart.clientWidth });
  }));
  let closed = []; // what is opened for paper alone
  const printing = (now) => {
    document.documentElement.classList.toggle("printing", now);
    if (now) closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((part) => { part.open = now; });
    again();
  };
  addEventListener("beforeprint", () => printing(true));
  addEventListener("afterprint", () => printing(false));
}

function hover(finding) {
  const epsilon = finding.epsilon === null ? "takes no epsilon" : `epsilon ${epsilonName(finding.epsilon)}`;
  const lines = [
    `${finding.mechanism}, ${epsilon}`, `attack: ${finding.attack}`, `claim: ${finding.claim}`,
    `right: ${counted(finding.correct)} of ${counted(finding.guesses)} (${(100 * finding.success).toFixed(1)}%)`,
    ...(finding.surest ? [`surest: ${counted(finding.surest.right)} of ${counted(finding.surest.size)}`] : []),
    `eps_emp: ${shown(finding.lower)}, ceiling ${shown(finding.ceiling)}`,
    `this attack's success: ${shown(finding.point)} (to ${shown(finding.upper)})`,
    `verdict: ${finding.verdict}${finding.complete ? "" : ", not finished"}`,
  ];
  return lines.map(forPlotly).join("<br>");
}

// Where a finding stands on the axis: at every epsilon if it takes none; nowhere on the axis of totals if none is claimed.
function places(finding, axis, epsilons) {
  if (axis === "total") return finding.total === null ? [] : [finding.total];
  return finding.epsilon === null ? epsilons : [finding.epsilon];
}

// A ceiling rises with the trials. Points with ceilings of their own are not joined: a line would fall where only trials do.
const ALIKE = 0.01;
const isJoined = (first, second) => Math.abs(first.finding.ceiling - second.finding.ceiling) <= ALIKE;
const join = (points) => points.flatMap((point, at) => (at && !isJoined(points[at - 1], point) ? [{ x: null, finding: null }, point] : [point]));
const beside = (mechanism) => 1.02 ** (mechanisms.indexOf(mechanism) - (mechanisms.length - 1) / 2); // lines that coincide stay visible

// The ceiling of some findings: one dashed line, or a short one at each point if they have ceilings of their own.
function ceilings(findings, where, words) {
  const [least, most] = [Math.min(...findings.map((finding) => finding.ceiling)), Math.max(...findings.map((finding) => finding.ceiling))];
  if (most - least <= ALIKE) return { name: `ceiling ${shown(most)}`, traces: [], apart: false, ...lines([[`${words} ${shown(most)}`, most, "bottom"]]) };
  const points = findings.flatMap((finding) => where(finding).map((x) => ({ x: x * beside(finding.mechanism), y: finding.ceiling })));
  const name = `ceilings ${shown(least)} to ${shown(most)}`;
  const trace = { type: "scatter", mode: "markers", x: points.map((point) => point.x), y: points.map((point) => point.y), cliponaxis: false, hoverinfo: "skip",
    name: "ceiling", showlegend: false, marker: { symbol: "line-ew-open", size: 14, color: variable("--quiet"), line: { width: 1.5 } } };
  return { name, traces: [trace], apart: true, shapes: [], annotations: lines([[name, most, "bottom"]]).annotations };
}

const APART = " A short line is the ceiling of its point, which rises with its trials; points whose ceilings differ are not joined.";

function line(findings, where, dash) {
  const ordered = findings.flatMap((finding) => where(finding).map((x) => ({ x, finding })));
  const points = join(ordered.sort((a, b) => a.x - b.x));
  const of = (value) => points.map((point) => (point.finding === null ? null : value(point.finding)));
  const n = series(findings[0].mechanism);
  const colour = variable(`--series-${n}`);
  const broken = variable("--bad");
  return {
    type: "scatter", mode: "lines+markers", name: forPlotly(findings[0].mechanism), cliponaxis: false,
    x: points.map(({ x }) => (x === null ? null : x * beside(findings[0].mechanism))), y: of((finding) => finding.lower),
    text: of(hover), hovertemplate: "%{text}<extra></extra>",
    line: { color: colour, width: 2, dash: findings[0].epsilon === null ? "dot" : dash },
    marker: {
      symbol: SYMBOLS[n], size: 9, color: colour,
      line: {
        color: of((finding) => (finding.is_violation ? broken : colour)),
        width: of((finding) => (finding.is_violation ? 3 : 0)),
      },
    },
    error_y: {
      type: "data", symmetric: false, thickness: 1, width: 3, color: colour,
      array: of((finding) => // none if the most certain guesses prove more than all of them
        Math.max(0, (finding.upper === null ? 10 * finding.ceiling + 10 : finding.upper) - finding.lower)),
      arrayminus: points.map(() => 0),
    },
  };
}

// A curve along which a bound is as large as the claimed total, as far as the chart reaches.
function claimCurve(from, to, top) {
  const end = Math.min(to, Math.log10(top));
  const x = Array.from({ length: 60 }, (_, at) => 10 ** (from + ((end - from) * at) / 59));
  return end <= from ? [] : [{ type: "scatter", mode: "lines", x, y: x, hoverinfo: "skip", line: { color: variable("--quiet"), dash: "dot", width: 1.5 } }];
}

// The ticks of an axis, those labelled for which there is room.
function ticks(plan, axis) {
  const name = axis === "total" ? "totals" : "epsilons";
  const labels = axis === "total" ? "totals_labelled" : "labelled";
  const labelled = plan[narrow.matches ? `${labels}_narrow` : labels];
  const written = (value) => (value < 1e6 ? counted(value) : value.toExponential(0));
  return { values: plan[name], texts: plan[name].map((value) => (!labelled.includes(value) ? "" : axis === "total" ? written(value) : String(value))) };
}

const AXES = {
  nominal: { wide: "nominal epsilon, per the mechanism's own unit", narrow: "nominal epsilon, own unit", label: "nominal epsilon" },
  total: { wide: "claimed epsilon of a whole text (total over its units)", narrow: "claimed epsilon, whole text", label: "total epsilon" },
};

const NO_EPSILON = "takes no epsilon"; // in place of the name of the axis

function calibration({ plan: name, attack, axis, visible }) {
  const plan = data.plans.find((one) => one.name === name);
  const used = attack === "" ? attacks : [attack];
  const findings = data.findings.filter((finding) => finding.plan === name && used.includes(finding.attack));
  const { top } = plan;
  const along = axis === "total" && plan.totals.length ? "total" : "nominal"; // a plan may have no totals
  const hasNumbers = along === "total" || plan.takes_epsilon;
  const { values, texts } = ticks(plan, along);
  const where = (finding) => places(finding, along, values);
  const traces = used.flatMap((by, number) => visible.flatMap((mechanism) => {
    const mine = findings.filter((finding) => finding.attack === by && finding.mechanism === mechanism && where(finding).length);
    return mine.length ? [line(mine, where, DASHES[number % DASHES.length])] : [];
  }));
  const drawn = findings.filter((finding) => visible.includes(finding.mechanism));
  const ceiling = ceilings(drawn.length ? drawn : findings, where, "ceiling");
  const absent = along === "total" ? visible.filter((mechanism) => findings.some((one) => one.mechanism === mechanism)
    && !findings.some((one) => one.mechanism === mechanism && where(one).length)) : [];
  traces.push({ type: "scatter", mode: "lines", x: [values[0]], y: [0], yaxis: "y2", opacity: 0, hoverinfo: "skip" });
  const range = [-0.04 * top, top];
  const [from, to] = [Math.log10(values[0]), Math.log10(values[values.length - 1])];
  const [start, end] = [from - Math.max(0.12, (narrow.matches ? 0.25 : 0.1) * (to - from)), to + 0.12];
  const curve = along === "total" ? claimCurve(start, end, top) : [];
  draw("calibration-chart", [...curve, ...ceiling.traces, ...traces], {
    xaxis: {
      type: "log", title: { text: hasNumbers ? AXES[along][narrow.matches ? "narrow" : "wide"] : NO_EPSILON }, tickvals: values, ticktext: texts,
      showticklabels: hasNumbers, showgrid: false, tickangle: 0, range: [start, end],
    },
    yaxis: { title: { text: "eps_emp (lower bound)" }, range },
    yaxis2: { title: { text: "success rate" }, overlaying: "y", side: "right", range, showgrid: false, zeroline: false,
      tickvals: plan.successes.map((mark) => mark[1]), ticktext: plan.successes.map((mark) => mark[0]) },
    shapes: ceiling.shapes, annotations: ceiling.annotations,
  });
  const dashes = used.length > 1 ? ` Lines: ${used.map((name, n) => `${name} ${DASH_WORDS[n % DASHES.length]}`).join(", ")}.` : "";
  const above = curve.length ? " Above the dotted curve a bound is larger than the claim of its mechanism." : "";
  const without = absent.length ? ` Not on this axis, because no total above 0 is claimed for a whole text: ${absent.join(", ")}.` : "";
  byId("calibration-caption").textContent = "A marker shows the proven lower bound; the thin bar above it ends "
    + `at the upper end of this attack's success, which is not a bound on the mechanism. A ring marks a violated claim.${ceiling.apart ? APART : ""}${dashes}${above}${without}`;
  byId("calibration-chart").setAttribute("aria-label",
    `eps_emp ${hasNumbers ? `against ${AXES[along].label}` : `of what ${NO_EPSILON}`}, ${used.join(" and ")} attack, ${ceiling.name}. The table of findings has the same numbers.`);
}

function scored(score) {
  return score.toFixed(3);
}

// Dashed lines across the chart, each with its name above or below the line.
function lines(marks) {
  const quiet = variable("--quiet");
  return {
    shapes: marks.map(([, y]) => ({ type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, line: { color: quiet, dash: "dash", width: 1.5 } })),
    annotations: marks.map(([name, y, side]) => ({ xref: "paper", x: 0, y, yanchor: side, xanchor: "left", showarrow: false,
      text: name, font: { color: quiet, size: 12 }, bgcolor: variable("--card") })), // a marker may lie below its name
  };
}

function tradeoff({ task, plan }) {
  const rows = data.utility.rows.filter((row) => row.task === task);
  const about = data.utility.tasks[task];
  const leak = (row) => Math.max(0, ...data.findings.filter((finding) => finding.plan === plan
    && finding.mechanism === row.mechanism && (finding.epsilon === null || finding.epsilon === row.epsilon))
    .map((finding) => finding.lower));
  const traces = distinct(rows.map((row) => row.mechanism)).map((mechanism) => {
    const mine = rows.filter((row) => row.mechanism === mechanism).sort((a, b) => (a.epsilon ?? 0) - (b.epsilon ?? 0));
    const n = Math.max(0, series(mechanism));
    return {
      type: "scatter", mode: "lines+markers", name: forPlotly(mechanism), x: mine.map(leak), y: mine.map((row) => row.score), cliponaxis: false,
      text: mine.map((row) => [`${mechanism}, epsilon ${epsilonName(row.epsilon)}`, `${task}: ${scored(row.score)} ± ${scored(row.spread ?? 0)}`,
        `eps_emp: ${shown(leak(row))}`].map(forPlotly).join("<br>")),
      hovertemplate: "%{text}<extra></extra>", error_y: { type: "data", array: mine.map((row) => row.spread ?? 0), thickness: 1 },
      line: { color: variable(`--series-${n}`), width: 1.5 }, marker: { symbol: SYMBOLS[n], size: 9, color: variable(`--series-${n}`) },
    };
  });
  const most = Math.max(1, ...rows.map(leak));
  const ends = [...rows.flatMap((row) => [row.score - (row.spread ?? 0), row.score + (row.spread ?? 0)]), ...(about ? [about.lower, about.upper] : [])];
  const [least, best] = [Math.min(...ends), Math.max(...ends, Math.min(...ends) + 0.05)];
  draw("utility-chart", traces, {
    xaxis: { title: { text: "eps_emp, the largest over attacks" }, range: [-0.04 * most, 1.05 * most], zeroline: false },
    yaxis: { title: { text: forPlotly(task) }, range: [least - 0.1 * (best - least), best + 0.1 * (best - least)], zeroline: false },
    showlegend: true, legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
    ...(about ? lines([["not rewritten", about.upper, "bottom"], ["majority class", about.lower, "top"]]) : {}),
  });
  byId("utility-caption").textContent = "Each point is a mechanism at one epsilon; further left leaks less to these attacks. "
    + (about?.private ? "This attribute should stay private: lower is better. " : "Higher is more useful. ")
    + `The bar is the spread over repetitions. ${data.utility.caption}`.trim();
  byId("utility-chart").setAttribute("aria-label", `${task} against eps_emp. The table below has the scores.`);
}

function planChoice(state, redraw) {
  const options = data.plans.map((plan) => ({ value: plan.name, label: plan.words }));
  return choices("Plan", options, { chosen: state.plan, changed: (value) => { state.plan = value; redraw(); } });
}

function calibrationControls() {
  const state = { plan: opened.plan, attack: opened.attack, axis: "nominal", visible: mechanisms };
  const redraw = () => calibration(state);
  const controls = byId("calibration-controls");
  if (data.plans.length > 1) controls.append(planChoice(state, redraw));
  if (attacks.length > 1) {
    const options = [...attacks.map((value) => ({ value, label: value })), { value: "", label: "all attacks" }];
    controls.append(choices("Attack", options, { chosen: state.attack, changed: (value) => { state.attack = value; redraw(); } }));
  }
  if (data.plans.some((plan) => plan.totals.length)) {
    const axes = Object.entries(AXES).map(([value, { label }]) => ({ value, label }));
    controls.append(choices("Axis", axes, { chosen: state.axis, changed: (value) => { state.axis = value; redraw(); } }));
  }
  const options = mechanisms.map((value) => ({ value, label: value, mark: MARKS[series(value)], series: series(value) }));
  controls.append(choices("Mechanisms", options, { many: true, changed: (values) => { state.visible = values; redraw(); } }));
  redraw();
  return redraw;
}
