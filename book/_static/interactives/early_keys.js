/* Early keys: at W_qk = 0 a causal softmax spreads one total over the positions as queries, and more unevenly as keys. */
attngeo.interactive("early_keys", (stage) => {
  "use strict";
  const { number } = attngeo;
  const share = (v) => (v < 1 ? `1/${1 / v}` : `${v}`);
  const chart = attngeo.chart({
    width: document.documentElement.clientWidth < 600 ? 340 : 560, height: 210, margin: { left: 64 }, // a narrow screen keeps the size of the words
    label: "Share of positions as queries and as keys, beside an even share",
    x: { log: true, from: 1, to: 512, ticks: [1, 4, 16, 64, 256], label: "position" },
    y: { log: true, from: 1 / 512, to: 64, ticks: [1 / 512, 1 / 64, 1 / 8, 1, 8, 64], say: share, label: "times an even share" },
  });
  chart.line("reference")([[1, 1], [512, 1]]);
  const [queries, keys] = [chart.line("encoder"), chart.line("decoder")];
  const names = [["encoder", "queries"], ["decoder", "keys"]].map(([kind, name]) => [chart.text(`ia-${kind}-text`), name]);
  const said = attngeo.said();

  // squared norms of the theorem, less a factor: row i has (i - 1) / i^2, column j the sum of (i - 1) / i^3 from j on
  const sides = (n) => {
    const rows = Array.from({ length: n }, (_, k) => k / (k + 1) ** 2);
    const columns = rows.map((value, k) => value / (k + 1));
    for (let k = n - 2; k >= 0; k -= 1) columns[k] += columns[k + 1];
    return [rows, columns];
  };
  const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
  const uneven = (values) => mean(values.map((v) => v * v)) / mean(values) ** 2;

  const draw = () => {
    const n = 2 ** slider.value;
    const both = sides(n);
    [queries, keys].forEach((line, side) => {
      const even = mean(both[side]);
      const points = both[side].map((value, k) => [k + 1, value / even]);
      line(points.filter(([, y]) => y > 0)); // the first query sees itself alone
      names[side][0](side ? [1.1, 1.4 * points[0][1]] : [2.1, 0.2 * points[1][1]], names[side][1]);
    });
    said.textContent = `With ${n} positions the unevenness is ${number(uneven(both[0]))} among queries, ${number(uneven(both[1]))} among keys.`;
  };
  const slider = attngeo.slider("Positions", { min: 2, max: 9, value: 4, say: (v) => `${2 ** v}` }, draw);
  stage.append(attngeo.controls(slider), chart.node, said);
  draw();
});
