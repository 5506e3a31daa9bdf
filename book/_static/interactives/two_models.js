/* One sentence in an encoder and a decoder, a pair of words in both, all surveyed models, and a table of the reader's. */
attngeo.interactive("two_models", (stage, data) => {
  "use strict";
  const { element, number } = attngeo;
  const { words, surveyed } = data;
  const n = words.length;
  const parts = Object.keys(data.models);
  let pair = data.pair;

  const panels = Object.fromEntries(parts.map((part) => {
    const { name, raw, entries, s, first, random } = data.models[part];
    const [scores, sampled] = [attngeo.levels(raw), attngeo.levels(entries)];
    const shown = sampled.length / s.length;
    const grid = attngeo.cells(`${name}: raw scores, rows from, columns to`, words, words, (k) => choose([Math.floor(k / n), k % n]));
    const cloud = attngeo.mirrorCloud(`${name}: entries of W_qk against their mirror images`, part);
    const score = element("b", { class: `ia-${part}-text` });
    const said = attngeo.said();
    const draw = () => {
      const layer = slider.value;
      const m = [...scores.subarray(layer * n * n, (layer + 1) * n * n)].map((level) => level / 127);
      const [i, j] = pair;
      grid.draw(m, 1, (cell, k) => {
        const [from, to] = [Math.floor(k / n), k % n];
        cell.setAttribute("aria-label", `${words[from]} to ${words[to]}: ${number(m[k])}`);
        cell.setAttribute("aria-selected", (from === i && to === j) || (from === j && to === i));
        cell.classList.toggle("here", cell.getAttribute("aria-selected") === "true");
        cell.title = cell.getAttribute("aria-label");
      });
      const own = sampled.subarray(layer * shown, (layer + 1) * shown);
      cloud.draw(Array.from({ length: shown / 2 }, (_, k) => [own[2 * k] / 127, own[2 * k + 1] / 127]));
      score.textContent = number(s[layer]);
      said.textContent = `${words[i]} → ${words[j]} ${number(m[i * n + j])}, ${words[j]} → ${words[i]} ${number(m[j * n + i])}`;
    };
    const slider = attngeo.slider(`Layer of ${name}`, { min: 0, max: s.length - 1, value: first, say: (layer) => `${layer + 1} of ${s.length}` }, () => { draw(); mark(); });
    const node = element(
      "div", { "data-model": part },
      element("p", { class: "ia-title" }, `${name}, ${part === "encoder" ? "an encoder" : "a decoder"}: s `, score, element("small", {}, ` (random ${number(random[0], 3)} ± ${number(random[1], 3)})`)),
      element("div", { class: "ia-pair" }, grid.node, cloud.node), said, slider.node,
    );
    return [part, { node, draw, random, s: () => s[slider.value] }];
  }));
  const choose = (to) => {
    pair = to;
    parts.forEach((part) => panels[part].draw());
  };

  // All surveyed models, the layers shown, and the reader's own.
  const height = { encoder: 1, decoder: 0 };
  const ticks = [-1, -0.5, 0, 0.5, 1];
  const high = 134;
  const wide = document.documentElement.clientWidth < 600 ? 370 : 760; // a narrow screen keeps the size of the words
  const room = wide < 760 ? 0 : 0.5; // a name stands within so much of the middle
  const strip = attngeo.chart({
    width: wide, height: high, margin: { left: 74, bottom: 36 }, label: "Symmetry of surveyed models, encoders above decoders",
    x: { from: -1, to: 1, ticks, say: (v) => number(v, 1), label: "symmetry s, median over layers; large: the layer above" },
    y: { from: -0.6, to: 1.6, ticks: [0, 1], say: (v) => (v ? "encoders" : "decoders") },
  });
  parts.forEach((part) => {
    strip.bars("random")([[panels[part].random[0] - panels[part].random[1], panels[part].random[0] + panels[part].random[1], height[part]]]);
    strip.dots(`point ${part}`)(surveyed.filter(([, of]) => of === part).map(([, , s]) => [s, height[part]]));
  });
  const layers = Object.fromEntries(parts.map((part) => [part, strip.dots(`here ${part}`)]));
  const named = strip.dots("here third");
  const label = strip.text("ia-named", "middle");
  const yours = strip.dots("here yours");
  const mark = () => parts.forEach((part) => layers[part]([[panels[part].s(), height[part]]]));
  const name = (at) => {
    const [model, part, s] = surveyed[at];
    named([[s, height[part]]]);
    label([Math.max(-room, Math.min(room, s)), 0.42], `${model}, ${part}: ${number(s)}`);
  };
  const say = (at) => surveyed[at][0];
  const first = Math.max(0, surveyed.findIndex(([model]) => model.startsWith("BERT base")));
  const models = attngeo.slider("Name a model", { min: 0, max: surveyed.length - 1, value: first, say }, name);
  strip.node.addEventListener("pointermove", (event) => {
    const box = strip.node.getBoundingClientRect();
    const [x, y] = [((event.clientX - box.left) / box.width) * wide, ((event.clientY - box.top) / box.height) * high];
    const far = surveyed.map(([, part, s]) => Math.hypot(strip.across(s) - x, strip.up(height[part]) - y));
    const nearest = far.indexOf(Math.min(...far));
    if (far[nearest] < 15) models.set(nearest);
  });

  // What `attngeo score MODEL -o x.json` wrote. It comes from anywhere: checked row by row, shown as text alone.
  const MOST = { characters: 2e7, rows: 50000, name: 60 };
  const isRow = (row) => row !== null && typeof row === "object"
    && typeof row.model === "string" && parts.concat("cross").includes(row.part) && Number.isInteger(row.head)
    && [row.symmetry, row.symmetry_null_mean, row.symmetry_null_sd].every(Number.isFinite) && Math.abs(row.symmetry) <= 1;
  const read = (text) => {
    if (text.length > MOST.characters) return "This is too long for a table of scores.";
    let rows;
    try { rows = JSON.parse(text); } catch { return "This is no JSON: paste the whole file that attngeo score MODEL -o x.json wrote."; }
    if (!Array.isArray(rows) || !rows.length || rows.length > MOST.rows || !rows.every(isRow)) return "This is JSON, and no table of attngeo score.";
    if (rows.some((row) => row.convention !== "definition")) return "These scores are by another formula than those shown: score again without --convention.";
    const layers = rows.filter((row) => row.head === -1 && row.part in height);
    return layers.length ? layers : "The table has no layer of an encoder or a decoder.";
  };
  const middle = (values) => {
    const sorted = [...values].sort((a, b) => a - b);
    const half = sorted.length / 2;
    return (sorted[Math.ceil(half) - 1] + sorted[Math.floor(half)]) / 2;
  };
  const box = element("textarea", { rows: 1, spellcheck: "false", id: "ia-yours", placeholder: "paste it" });
  const answer = attngeo.said();
  const show = () => {
    const table = box.value.trim() ? read(box.value) : "";
    const marks = [];
    answer.textContent = typeof table === "string" ? table : parts.filter((part) => table.some((row) => row.part === part)).map((part) => {
      const own = table.filter((row) => row.part === part);
      const s = middle(own.map((row) => row.symmetry));
      marks.push([s, height[part]]);
      const outside = own.filter((row) => Math.abs(row.symmetry - row.symmetry_null_mean) > 1.96 * row.symmetry_null_sd).length;
      return `Yours, ${own[0].model.slice(0, MOST.name)}, ${part}: s ${number(s)}; ${outside} of ${own.length} layers lie outside 95 % of random weights.`;
    }).join(" ");
    yours(marks);
  };
  box.addEventListener("input", show);

  stage.append(
    attngeo.panels(...Object.values(panels)), strip.node,
    element("div", { class: "ia-controls" }, models.node, element("div", { class: "ia-control ia-yours" }, element("label", { for: "ia-yours" }, "Yours, from x.json"), box)),
    answer,
  );
  choose(pair);
  mark();
  name(models.value);
});
