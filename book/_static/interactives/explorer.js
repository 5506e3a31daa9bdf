/* Model explorer: a model of the survey, a layer, a head; both scores beside the bands of random weights. */
attngeo.interactive("explorer", (stage, data) => {
  "use strict";
  const { element, number } = attngeo;
  const scores = { s: "symmetry s", d: "directionality d" };
  const colours = { encoder: "encoder", decoder: "decoder", cross: "third" };
  const outside = (value, [low, high]) => value < low || value > high;

  /* A score against layers or heads: its band, the values (outside the band in the part's colour), and the one picked. */
  const panel = (colour, score, kind, values, band) => {
    const last = values.length - 1;
    const stride = Math.max(1, Math.ceil(values.length / 8));
    const chart = attngeo.chart({
      width: 340, height: 190, margin: { left: 58 }, label: `${scores[score]} of ${kind}`,
      x: { from: -0.5, to: last + 0.5, ticks: values.map((_, i) => i).filter((i) => i % stride === 0), label: kind === "layers" ? "layer" : "head of this layer" },
      y: { from: -1.05, to: 1.05, ticks: [-1, -0.5, 0, 0.5, 1], say: (v) => number(v, 1), label: scores[score] },
    });
    const [low, high] = band;
    chart.line("area")([[-0.5, low], [last + 0.5, low], [last + 0.5, high], [-0.5, high]]);
    const [picked, joined] = [chart.line("reference"), chart.line(colour)];
    const marks = [false, true].map((far) => ({ far, draw: chart.dots(far ? `point ${colour}` : "point inside") }));
    return {
      node: chart.node,
      draw: (own, at) => {
        const points = own.map((value, i) => [i, value]);
        joined(kind === "layers" ? points : []);
        marks.forEach(({ far, draw }) => draw(points.filter(([, value]) => outside(value, band) === far)));
        picked([[at, -1.05], [at, 1.05]]);
      },
    };
  };

  const said = attngeo.said();
  const plots = attngeo.panels();
  let [model, panels] = [null, []];

  const judged = (own, at, bands) => Object.keys(scores).map((score) => {
    const [value, band] = [own[score][at], bands[score]];
    return `${score}\u00a0${number(value)}, ${outside(value, band) ? "outside" : "inside"} the band from ${number(band[0], 3)} to ${number(band[1], 3)}`;
  }).join("; ");

  const draw = () => {
    const heads = model.heads[layer.value];
    head.show(head.value, heads.s.length - 1);
    panels.forEach(({ kind, score, chart }) => chart.draw(kind === "layers" ? model.layers[score] : heads[score], (kind === "layers" ? layer : head).value));
    said.replaceChildren(
      element("span", {}, `Layer ${layer.value}, all heads: ${judged(model.layers, layer.value, model.bands.layers)}. `),
      element("span", {}, `Head ${head.value} of it: ${judged(heads, head.value, model.bands.heads)}. `),
      element("span", {}, "Grey: the band of 95 % of random weights; coloured points lie outside it."),
    );
  };
  const open = (name) => {
    model = data.models[name];
    layer.show(Math.min(layer.value, model.layers.s.length - 1), model.layers.s.length - 1);
    panels = ["layers", "heads"].flatMap((kind) => Object.keys(scores).map((score) => {
      const values = kind === "layers" ? model.layers[score] : model.heads[0][score];
      return { kind, score, chart: panel(colours[model.part], score, kind, values, model.bands[kind][score]) };
    }));
    plots.replaceChildren(...panels.map(({ chart }) => chart.node));
    draw();
  };

  const names = Object.fromEntries(Object.keys(data.models).map((name) => [name, name]));
  const list = attngeo.choice("Model", names, open, data.first);
  const layer = attngeo.slider("Layer", { min: 0, max: 0 }, draw);
  const head = attngeo.slider("Head", { min: 0, max: 0 }, draw);
  stage.append(attngeo.controls(list, layer, head), plots, said);
  open(list.value);
});
