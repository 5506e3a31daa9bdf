/* The forward pass, played once: what one attention layer computes of six tokens, step by step. */
attngeo.interactive("forward_pass", (stage, data) => {
  "use strict";
  const { element, number } = attngeo;
  const { words, passes } = data;
  const n = words.length;
  const positions = words.map((_, i) => String(i + 1));
  const most = (row) => row.indexOf(Math.max(...row));
  const length = (row) => Math.hypot(...row);
  const seen = (row, attended) => row.map((value, j) => (attended[j] ? value : -Infinity));

  /* Per step: its title, its pictures (title, labels of the columns), and what it did to the token followed. */
  const steps = [
    {
      title: "embed", pictures: { embeddings: ["Embeddings xᵢ"] },
      say: (p, i) => `The token embedding of “${words[i]}” plus its position embedding has norm ${number(length(p.embeddings[i]))}.`,
    },
    {
      title: "query and key", pictures: { queries: ["Queries qᵢ"], keys: ["Keys kⱼ"] },
      say: (p, i) => `The query of “${words[i]}” has norm ${number(length(p.queries[i]))}, and its key has norm ${number(length(p.keys[i]))}.`,
    },
    {
      title: "score", pictures: { scores: ["Raw scores qᵢ · kⱼ", positions] },
      say: (p, i) => {
        const row = seen(p.scores[i], p.attended[i]);
        return `Of the tokens that “${words[i]}” can attend to, “${words[most(row)]}” has the highest score (${number(Math.max(...row))}).`;
      },
    },
    {
      title: "mask and softmax", pictures: { weights: ["Weights αᵢⱼ", positions] },
      say: (p, i) => `The softmax turns the scores of “${words[i]}” into weights that add up to 1. “${words[most(p.weights[i])]}” has the largest weight (${number(Math.max(...p.weights[i]))}).`,
    },
    {
      title: "mix values", pictures: { mixed: ["Mixed Σ αᵢⱼ vⱼ"] },
      say: (p, i) => `The weighted sum of the values has norm ${number(length(p.mixed[i]))}.`,
    },
    {
      title: "add", pictures: { outputs: ["Outputs x̂ᵢ"] },
      say: (p, i) => `The sum of this vector and the embedding of “${words[i]}” has norm ${number(length(p.outputs[i]))}.`,
    },
    {
      title: "predict", pictures: { probabilities: ["Probabilities", words] },
      say: (p, i) => `At this position, the model considers “${words[most(p.probabilities[i])]}” the most probable word (probability ${number(Math.max(...p.probabilities[i]))}).`,
    },
  ];

  const pictures = steps.flatMap(({ pictures: shown }, at) => Object.entries(shown).map(([name, [title, columns]]) => {
    const table = attngeo.cells(title, words, columns || Array(n).fill(""));
    const node = attngeo.panel(title, table);
    const draw = (pass, row) => {
      const values = pass[name].flatMap((line, i) => line.map((v, j) => (name === "weights" && !pass.attended[i][j] ? null : v)));
      table.draw(values, Math.max(...values.map(Math.abs)), (cell, k) => cell.classList.toggle("here", name !== "keys" && Math.floor(k / n) === row));
      node.classList.toggle("ia-later", at > step.value - 1);
    };
    return { node, draw };
  }));

  const said = attngeo.said();
  const draw = () => {
    const pass = passes[mask.value];
    pictures.forEach((picture) => picture.draw(pass, token.value - 1));
    said.textContent = steps[step.value - 1].say(pass, token.value - 1);
  };
  const step = attngeo.slider("Step", { min: 1, max: steps.length, value: steps.length, say: (k) => `${k} ${steps[k - 1].title}`, play: 2500 }, draw);
  const mask = attngeo.choice("Mask", { causal: "causal: itself and tokens before", none: "none: every token" }, draw);
  const token = attngeo.slider("Token followed", { min: 1, max: n, value: 3, say: (k) => words[k - 1] }, draw);
  const shown = element("div", { class: "ia-steps" }, ...pictures.map((picture) => picture.node));
  stage.append(attngeo.controls(step, mask, token), shown, said);
  draw();
});
