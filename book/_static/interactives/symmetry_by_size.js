/* Every language model: symmetry against size. Point at a model or choose it from the list, and its name appears. */
attngeo.interactive("symmetry_by_size", (stage, data) => {
  "use strict";
  const { element, number } = attngeo;
  const { points } = data;
  const groups = Object.fromEntries(data.groups);
  const parts = ["encoder", "decoder"];

  const wide = document.documentElement.clientWidth < 600 ? 370 : 760; // a narrow screen keeps the size of the words
  const high = 360;
  const [smallest, largest] = [1.5e5, 3e10]; // ends of the axis
  const amount = (v) => (v >= 1e9 ? `${number(v / 1e9, v < 1e10 ? 1 : 0)} billion` : v >= 1e6 ? `${number(v / 1e6, v < 1e7 ? 1 : 0)} million` : `${number(v / 1e3, 0)} thousand`);
  const tick = (v) => (v >= 1e9 ? `${v / 1e9}B` : `${v / 1e6}M`);
  const most = Math.max(...points.map((p) => p.s));
  const least = Math.min(...points.map((p) => p.s));
  const chart = attngeo.chart({
    width: wide, height: high, label: "Symmetry score of language models against their number of parameters",
    x: { from: smallest, to: largest, log: true, ticks: [1e6, 1e7, 1e8, 1e9, 1e10], say: tick, label: "number of parameters" },
    y: { from: Math.min(-0.1, least - 0.05), to: most + 0.08, ticks: [0, 0.2, 0.4, 0.6, 0.8].filter((v) => v < most + 0.08), say: (v) => number(v, 1), label: "symmetry score s" },
  });
  const at = (p) => [p.parameters, p.s];
  const marks = ["read", "half", "released"].flatMap((group) => parts.map((part) => {
    const own = points.filter((p) => p.group === group && p.part === part);
    const outer = chart.dots(`${group === "read" ? "ringed" : group === "half" ? "point half" : "point"} ${part}`);
    const inner = group === "read" ? chart.dots("hole") : () => {};
    return (shown) => [outer, inner].forEach((draw) => draw(shown[group] ? own.map(at) : []));
  }));
  const chosen = chart.dots("here third");
  const label = chart.text("ia-named", "middle");
  const said = attngeo.said();

  const isShown = (p) => toggles[p.group].value;
  const name = (k) => {
    const p = points[k];
    chosen([at(p)]);
    const inside = largest / smallest; // the label stays clear of both ends
    label([Math.min(Math.max(p.parameters, smallest * inside ** 0.3), smallest * inside ** 0.7), p.s + 0.035], `${p.model}: ${number(p.s)}`);
    said.textContent = `${p.model}, ${p.part}, ${amount(p.parameters)} parameters: s = ${number(p.s)} (${groups[p.group].split(": ")[1]}).`;
  };
  const draw = () => {
    const shown = Object.fromEntries(Object.entries(toggles).map(([group, toggle]) => [group, toggle.value]));
    marks.forEach((mark) => mark(shown));
    if (!isShown(points[Number(list.value)])) {
      const first = points.findIndex(isShown);
      if (first >= 0) list.set(`${first} `);
    }
  };
  const toggles = Object.fromEntries(Object.entries(groups).map(([group, words]) => [group, attngeo.toggle(words, draw, true)]));
  const inOrder = points.map((p, k) => k).sort((a, b) => points[a].model.localeCompare(points[b].model));
  // a key that is a whole number would be sorted before all others, hence the space
  const options = Object.fromEntries(inOrder.map((k) => [`${k} `, `${points[k].model}, ${points[k].part}${points[k].group === "read" ? ", our score" : ""}`]));
  const highest = points.reduce((best, p, k) => (p.s > points[best].s ? k : best), 0);
  const list = attngeo.choice("Find a model", options, (k) => name(Number(k)), `${highest} `);

  const nearest = (event) => {
    const box = chart.node.getBoundingClientRect();
    const [x, y] = [((event.clientX - box.left) / box.width) * wide, ((event.clientY - box.top) / box.height) * high];
    const far = points.map((p) => (isShown(p) ? Math.hypot(chart.across(p.parameters) - x, chart.up(p.s) - y) : Infinity));
    const k = far.indexOf(Math.min(...far));
    if (far[k] < 18) list.set(`${k} `);
  };
  chart.node.addEventListener("pointermove", nearest);
  chart.node.addEventListener("pointerdown", nearest);
  const key = element(
    "p", { class: "ia-key" },
    ...parts.map((part) => element("span", { class: `ia-${part}-text` }, `● ${part}s `)), "Point at a model, or tap it, to see its name.",
  );
  stage.append(key, chart.node, said, attngeo.controls(list, ...Object.values(toggles)));
  draw();
  name(highest);
});
