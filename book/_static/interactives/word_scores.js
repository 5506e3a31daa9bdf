/* Six words: the reader sets the symmetry of the query-key matrix and picks a pair; scores, weights and points follow. */
attngeo.interactive("word_scores", (stage, data) => {
  "use strict";
  const { element, number } = attngeo;
  const { words, extent } = data;
  const n = words.length;
  let pair = data.pair;

  const percent = (share) => `${Math.round(100 * share)} %`;
  /* The parts with the weights that give the matrix its symmetry score. */
  const mixed = (s, { symmetric, skew }, sign = 1) => {
    const [a, b] = [Math.sqrt((1 + s) / 2), sign * Math.sqrt((1 - s) / 2)];
    return symmetric.map((value, k) => a * value + b * skew[k]);
  };
  const softmax = (row) => {
    const powers = row.map(Math.exp);
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => power / total);
  };

  const choose = (k) => {
    pair = [Math.floor(k / n), k % n];
    draw();
  };
  const scores = attngeo.cells("Scores: the row scores the column", words, words, choose);
  const weights = attngeo.cells("Attention weights: the row attends to the column", words, words, choose);
  const axis = { from: -extent, to: extent, ticks: [-2, 0, 2] };
  const cloud = attngeo.chart({
    width: 300, height: 300, label: "Scores of random pairs of tokens in both orders", margin: { left: 52 },
    x: { ...axis, label: "score that i gives j" }, y: { ...axis, label: "score that j gives i" },
  });
  cloud.line("reference")([[-extent, -extent], [extent, extent]]);
  const points = cloud.dots("cloud");
  const within = (p) => p.every((value) => Math.abs(value) < extent);
  const said = attngeo.said();

  const found = (s, there, back) => {
    if (s === 1) return "The matrix is symmetric: every score equals its mirror image. The attention weights are not symmetric.";
    if (s === -1) return "The matrix is skew-symmetric: every score is the negative of its mirror image.";
    return there === back ? "A word and itself are one pair, so there is nothing to compare." : `The two scores differ by ${number(Math.abs(there - back))}.`;
  };
  const draw = () => {
    const s = symmetry.value / 10;
    const all = mixed(s, data);
    const shares = words.flatMap((_, i) => softmax(all.slice(i * n, (i + 1) * n)));
    const [i, j] = pair;
    const dress = (values, say) => (cell, k) => {
      const [from, to] = [Math.floor(k / n), k % n];
      const chosen = (from === i && to === j) || (from === j && to === i);
      cell.setAttribute("aria-label", `${words[from]} to ${words[to]}: ${say(values[k])}`);
      cell.setAttribute("aria-selected", chosen);
      cell.classList.toggle("here", chosen);
      cell.title = cell.getAttribute("aria-label");
    };
    scores.draw(all, 2.5, dress(all, (v) => number(v)));
    weights.draw(shares, Math.max(...shares), dress(shares, percent));
    const [first, second] = [mixed(s, data.tokens), mixed(s, data.tokens, -1)];
    points(first.map((value, k) => [value, second[k]]).filter(within));
    const [there, back] = [all[i * n + j], all[j * n + i]];
    said.textContent = i === j
      ? `“${words[i]}” gives itself a score of ${number(there)} and ${percent(shares[i * n + j])} of its weight. ${found(s, there, back)}`
      : `“${words[i]}” gives “${words[j]}” a score of ${number(there)} and ${percent(shares[i * n + j])} of its weight. “${words[j]}” gives “${words[i]}” a score of ${number(back)} and ${percent(shares[j * n + i])} of its weight. ${found(s, there, back)}`;
  };
  const symmetry = attngeo.slider("Symmetry score s", { min: -10, max: 10, value: 10 * data.opened, say: (v) => number(v / 10, 1) }, draw);
  const task = element("p", { class: "ia-task" }, "Move s to 1 and to 0, and choose a pair of words in a table. Then compare the two framed cells of each table.");
  const panels = attngeo.panels(attngeo.panel("Scores", scores), attngeo.panel("Attention weights", weights), attngeo.panel("Random pairs of tokens", cloud));
  panels.classList.add("ia-three");
  stage.append(attngeo.controls(symmetry), task, panels, said);
  draw();
});
