"use strict";
// Fills the comparison page. Uses the helpers of elements.js and charts.js.

function forest(scale) {
  const rows = data.rows.map((row, at) => ({ ...row, cells: data.table.rows[at] })).filter((row) => row[scale] !== null);
  const spans = rows.map((row) => row[scale]);
  const ends = spans.flatMap((span) => [span.low, span.value, span.high]).filter((end) => end !== null);
  const most = Math.max(...ends.map(Math.abs), 0.01) * 1.1;
  const beyond = 10 * most; // an infinite end is drawn beyond the chart
  const colour = variable("--series-0");
  const trace = {
    type: "scatter", mode: "markers", x: spans.map((span) => span.value), y: rows.map((row, at) => at),
    text: rows.map((row) => [row.name, ...data.table.headings.map((heading, at) => `${heading}: ${row.cells[at]}`)].map(forPlotly).join("<br>")),
    hovertemplate: "%{text}<extra></extra>",
    marker: { size: 10, color: colour, symbol: rows.map((row) => (row.differs ? "circle" : "circle-open")), line: { width: 2 } },
    error_x: {
      type: "data", symmetric: false, thickness: 1.5, width: 4, color: colour,
      array: spans.map((span) => (span.high === null ? beyond : span.high - span.value)),
      arrayminus: spans.map((span) => (span.low === null ? beyond : span.value - span.low)),
    },
  };
  const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  // on a narrow page in two lines, so that rows that differ in attack or epsilon alone can be told apart
  const label = ({ name }) => {
    const [versus, ...where] = name.split(", ");
    return narrow.matches ? [versus, where.join(", ")].map((part) => forPlotly(cut(part, 25))).join("<br>") : forPlotly(cut(name, 60));
  };
  const height = 110 + 30 * Math.max(rows.length, 3);
  return draw("difference-chart", [trace], {
    height, printed: Math.min(height, 900), margin: { l: narrow.matches ? 150 : 380, r: 30, t: 16, b: 56 },
    xaxis: { title: { text: scale === "success" ? "difference of success rates" : "difference of epsilon" }, range: [-most, most], zeroline: true },
    yaxis: { tickvals: rows.map((row, at) => at), ticktext: rows.map(label), tickfont: { size: narrow.matches ? 11 : 13 },
      range: [rows.length - 0.5, -0.5], showgrid: false, zeroline: false },
  });
}

function charted() {
  if (data.missing || typeof Plotly === "undefined") {
    for (const id of ["calibration-chart", "difference-chart"]) {
      byId(id).replaceWith(make("p", { class: "notice", id }, data.missing || "The charts could not be loaded."));
    }
    return;
  }
  const scales = data.rows.some((row) => row.success !== null) ? ["success", "epsilon_difference"] : ["epsilon_difference"];
  let scale = data.scale === "success" ? scales[0] : "epsilon_difference";
  const words = { success: "success rates", epsilon_difference: "epsilon" };
  const again = calibrationControls();
  const redraw = () => forest(scale);
  if (scales.length > 1) {
    byId("scale").append(choices("Difference of", scales.map((value) => ({ value, label: words[value] })),
      { chosen: scale, changed: (value) => { scale = value; redraw(); } }));
  }
  byId("difference-chart").setAttribute("aria-label", "Differences with their intervals. The table below has the same numbers.");
  redraw();
  followPage([again, redraw]);
}

byId("made").textContent = `tedaudit ${data.version}`;
byId("headline").textContent = data.headline;
byId("paragraphs").append(...data.paragraphs.map((text) => make("p", {}, text)));
byId("table").append(sectionTable(data.table));
byId("reading").textContent = data.reading;
byId("notes").append(...data.notes.map((text) => make("li", {}, text)));
for (const section of data.agreement) {
  byId("agreement").hidden = false;
  byId("agreement-table").append(sectionTable(section));
}
byId("runs").append(pairs({ alpha: data.alpha }),
  table("Runs", ["run", "corpus", "texts", "fingerprint", "last written", "tedaudit"], data.runs.map((run) =>
    [run.name, run.corpus.name, counted(run.corpus.texts), run.corpus.fingerprint, run.written, run.version]), { right: ["texts"] }));
charted();
