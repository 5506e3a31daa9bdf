/* Nine numbers between three words, which the reader changes, and their symmetry score. */
attngeo.interactive("three_words", (stage, data) => {
  "use strict";
  const { element, number } = attngeo;
  const { words, most } = data;
  const n = words.length;
  let m = data.numbers.flat();
  const grid = attngeo.cells("How much the word of the row attends to the word of the column", words, words, (k) => {
    m[k] = m[k] >= most ? -most : m[k] + 1;
    draw(k);
  });
  grid.node.querySelector("[role=columnheader]").textContent = "from, to";
  const score = element("p", { class: "front-sum", "aria-live": "polite" });
  const mirror = (k) => (k % n) * n + Math.floor(k / n);

  const draw = (changed = -1) => {
    grid.draw(m, 1.6 * most, (cell, k) => {
      cell.textContent = number(m[k], 0);
      cell.setAttribute("aria-label", `${words[Math.floor(k / n)]} to ${words[k % n]}: ${number(m[k], 0)}`);
      cell.classList.toggle("here", changed >= 0 && k === mirror(changed) && k !== changed);
    });
    const [above, below] = [attngeo.inner(m, attngeo.mirrored(m, n)), attngeo.inner(m, m)];
    score.replaceChildren(
      element("i", {}, "s"), ` = ${number(above, 0)} / ${below} = `,
      element("b", {}, below ? number(above / below) : "not defined, because all numbers are 0"),
    );
  };
  const buttons = attngeo.controls(
    attngeo.button("Mirror the upper half", () => {
      m = m.map((value, k) => (k % n < Math.floor(k / n) ? m[mirror(k)] : value));
      draw();
    }),
    attngeo.button("Flip its sign below", () => {
      m = m.map((value, k) => (k % n < Math.floor(k / n) ? -m[mirror(k)] : k % n === Math.floor(k / n) ? 0 : value));
      draw();
    }),
    attngeo.button("Random numbers", () => {
      m = m.map(() => Math.floor(Math.random() * (2 * most + 1)) - most);
      draw();
    }),
  );
  stage.classList.add("front-words");
  stage.append(
    element("p", {}, element("b", {}, "Press a number to change it"), `. Each press increases the number by one, and after ${most} it starts again at ${number(-most, 0)}. A frame marks the mirror image of the number that you pressed last.`),
    grid.node, score, buttons,
  );
  draw();
});
