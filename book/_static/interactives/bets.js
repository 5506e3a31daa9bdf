/* Place your bet: encoder or decoder? Pictures of W_qk first, their names and scores when every bet is placed. */
attngeo.interactive("bets", (stage, data) => {
  "use strict";
  const { element, number } = attngeo;
  const kinds = { "": "your bet", encoder: "encoder", decoder: "decoder" };

  const panels = data.pictures.map(({ title, part, words, s, d, side, levels }) => {
    const m = attngeo.levels(levels);
    const matrix = attngeo.heatmap(`Picture ${title}: entries of W_qk`);
    matrix.draw(m, side, 127);
    const bare = { from: -1.04, to: 1.04, ticks: [0], say: () => "" };
    const cloud = attngeo.chart({
      width: 200, height: 200, x: bare, y: bare, margin: { left: 2, right: 2, top: 2, bottom: 2 },
      label: `Picture ${title}: each entry against its mirror image`,
    });
    cloud.line("reference")([[-1, -1], [1, 1]]);
    const pairs = [];
    for (let i = 0; i < side; i += 1) for (let j = i + 1; j < side; j += 1) pairs.push([m[i * side + j] / 127, m[j * side + i] / 127]);
    cloud.dots("cloud fine")(pairs);
    cloud.text("", "end")([1.02, -0.16], "mᵢⱼ");
    cloud.text("")([0.05, 0.9], "mⱼᵢ");
    const bet = attngeo.choice(`Picture ${title}`, kinds, () => {});
    const list = bet.node.querySelector("select");
    const answer = element("p", { class: "ia-answer" });
    const node = element("div", { class: "ia-panel" }, bet.node, matrix.node, cloud.node, answer);
    const reveal = () => {
      const right = bet.value === part;
      list.disabled = true;
      answer.replaceChildren(
        element("b", {}, right ? "right: " : "wrong: "),
        element("span", { class: `ia-${part}-text` }, words),
        `, s\u00a0${number(s)}, d\u00a0${number(d)}`,
      );
      return right;
    };
    return { title, node, bet, reveal, show: (shown) => cloud.node.classList.toggle("ia-absent", !shown) };
  });

  const said = attngeo.said();
  const clouds = attngeo.toggle("Mirror clouds, too", (shown) => panels.forEach((panel) => panel.show(shown)));
  const end = attngeo.button("Reveal", () => {
    const open = panels.filter((panel) => !panel.bet.value).map((panel) => panel.title);
    if (open.length) {
      said.textContent = `No bet yet on ${open.join(", ")}.`;
      return;
    }
    clouds.set(true);
    const right = panels.filter((panel) => panel.reveal()).length;
    said.textContent = `${right} of ${panels.length} right; guessing gives ${panels.length / 2} on average. ` +
      `By its number the encoder has the higher s in ${data.s} of ${data.pairs} pairs, the higher d in ${data.d}. ` +
      "The eye is only as good as the mirror image that it finds, which is what s measures; strong rows and columns, which d measures, catch it as well.";
  });
  stage.append(
    element("div", { class: "ia-panels ia-many" }, ...panels.map((panel) => panel.node)),
    element("div", { class: "ia-controls ia-below" }, end.node, clouds.node),
    said,
  );
  clouds.set(false);
});
