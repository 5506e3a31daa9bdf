/* Rank-1 painter: pairs of a short sequence are painted one by one, in either order, and their terms add up. */
attngeo.interactive("painter", (stage, data) => {
  "use strict";
  const { element, number } = attngeo;
  const n = data.autoregressive.x.length;
  const d = data.autoregressive.x[0].length;
  const kinds = { alike: "random, but βᵢⱼ = βⱼᵢ", exact: "exact, of a toy Transformer" };
  const orders = { prediction: "by predicted token: rows", context: "by context token: columns" };
  const painted = new Set();
  let pairs = []; // k = n i + j, in the order in which they are played
  let last = null;

  const term = (k) => {
    const { x } = data[objective.value];
    const [i, j] = [Math.floor(k / n), k % n];
    const beta = data[objective.value][kind.value][i][j];
    return x[i].flatMap((a) => x[j].map((b) => beta * a * b));
  };
  const sum = (keys) => keys.map(term).reduce((total, one) => total.map((v, e) => v + one[e]), Array(d * d).fill(0));
  const largest = (m) => Math.max(...m.map(Math.abs));

  const maps = { pair: "This pair", token: "Its token so far", all: "All so far", mirrored: "All, mirrored" };
  const pictures = Object.fromEntries(Object.entries(maps).map(([name, title]) => {
    const map = attngeo.heatmap(title);
    const panel = attngeo.panel(title, map);
    return [name, { ...map, head: panel.firstChild, panel }];
  }));
  const place = element("div", {});
  const said = attngeo.said();
  let grid = null;

  const draw = () => {
    const { words } = data[objective.value];
    const beta = data[objective.value][kind.value].flat();
    grid.draw(beta.map((b, k) => (b ? b * painted.has(k) : null)), largest(beta), (cell, k) => {
      const [i, j] = [Math.floor(k / n), k % n];
      cell.setAttribute("aria-selected", painted.has(k));
      cell.setAttribute("aria-disabled", !beta[k]);
      cell.setAttribute("aria-label", `${words[i]} ${i + 1} from ${words[j]} ${j + 1}: ${beta[k] ? number(beta[k]) : "no pair"}`);
      cell.classList.toggle("here", k === last);
    });
    const key = order.value === "prediction" ? (k) => Math.floor(k / n) : (k) => k % n;
    const total = sum([...painted]);
    const whole = largest(sum(pairs));
    // on scales of their own, since a pair with exact coefficients is small beside the whole sum
    const pair = sum(last === null ? [] : [last]);
    const token = sum(last === null ? [] : [...painted].filter((k) => key(k) === key(last)));
    pictures.pair.draw(pair, d, largest(pair) || 1);
    pictures.token.draw(token, d, largest(token) || 1);
    pictures.all.draw(total, d, whole);
    pictures.mirrored.draw(attngeo.mirrored(total, d), d, whole);
    const s = attngeo.symmetry(total, d);
    pictures.all.head.textContent = Number.isNaN(s) ? maps.all : `${maps.all}: s = ${number(s)}`;
    const count = `The sum contains ${painted.size} of ${pairs.length} pairs.`;
    if (last === null) { said.textContent = count; return; }
    const [i, j] = [Math.floor(last / n), last % n];
    said.textContent = `${count} In the last pair, “${words[i]}” (${i + 1}) is predicted from “${words[j]}” (${j + 1}) with β = ${number(beta[last])}. The sum has a symmetry score of ${number(s)}.`;
  };
  /** The first `count` pairs of the order, painted. */
  const upTo = (count) => {
    painted.clear();
    pairs.slice(0, count).forEach((k) => painted.add(k));
    last = count ? pairs[count - 1] : null;
    draw();
  };
  const press = (k) => {
    if (!pairs.includes(k)) return;
    if (!painted.delete(k)) painted.add(k);
    last = k;
    slider.show(painted.size);
    draw();
  };
  /** Another objective, order or kind: other pairs, all of them painted. */
  const turn = () => {
    const beta = data[objective.value][kind.value].flat();
    pairs = [...beta.keys()].filter((k) => beta[k]);
    if (order.value === "context") pairs.sort((a, b) => (a % n) - (b % n) || a - b);
    const words = data[objective.value].words.map((word, i) => `${word} ${i + 1}`);
    grid = attngeo.cells("Pairs: rows are predicted, columns are context", words, words.map((word) => word.split(" ")[0]), press);
    place.replaceChildren(grid.node);
    slider.show(pairs.length, pairs.length);
    upTo(pairs.length);
  };

  const objective = attngeo.choice("Objective", Object.fromEntries(Object.keys(data).map((name) => [name, name])), () => turn());
  const order = attngeo.choice("Order", orders, () => turn());
  const kind = attngeo.choice("Coefficients", kinds, () => turn());
  const slider = attngeo.slider("Pairs painted", { min: 1, max: n * n, play: 350 }, upTo);
  const four = element("div", { class: "ia-pair" }, ...Object.values(pictures).map((p) => p.panel));
  stage.append(attngeo.controls(objective, order, kind, slider), attngeo.panels(place, four), said);
  turn();
});
