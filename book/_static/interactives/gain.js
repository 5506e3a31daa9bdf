/* What the gain is made of: parts of the released start are ticked, the difference of the final loss follows. */
attngeo.interactive("gain", (stage, data) => {
  "use strict";
  const { element, number } = attngeo;
  const all = Object.values(data.experiments).flatMap((found) => Object.values(found));
  const ends = all.flatMap(({ value, ends: interval }) => interval || [value]);
  const [low, high] = [Math.min(...ends, 0) - 0.01, Math.max(...ends, 0) + 0.01];
  const names = Object.keys(data.experiments);
  const chart = attngeo.chart({
    width: 380, height: 70 + 60 * names.length, margin: { left: 14, right: 14 },
    label: "Final loss less that of the random start, with its interval over seeds",
    x: { from: low, to: high, ticks: [-0.4, -0.3, -0.2, -0.1, 0, 0.1].filter((t) => t > low && t < high), say: (v) => number(v, 1), label: "final loss less that of the random start (nats)" },
    y: { from: names.length - 0.4, to: -0.6, ticks: [] },
  });
  const rows = names.map((name, y) => {
    chart.text("")([low, y - 0.25], name);
    return { y, ghosts: chart.dots("cloud"), bar: chart.bars("encoder"), value: chart.dots("here encoder") };
  });
  const said = attngeo.said();

  const draw = () => {
    const key = Object.keys(toggles).filter((part) => toggles[part].value).join(" ");
    const lines = names.map((name, k) => {
      const found = data.experiments[name];
      const { y, ghosts, bar, value } = rows[k];
      const shown = key ? found[key] : { start: "random", value: 0, ends: null, words: "0, against itself" };
      ghosts(Object.values(found).map((other) => [other.value, y]));
      bar(shown && shown.ends ? [[...shown.ends, y]] : []);
      value(shown ? [[shown.value, y]] : []);
      if (!shown) return `${name}: these parts together were not run.`;
      return `${name}: ${shown.start}, ${shown.words}${shown.seeds ? ` nats, ${shown.seeds} seeds` : ""}.`;
    });
    said.replaceChildren(...lines.map((line) => element("span", { class: "ia-line-of-text" }, line)));
  };

  const toggles = Object.fromEntries(Object.entries(data.parts).map(([part, words]) => [part, attngeo.toggle(words, draw, true)]));
  stage.append(
    element("div", { class: "ia-controls" }, ...Object.values(toggles).map((one) => one.node)),
    element("div", { class: "ia-narrow" }, chart.node),
    said,
  );
  draw();
});
