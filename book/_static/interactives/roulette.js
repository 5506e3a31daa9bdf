/* Speed-up roulette: two random seeds of one experiment, and what Table 1's measure would print for them. */
attngeo.interactive("roulette", (stage, data) => {
  "use strict";
  const { number } = attngeo;
  const percent = (share) => `${number(100 * share, 0)}\u00a0%`;

  /** The first recorded step at which a loss is at or below the baseline's last: its index, or -1. */
  const touch = (losses, baseline) => losses.findIndex((loss) => loss <= baseline[baseline.length - 1]);

  const said = attngeo.said();
  const [plots, seeds] = [attngeo.panels(), attngeo.controls()];
  const drawn = []; // speed-ups of the pairs that the reader drew

  const turn = (name) => {
    const { steps, losses } = data.experiments[name];
    const last = steps[steps.length - 1];
    const saved = (at) => (at < 0 ? null : 1 - steps[at] / last);
    const names = Object.keys(losses);
    const late = Object.values(losses).map((values) => values.slice(Math.floor(steps.length / 12)));
    const [low, high] = [Math.min(...late.flat()), Math.max(...late.flat())];
    const ticks = [0, 1, 2, 3].map((k) => low + (k / 3) * (high - low));
    const curves = attngeo.chart({
      width: 380, height: 200, label: "Training losses of two random starts", margin: { left: 56 },
      x: { from: 0, to: last, ticks: [0, last / 2, last], say: (v) => v.toLocaleString("en"), label: "training step" },
      y: { from: low - 0.05 * (high - low), to: high, ticks, say: (v) => number(v, 2), label: "training loss (nats)" },
    });
    const [end, first, second, here] = [curves.line("reference"), curves.line("third"), curves.line(""), curves.dots("here")];
    curves.text("", "end")([last, high - 0.06 * (high - low)], "start");
    curves.text("ia-third-text", "end")([last, high - 0.18 * (high - low)], "baseline");
    const strip = attngeo.chart({
      width: 380, height: 200, label: "Speed-ups of all pairs of seeds", margin: { left: 14, right: 22 },
      x: { from: data.never - 0.05, to: 1, ticks: [data.never, 0, 0.5, 1], say: (v) => (v === data.never ? "never" : percent(v)), label: "speed-up by Table 1's measure" },
      y: { from: -0.6, to: 1.6, ticks: [] },
    });
    const place = (share) => share ?? data.never;
    const all = names.flatMap((a) => names.filter((b) => b !== a).map((b) => place(saved(touch(losses[a], losses[b])))));
    strip.dots("cloud wide")(all.map((x, i) => [x, 0.8 + 0.3 * (i / all.length)]));
    strip.text("", "end")([1, 1.35], "all pairs of seeds");
    strip.text("", "end")([1, 0.35], "yours");
    const yours = strip.dots("here");
    plots.replaceChildren(curves.node, strip.node);
    drawn.length = 0;

    const draw = () => {
      const [a, b] = [losses[one.value], losses[other.value]];
      const points = (values) => values.map((loss, i) => [steps[i], Math.min(loss, high)]);
      const at = touch(a, b);
      first(points(b));
      second(points(a));
      end([[0, b[b.length - 1]], [last, b[b.length - 1]]]);
      here(at < 0 ? [] : [points(a)[at]]);
      drawn.push(place(saved(at)));
      yours(drawn.map((x, i) => [x, 0.1 - 0.5 * ((i % 12) / 12)]));
      said.textContent = at < 0
        ? `Seed ${one.value} never reaches the end of seed ${other.value}. Both starts are random.`
        : `Seed ${one.value} reaches the end of seed ${other.value} at step ${steps[at].toLocaleString("en")} of ${last.toLocaleString("en")}: a speed-up of ${percent(saved(at))}. Both starts are random.`;
    };
    const options = Object.fromEntries(names.map((seed) => [seed, `seed ${seed}`]));
    const one = attngeo.choice("Start", options, draw, names[0]);
    const other = attngeo.choice("Baseline", options, draw, names[1]);
    const spin = attngeo.button("Draw two seeds", () => {
      const a = Math.floor(Math.random() * names.length);
      const b = (a + 1 + Math.floor(Math.random() * (names.length - 1))) % names.length;
      other.node.querySelector("select").value = names[b];
      one.set(names[a]);
    });
    seeds.replaceChildren(spin.node, one.node, other.node);
    draw();
  };

  const labels = Object.fromEntries(Object.keys(data.experiments).map((name) => [name, name]));
  const experiment = attngeo.choice("Experiment", labels, turn);
  stage.append(attngeo.controls(experiment), seeds, plots, said);
  turn(experiment.value);
});
