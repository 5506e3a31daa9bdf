/* Clean Figure 2: kinds of defects ticked away, AUC of both scores of what is left. */
attngeo.interactive("clean_figure", (stage, data) => {
  "use strict";
  const { element, number } = attngeo;
  const scores = { s: { at: 1, title: "symmetry s" }, d: { at: 2, title: "directionality d" } };
  const parts = ["encoder", "decoder"];
  const out = new Set();

  /** Share of pairs in which the encoder scores higher, ties one half. */
  const area = (first, second) => {
    let wins = 0;
    first.forEach((x) => second.forEach((y) => { wins += (Math.sign(x - y) + 1) / 2; }));
    return wins / (first.length * second.length);
  };

  const parameters = data.points.map(([n]) => n);
  const units = { 1e6: "1M", 1e7: "10M", 1e8: "100M", 1e9: "1B", 1e10: "10B", 1e11: "100B", 1e12: "1000B" };
  const [least, most] = [Math.min(...parameters) / 1.5, Math.max(...parameters) * 1.5];
  const panels = Object.values(scores).map(({ at, title }) => {
    const chart = attngeo.chart({
      width: 380, height: 230, label: `${title} of the points of Figure 2 against parameters`,
      x: { from: least, to: most, log: true, ticks: Object.keys(units).map(Number).filter((n) => n > least && n < most), say: (n) => units[n], label: "parameters" },
      y: { from: -1.05, to: 1.05, ticks: [-1, -0.5, 0, 0.5, 1], say: (v) => number(v, 1), label: title },
    });
    const gone = chart.dots("cloud");
    const marks = Object.fromEntries(parts.map((part) => [part, chart.dots(`point ${part}`)]));
    const names = chart.names();
    const auc = element("b", {});
    const draw = (points) => {
      const shown = points.filter((p) => Math.abs(p.values[at]) <= 1);
      const left = Object.fromEntries(parts.map((part) => [part, shown.filter((p) => p.kept && p.values[3] === part)]));
      const place = (p) => [p.values[0], p.values[at]];
      gone(shown.filter((p) => !p.kept).map(place));
      names(shown.map((p) => [...place(p), `${p.values[4]}: ${number(p.values[at])}`]));
      parts.forEach((part) => marks[part](left[part].map(place)));
      auc.textContent = number(area(...parts.map((part) => left[part].map((p) => p.values[at]))));
    };
    return { node: attngeo.panel([`${title}: AUC `, auc], chart), draw };
  });

  const said = attngeo.said();
  const draw = () => {
    const points = data.points.map((values) => ({ values, kept: !values[5].some((defect) => out.has(defect)) }));
    panels.forEach((panel) => panel.draw(points));
    const count = (part) => points.filter((p) => p.kept && p.values[3] === part).length;
    said.textContent = `Left: ${count("encoder")} encoders (blue) and ${count("decoder")} decoders (orange) of ${points.length} points. At an AUC of 0.5 the score tells nothing.`;
  };
  const leave = (defect) => (gone) => {
    if (gone) out.add(defect);
    else out.delete(defect);
    draw();
  };
  const toggles = Object.entries(data.defects).map(([defect, [words, count]]) => attngeo.toggle(`${words} (${count})`, leave(defect)));
  const all = attngeo.button("Leave out all", () => toggles.forEach((one) => one.set(true)));
  const none = attngeo.button("As drawn", () => toggles.forEach((one) => one.set(false)));
  const title = element("span", { class: "ia-title" }, "Leave out:");
  stage.append(attngeo.controls(title, ...toggles, all, none), attngeo.panels(...panels), said);
  draw();
});
