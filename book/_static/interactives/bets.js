/* Place your bet: encoder or decoder? Pictures of W_qk first, their names and scores when every bet is placed. */
attngeo.interactive("bets", (stage, data) => {
  "use strict";
  const { element, number } = attngeo;
  const kinds = { "": "your bet", encoder: "encoder", decoder: "decoder" };

  const panels = data.pictures.map(({ title, part, words, s, d, side, levels }) => {
    const m = attngeo.levels(levels);
    const matrix = attngeo.heatmap(`Picture ${title}: entries of W_qk`);
    matrix.draw(m, side, 127);
    const cloud = attngeo.mirrorCloud(`Picture ${title}: each entry against its mirror image`, "fine");
    cloud.draw(attngeo.pairs(m, side));
    const bet = attngeo.choice(`Picture ${title}`, kinds, () => {});
    const list = bet.node.querySelector("select");
    const answer = element("p", { class: "ia-answer" });
    const node = element("div", {}, bet.node, matrix.node, cloud.node, answer);
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
  const pictures = attngeo.panels(...panels);
  pictures.classList.add("ia-many");
  stage.append(pictures, attngeo.controls(end, clouds), said);
  clouds.set(false);
});
