/* Symmetry of language models against their number of parameters, and the reader's own model. */
attngeo.interactive("models_by_size", (stage, data) => {
  "use strict";
  const { element, drawn, number } = attngeo;
  const narrow = document.documentElement.clientWidth < 600; // a narrow screen keeps the size of the words
  const [wide, high] = narrow ? [360, 330] : [860, 420];
  const words = {
    learned: "learned position embeddings", rotary: "rotary position embeddings",
    "relative-bias": "relative position bias", "relative-disentangled": "relative position embeddings",
  };
  const sources = {
    released: "score published by the paper’s authors", half: "one half of an encoder–decoder model; score published by the paper’s authors",
    read: "score computed by us from the weights",
  };
  const size = (count) => (count >= 1e9 ? `${(count / 1e9).toFixed(count < 1e10 ? 1 : 0)} billion`
    : count >= 1e6 ? `${Math.round(count / 1e6)} million` : `${Math.round(count / 1e3)} thousand`);
  const about = ({ name, part, parameters, s, positions, source, toy }) => `${name}${toy ? " (a toy)" : ""}: s = ${number(s)}, ${part}, ${size(parameters)} parameters, ${words[positions]}; ${sources[source]}.`;
  const models = [...data.models].sort((a, b) => a.parameters - b.parameters);

  const chart = attngeo.chart({
    width: wide, height: high, margin: { left: 44, right: narrow ? 8 : 30, top: 12, bottom: 42 },
    label: "Symmetry score of language models against their number of parameters",
    x: { from: 1.5e5, to: 2e10, log: true, ticks: [1e6, 1e7, 1e8, 1e9, 1e10], say: (v) => (v >= 1e9 ? `${v / 1e9} B` : `${v / 1e6} M`), label: "parameters" },
    y: { from: -0.14, to: 0.86, ticks: [0, 0.2, 0.4, 0.6, 0.8], say: (v) => (v ? number(v, 1) : "0"), label: "symmetry score s, median over layers" },
  });
  const rings = new Set(["read"]);
  const marks = models.map((model) => {
    const [cx, cy] = [chart.across(model.parameters), chart.up(model.s)];
    const style = `model ${model.part} ${model.source}`;
    const mark = model.source === "half"
      ? drawn("rect", { x: cx - 4, y: cy - 4, width: 8, height: 8, rx: 1.2, class: style })
      : drawn("circle", { cx, cy, r: rings.has(model.source) ? 6.5 : 5, class: style });
    chart.node.append(mark);
    return { ...model, cx, cy, mark };
  });
  for (const { name, label, part, source, dx, dy } of data.named) {
    const of = marks.find((one) => one.name === name && one.part === part && one.source === source);
    if (!of || (narrow && !label.short)) continue;
    const anchor = Math.abs(dx) < 6 ? "middle" : dx < 0 ? "end" : "start";
    chart.node.append(drawn("text", { x: of.cx + dx, y: of.cy + dy, "text-anchor": anchor, class: "model-name" }, label.words));
  }
  const ring = drawn("circle", { r: 10, class: "front-ring" });
  const own = drawn("g", { class: "yours" });
  chart.node.append(ring, own);
  const said = attngeo.said();
  said.classList.add("model-said");

  let shown = marks; // that the filter lets through
  const name = (at) => {
    const one = shown[at];
    ring.setAttribute("cx", one.cx);
    ring.setAttribute("cy", one.cy);
    said.textContent = about(one);
  };
  const slider = attngeo.slider("Name a model", { min: 0, max: marks.length - 1, say: (at) => shown[at].name }, name);
  const filter = attngeo.segments("Positions", { all: "all", learned: "learned", rotary: "rotary", relative: "relative" }, (kind) => {
    shown = marks.filter(({ positions }) => kind === "all" || positions.startsWith(kind));
    marks.forEach((one) => one.mark.classList.toggle("faint", !shown.includes(one)));
    slider.show(0, shown.length - 1);
    name(0);
  });
  const nearest = (event) => {
    const box = chart.node.getBoundingClientRect();
    const [px, py] = [((event.clientX - box.left) / box.width) * wide, ((event.clientY - box.top) / box.height) * high];
    const far = shown.map(({ cx, cy }) => Math.hypot(cx - px, cy - py));
    const at = far.indexOf(Math.min(...far));
    if (far[at] < (event.pointerType === "mouse" ? 15 : 30)) slider.set(at);
  };
  chart.node.addEventListener("pointermove", nearest);
  chart.node.addEventListener("pointerdown", nearest);

  // What `attngeo score MODEL -o x.json` wrote. It comes from anywhere: checked row by row, shown as text alone.
  const MOST = { characters: 2e7, rows: 50000, name: 60 };
  const parts = ["encoder", "decoder"];
  const isRow = (row) => row !== null && typeof row === "object"
    && typeof row.model === "string" && parts.concat("cross").includes(row.part) && Number.isInteger(row.head)
    && Number.isInteger(row.d_model) && row.d_model > 0
    && [row.symmetry, row.symmetry_null_mean, row.symmetry_null_sd].every(Number.isFinite) && Math.abs(row.symmetry) <= 1;
  const read = (text) => {
    if (text.length > MOST.characters) return "This text is too long for a table of scores.";
    let rows;
    try { rows = JSON.parse(text); } catch { return "This is not JSON. Paste the whole content of the file that attngeo score MODEL -o x.json wrote."; }
    if (!Array.isArray(rows) || !rows.length || rows.length > MOST.rows || !rows.every(isRow)) return "This is valid JSON, but it was not written by attngeo score.";
    if (rows.some((row) => row.convention !== "definition")) return "These scores were computed with a different formula from the scores shown here. Please score the model again without the option --convention.";
    const layers = rows.filter((row) => row.head === -1 && parts.includes(row.part));
    return layers.length ? layers : "This table contains no layers of an encoder or a decoder.";
  };
  const middle = (values) => {
    const sorted = [...values].sort((a, b) => a - b);
    const half = sorted.length / 2;
    return (sorted[Math.ceil(half) - 1] + sorted[Math.floor(half)]) / 2;
  };
  const box = element("textarea", { rows: 2, spellcheck: "false", id: "ia-yours", placeholder: "paste here" });
  const answer = attngeo.said();
  const show = () => {
    const table = box.value.trim() ? read(box.value) : "Your scores stay in this browser and are not uploaded.";
    own.replaceChildren();
    if (typeof table === "string") {
      answer.textContent = table;
      return;
    }
    const found = parts.map((part) => table.filter((row) => row.part === part)).filter((rows) => rows.length);
    answer.textContent = found.map((rows) => {
      const s = middle(rows.map((row) => row.symmetry));
      const parameters = 12 * rows.length * rows[0].d_model ** 2;
      const [cx, cy] = [chart.across(Math.max(1.6e5, Math.min(1.9e10, parameters))), chart.up(Math.max(-0.13, s))];
      own.append(drawn("circle", { cx, cy, r: 7 }), drawn("text", { x: cx, y: cy - 12, "text-anchor": "middle" }, `yours: ${number(s)}`));
      const outside = rows.filter((row) => Math.abs(row.symmetry - row.symmetry_null_mean) > 1.96 * row.symmetry_null_sd).length;
      return `Your model ${rows[0].model.slice(0, MOST.name)} (${rows[0].part}) has the symmetry score s = ${number(s)}; ${outside} of ${rows.length} layers score outside the central 95 % of random weights.`;
    }).join(" ") + " We estimate the number of parameters from the layers, so it does not include the token embeddings.";
  };
  box.addEventListener("input", show);

  const sample = (style, text, square = false) => element(
    "span", {},
    drawn("svg", { width: 15, height: 15, "aria-hidden": "true" }, square ? drawn("rect", { x: 3, y: 3, width: 9, height: 9, rx: 1.2, class: style }) : drawn("circle", { cx: 7.5, cy: 7.5, r: 5.5, class: style })),
    text,
  );
  stage.append(
    attngeo.controls(filter, slider),
    element(
      "p", { class: "model-key" }, sample("model encoder", "encoder"), sample("model decoder", "decoder"),
      sample("model half", "half of an encoder–decoder model", true), sample("model read", "ring: scored by us from the weights"),
    ),
    chart.node, said,
    element("div", { class: "model-yours" }, element("label", { for: "ia-yours" }, "Your model: run ", element("code", {}, "attngeo score MODEL -o x.json"), " and paste the content of the file here"), box),
    answer,
  );
  const first = marks.findIndex((one) => one.name === data.first);
  slider.show(Math.max(0, first));
  name(slider.value);
  show();
});
