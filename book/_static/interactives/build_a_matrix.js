/* Build a matrix: its symmetry, its strong columns and its basis are set, both scores follow (three variants of d). */
attngeo.interactive("build_a_matrix", (stage, data) => {
  "use strict";
  const { element, number } = attngeo;
  const { side, gamma } = data;
  const base = Float64Array.from(attngeo.levels(data.levels));

  const sum = (values) => values.reduce((total, value) => total + value, 0);

  /* The same steps as chapters.two_scores.build_a_matrix.built. */
  const built = ({ symmetry, columns, factor, turn }) => {
    const mirrored = attngeo.mirrored(base, side);
    const parts = [1, -1].map((sign) => base.map((x, k) => x + sign * mirrored[k]));
    const [a, b] = [1, -1].map((sign, p) => Math.sqrt((1 + sign * symmetry) / 2) / Math.sqrt(attngeo.inner(parts[p], parts[p])));
    const m = base.map((_, k) => a * parts[0][k] + b * parts[1][k]);
    for (let k = 0; k < columns; k += 1) {
      const j = (data.step * (k + 1)) % side;
      for (let i = 0; i < side; i += 1) m[i * side + j] *= factor;
    }
    const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
    const rotate = (p, q) => ([m[p], m[q]] = [cos * m[p] - sin * m[q], sin * m[p] + cos * m[q]]);
    for (let bit = 1; bit < side; bit *= 2) {
      for (let k = 0; k < side * side; k += 1) if (!(Math.floor(k / side) & bit)) rotate(k, k + bit * side); // rows
      for (let k = 0; k < side * side; k += 1) if (!((k % side) & bit)) rotate(k, k + bit); // columns
    }
    return m;
  };

  const norms = (m) => Array.from({ length: side }, (_, i) => Math.hypot(...m.subarray(i * side, (i + 1) * side))); // of rows

  /* Threshold and what lies above it; a norm within rounding of the threshold does not. */
  const over = (values, freedom, peak) => {
    const mean = sum(values) / side;
    const threshold = mean + gamma * Math.sqrt(sum(values.map((v) => (v - mean) ** 2)) / (side - freedom));
    const above = values.map((v) => v > threshold + 4 * Math.sqrt(side) * Number.EPSILON * peak);
    return { mean, threshold, above };
  };
  const direction = (rows, columns) => (rows + columns > 0 ? (rows - columns) / (rows + columns) : 0);
  const amount = ({ threshold, above }, values, excess) => sum(values.map((v, i) => (above[i] ? v - excess * threshold : 0)));

  const variants = {
    "sum of norms": { of: (v) => v, freedom: 0, excess: 0 },
    "released code": { of: (v) => v, freedom: 1, excess: 1 },
    "Table S3": { of: Math.log, freedom: 0, excess: 1 },
  };

  const matrix = attngeo.heatmap("The matrix that you have built");
  const chart = attngeo.chart({
    width: 380, height: 250, label: "Norms of rows and columns over their mean, with thresholds", margin: { left: 66 },
    x: { from: 0.12, to: 30, log: true, ticks: [0.25, 1, 4, 16], label: "norm, over the mean" },
    y: { from: -0.5, to: 1.5, ticks: [0, 1], say: (v) => ["columns", "rows"][v] },
  });
  const marks = [0, 1].map((y) => ({
    y, below: chart.dots("cloud"), above: chart.dots("third"), edge: chart.line("reference"),
  }));
  const scores = element("p", { class: "ia-scores ia-wrapped" });
  const said = attngeo.said();

  const draw = () => {
    const set = { symmetry: symmetry.value / 10, columns: columns.value, factor: 2 ** (factor.value / 2), turn: (turn.value / 180) * Math.PI };
    const m = built(set);
    const sorted = m.map(Math.abs).sort();
    matrix.draw(m, side, sorted[Math.floor(0.995 * sorted.length)]);
    const sides = [norms(attngeo.mirrored(m, side)), norms(m)];
    const found = sides.map((values, k) => {
      const limits = over(values, 0, Math.max(...values));
      const { mean, threshold, above } = limits;
      const { y, ...mark } = marks[k];
      const points = values.map((v, i) => [v / mean, y + 0.35 - (0.7 * i) / (side - 1)]);
      mark.below(points.filter((_, i) => !above[i]));
      mark.above(points.filter((_, i) => above[i]));
      mark.edge([[threshold / mean, y - 0.42], [threshold / mean, y + 0.42]]);
      return above.filter(Boolean).length;
    });
    const shown = Object.entries(variants).map(([name, { of, freedom, excess }]) => {
      const [c, r] = sides.map((values) => {
        const all = values.map(of);
        return amount(over(all, freedom, of === Math.log ? 1 : Math.max(...all)), all, excess);
      });
      return [`d, ${name}`, direction(r, c)];
    });
    scores.replaceChildren(...[["symmetry s", attngeo.symmetry(m, side)], ...shown].map(([name, value]) => element("span", {}, `${name} `, element("b", {}, number(value)))));
    const several = (count, one) => `${count} ${one}${count === 1 ? "" : "s"}`;
    said.textContent = `Above their thresholds: ${several(found[1], "row")} and ${several(found[0], "column")}.`;
  };

  const symmetry = attngeo.slider("Symmetry before the columns grow", { min: -10, max: 10, value: 0, say: (v) => number(v / 10, 1) }, draw);
  const columns = attngeo.slider("Strong columns", { min: 0, max: 16, value: 8 }, draw);
  const factor = attngeo.slider("Factor on them", { min: 0, max: 10, value: 4, say: (v) => number(2 ** (v / 2), 1) }, draw);
  const turn = attngeo.slider("Turn of the basis", { min: 0, max: 45, value: 0, say: (v) => `${v}°` }, draw);
  stage.append(
    attngeo.controls(symmetry, columns, factor, turn), scores,
    attngeo.panels(element("div", {}, matrix.node), element("div", {}, chart.node, said)),
  );
  draw();
});
