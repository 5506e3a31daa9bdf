/* Null ruler: a width, heads and both scores in; how far they lie from what untrained weights score, out. */
attngeo.interactive("null_ruler", (stage, data) => {
  "use strict";
  const { element, number } = attngeo;
  const names = { s: "symmetry", d: "directionality" };

  const chart = attngeo.chart({
    width: 380, height: 150, label: "Both scores beside the bands of 95 % of untrained weights", margin: { left: 96, right: 16 },
    x: { from: -1, to: 1, ticks: [-1, -0.5, 0, 0.5, 1], say: (v) => number(v, 1), label: "score; grey: untrained weights" },
    y: { from: -0.5, to: 1.5, ticks: [0, 1], say: (v) => [names.d, names.s][v] },
  });
  const bands = chart.bars("band");
  const [inside, outside] = [chart.dots("here"), chart.dots("here decoder")];
  const said = attngeo.said();

  const draw = () => {
    const laws = data.widths[width.value][heads.value];
    const measured = { s: s.value / 100, d: d.value / 100 };
    const rows = Object.entries(measured).map(([score, value], k) => {
      const [mean, sd, half] = laws[score];
      const beyond = Math.abs(value - mean) > half;
      const away = (value - mean) / sd;
      const where = `${number(Math.abs(away), 1)} standard deviations ${away < 0 ? "below" : "above"} the mean`;
      const words = `${score} = ${number(value)} is ${where} of untrained weights, ${beyond ? "outside" : "inside"} the band from ${number(mean - half, 3)} to ${number(mean + half, 3)}`;
      return { point: [value, 1 - k], band: [mean - half, mean + half, 1 - k], beyond, words };
    });
    bands(rows.map((row) => row.band));
    inside(rows.filter((row) => !row.beyond).map((row) => row.point));
    outside(rows.filter((row) => row.beyond).map((row) => row.point));
    said.replaceChildren(...rows.map((row) => element("span", { class: "ia-line-of-text" }, `${row.words}.`)));
  };

  const options = () => Object.fromEntries(Object.keys(data.widths[width.value]).map((n) => [n, n === "0" ? "sum over heads" : `one of ${n} heads`]));
  const place = element("div", {});
  let heads;
  const width = attngeo.choice("Width", Object.fromEntries(Object.keys(data.widths).map((w) => [w, w])), () => {
    const kept = heads.value in data.widths[width.value] ? heads.value : "0";
    heads = attngeo.choice("Matrix", options(), draw, kept);
    place.replaceChildren(heads.node);
    draw();
  }, "768");
  heads = attngeo.choice("Matrix", options(), draw);
  place.append(heads.node);
  const score = (label, value) => attngeo.slider(label, { min: -100, max: 100, value, say: (v) => number(v / 100) }, draw);
  const [s, d] = [score("symmetry s", 5), score("directionality d", -20)];
  stage.append(
    element("div", { class: "ia-controls" }, width.node, place, s.node, d.node),
    element("div", { class: "ia-narrow" }, chart.node),
    said,
  );
  draw();
});
