/* One start, four models: training steps scrubbed, W_qk of an encoder and a decoder, with a table or rotary positions. */
attngeo.interactive("positions", (stage, data) => {
  "use strict";
  const { element, number } = attngeo;
  const models = { encoder: "Encoder, fills in masked tokens", decoder: "Decoder, predicts the next token" };
  const kinds = { table: "learned embeddings", rotary: "rotary" };
  const [side, places, last] = [data.side, data.places, data.steps.length - 1];
  let kind = "table";

  const panels = Object.entries(models).map(([model, title]) => {
    const of = Object.fromEntries(Object.entries(data.kinds).map(([name, runs]) => {
      const { levels, kernel, s, d } = runs[model];
      return [name, { entries: attngeo.levels(levels), between: kernel && attngeo.levels(kernel), s, d }];
    }));
    const kernel = attngeo.heatmap(`${title}: how much position i (row) attends to position j (column)`, model);
    const about = element("p", { class: "ia-title" });
    const matrix = attngeo.heatmap(`${title}: entries of W_qk`, model);
    const shades = attngeo.key(model, "negative", "positive");
    const cloud = attngeo.mirrorCloud(`${title}: each entry against its mirror image`, model);
    const scores = element("p", { class: "ia-scores" });
    const draw = (frame) => {
      const { entries, between, s, d } = of[kind];
      const m = entries.subarray(frame * side * side, (frame + 1) * side * side);
      matrix.draw(m, side, 127);
      cloud.draw(attngeo.pairs(m, side));
      kernel.node.style.display = between ? "" : "none";
      about.textContent = between ? "How much position i attends to position j" : "With rotary position embeddings, no part of W_qk compares positions alone";
      if (between) kernel.draw(between.subarray(frame * places * places, (frame + 1) * places * places), places, 127);
      scores.replaceChildren(
        element("span", {}, "symmetry s ", element("b", { class: `ia-${model}-text` }, number(s[frame]))),
        element("span", {}, "directionality d ", element("b", { class: `ia-${model}-text` }, number(d[frame]))),
      );
    };
    const node = element(
      "div", { "data-model": model },
      element("p", { class: `ia-title ia-${model}-text` }, title),
      element("div", { class: "ia-pair" }, matrix.node, cloud.node),
      shades.node,
      scores,
      about,
      element("div", { class: "ia-pair" }, kernel.node),
    );
    return { node, draw };
  });

  const curves = { s: "symmetry s", d: "directionality d" };
  const charts = Object.entries(curves).map(([score, title]) => {
    const values = Object.values(data.kinds).flatMap((runs) => [...runs.encoder[score], ...runs.decoder[score]]);
    const chart = attngeo.chart({
      width: 340, height: 136, margin: { left: 56 }, label: `${title} over training steps`,
      x: { from: 0, to: data.steps[last], ticks: [0, 500, 1000, 1500].filter((t) => t <= data.steps[last]), label: "training step" },
      y: { from: Math.min(-0.4, ...values), to: Math.max(0.8, ...values), ticks: [-0.4, 0, 0.4, 0.8], say: (v) => number(v, 1), label: title },
    });
    const marks = Object.keys(models).map((model) => {
      const curve = chart.line(model);
      const here = chart.dots(`here ${model}`);
      return (frame) => {
        const points = data.kinds[kind][model][score].map((value, i) => [data.steps[i], value]);
        curve(points);
        here([points[frame]]);
      };
    });
    return { node: chart.node, draw: (frame) => marks.forEach((mark) => mark(frame)) };
  });

  const draw = (frame) => [...panels, ...charts].forEach((part) => part.draw(frame));
  const slider = attngeo.slider(
    "Training step",
    { min: 0, max: last, value: last, say: (frame) => data.steps[frame].toLocaleString("en"), play: 140 },
    draw,
  );
  const positions = attngeo.choice("Positions", kinds, (chosen) => {
    kind = chosen;
    draw(slider.value);
  });
  const below = attngeo.panels(...charts);
  below.classList.add("ia-curves");
  stage.append(attngeo.controls(positions, slider), attngeo.panels(...panels), below);
  draw(last);
});
