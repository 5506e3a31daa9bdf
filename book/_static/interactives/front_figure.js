/* The front page's figure: two squares that train, and the crossing lines of ten pairs of models.

   The squares show how much position i attends to position j by position alone, or, where W_qk is the same at every
   position, the first rows and columns of W_qk itself. */
attngeo.interactive("front_figure", (stage, data) => {
  "use strict";
  const { element, drawn, number } = attngeo;
  const models = {
    encoder: { name: "Encoder", does: "predicts hidden characters" },
    decoder: { name: "Decoder", does: "predicts the next character" },
  };
  const kinds = { table: "learned embeddings", rotary: "rotary" };
  const last = data.steps.length - 1;
  const mean = (values) => values.reduce((total, value) => total + value, 0) / values.length;
  const W = () => element("i", {}, "W", element("sub", {}, "qk"));
  let kind = "table";
  let cell = null; // [row, column] that the reader points at
  let folded = 0; // 1 where every number is shown minus its mirror image

  const recorded = Object.fromEntries(Object.entries(data.kinds).map(([name, pair]) => [
    name,
    Object.fromEntries(Object.entries(pair).map(([model, { levels, kernel, s, median }]) => [
      model, { entries: attngeo.levels(levels), kernel: kernel && attngeo.levels(kernel), s, median },
    ])),
  ]));
  const ofPositions = () => kind === "table" && !whole.value;
  const square = (model) => {
    const { entries, kernel } = recorded[kind][model];
    const [side, all] = ofPositions() ? [data.places, kernel] : [data.side, entries];
    const frame = slider.value;
    return { side, values: all.subarray(frame * side * side, (frame + 1) * side * side) };
  };

  const panels = Object.fromEntries(Object.entries(models).map(([model, { name, does }]) => {
    const picture = attngeo.heatmap(`${name}: a square of numbers, rows for queries and columns for keys`, model);
    const diagonal = drawn("line", { x1: 0, y1: 0, x2: 100, y2: 100 });
    const marks = drawn("g");
    const over = drawn("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" }, diagonal, marks);
    const box = element(
      "div", { class: "front-square", tabindex: 0, role: "group", "aria-label": `${name}: point at a cell, or move by the arrow keys, to read it` },
      picture.node, over,
    );
    const score = element("b", { class: `ia-${model}-text` });
    const note = element("p", { class: "front-note" });
    const shades = attngeo.key(model, "less than average", "more");
    const node = element(
      "div", { "data-model": model },
      element("p", { class: "front-head" }, element("span", {}, element("b", { class: `ia-${model}-text` }, name), element("small", {}, ` ${does}`)), score),
      box, shades.node, note,
    );
    const paint = () => {
      const { side, values } = square(model);
      const mirror = attngeo.mirrored(values, side);
      picture.draw(Float32Array.from(values, (value, k) => value - folded * mirror[k]), side, 127);
      diagonal.setAttribute("class", folded ? "front-fold" : "");
      const width = 100 / side;
      const cells = cell ? [cell, [...cell].reverse()] : [];
      marks.replaceChildren(...cells.map(([i, j]) => drawn("rect", { x: j * width, y: i * width, width, height: width })));
    };
    const draw = () => {
      paint();
      const { side, values } = square(model);
      const { s, median } = recorded[kind][model];
      const own = attngeo.symmetry(values, side);
      const frame = slider.value;
      score.replaceChildren(element("i", {}, "s"), ` = ${number(median[frame])}`);
      const left = ofPositions() ? own : s[frame];
      note.replaceChildren(...(fold.value
        ? [`Not symmetric: ${Math.round(50 * (1 - left))} % of the squared norm (50 % for random weights)`]
        : ofPositions()
          ? [`Score of this square: ${number(own)}; score of the whole first layer: ${number(s[frame])}`]
          : [`The square shows a part of the first layer. Score of this layer: ${number(s[frame])}`]));
      shades.say(...(ofPositions() ? ["less than average", "more"] : ["negative", "positive"]));
    };
    const at = (event) => {
      const edge = box.getBoundingClientRect();
      const { side } = square(model);
      const place = (part) => Math.max(0, Math.min(side - 1, Math.floor(part * side)));
      point([place((event.clientY - edge.top) / edge.height), place((event.clientX - edge.left) / edge.width)]);
    };
    box.addEventListener("pointermove", at);
    box.addEventListener("pointerdown", at);
    box.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") point(null); });
    box.addEventListener("blur", () => point(null));
    box.addEventListener("keydown", (event) => {
      const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (event.key === "Escape") point(null);
      if (!move) return;
      event.preventDefault();
      const { side } = square(model);
      point(cell ? cell.map((place, k) => Math.max(0, Math.min(side - 1, place + move[k]))) : [0, 1]);
    });
    return [model, { node, paint, draw }];
  }));
  const point = (to) => {
    cell = to;
    Object.values(panels).forEach((panel) => panel.paint());
    tell();
  };

  // Ten other pairs after training; a ring marks the pair whose squares are shown, at the step shown.
  const x = { table: 1, rotary: 2 };
  const chart = attngeo.chart({
    width: 340, height: 372, margin: { left: 40, right: 10, top: 16, bottom: 34 },
    label: "Symmetry score of ten encoders and ten decoders after training, with learned and with rotary position embeddings",
    x: { from: 0.5, to: 2.5, ticks: [1, 2], say: (at) => ["", "learned", "rotary"][at] },
    y: { from: -0.04, to: 0.72, ticks: [0, 0.2, 0.4, 0.6], say: (value) => (value ? number(value, 1) : "0"), label: "symmetry score s, median over layers" },
  });
  chart.node.classList.add("front-slopes");
  const rings = Object.keys(models).map((model) => {
    const { table, rotary } = data.seeds[model];
    table.forEach((value, k) => chart.line(`seed ${model}`)([[1, value], [2, rotary[k]]]));
    chart.dots(`seed ${model}`)([...table.map((value) => [1, value]), ...rotary.map((value) => [2, value])]);
    const ends = { table: mean(table), rotary: mean(rotary) };
    chart.line(`mean ${model}`)([[1, ends.table], [2, ends.rotary]]);
    chart.dots(`here ${model}`)([[1, ends.table], [2, ends.rotary]]);
    chart.text(`front-number ia-${model}-text`, "end")([0.92, ends.table - 0.012], number(ends.table));
    chart.text(`front-number ia-${model}-text`)([2.08, ends.rotary - 0.012], number(ends.rotary));
    const [side, anchor, height] = model === "encoder" ? [1.1, "start", ends.table + 0.03] : [1.9, "end", ends.rotary + 0.045];
    chart.text(`front-named ia-${model}-text`, anchor)([side, height], `${model}s`);
    const ring = drawn("circle", { r: 9, class: `front-ring ${model}` });
    chart.node.append(ring);
    return () => {
      ring.setAttribute("cx", chart.across(x[kind]));
      ring.setAttribute("cy", chart.up(recorded[kind][model].median[slider.value]));
    };
  });

  // One line that says what to do or, once it was done, what was to be seen.
  const line = element("p", { class: "front-tell", "aria-live": "polite" });
  const signed = (value) => (value < 0 ? "" : "+") + number(value / 127);
  const read = (model) => {
    const { side, values } = square(model);
    const [i, j] = cell;
    const [here, there] = [values[i * side + j], values[j * side + i]].map(signed);
    const what = ofPositions() ? "position" : "entry";
    const words = ofPositions()
      ? i === j ? `position ${i + 1} to itself: ${here}` : `position ${i + 1} to position ${j + 1}: ${here}; position ${j + 1} to position ${i + 1}: ${there}`
      : i === j ? `${what} (${i + 1}, ${i + 1}): ${here}` : `${what} (${i + 1}, ${j + 1}): ${here}; its mirror image: ${there}`;
    return [element("b", { class: `ia-${model}-text` }, models[model].name), `, ${words}. `];
  };
  const higher = (model) => {
    const other = model === "encoder" ? "decoder" : "encoder";
    return recorded[kind][model].median[slider.value] > recorded[kind][other].median[slider.value];
  };
  const tell = () => {
    const frame = slider.value;
    const b = (words) => element("b", {}, words);
    const folding = ["We now subtract from every number its mirror image, so ", b("the symmetric part disappears"), ". "];
    line.replaceChildren(...(
      cell ? Object.keys(models).flatMap(read)
        : !frame ? ["Both models start from the same random weights. ", b("Press Play"), " to see how the two squares change during training."]
          : ofPositions() && fold.value ? [...folding, "Little is left of the encoder’s square, but more is left of the decoder’s square."]
            : ofPositions() && frame < data.settled ? ["Rows are the positions that attend, and columns are the positions that are attended to. At this step, the squares show little more than noise."]
              : ofPositions() ? ["The encoder’s square is now nearly its own mirror image, which means that position ", element("i", {}, "i"), " attends to position ", element("i", {}, "j"), " about as much as position ", element("i", {}, "j"), " attends to position ", element("i", {}, "i"), ". The decoder’s square is less symmetric. ", b("Now fold the squares along the diagonal, and then switch to rotary position embeddings.")]
                : kind === "rotary" ? [
                  ...(fold.value ? folding : ["With rotary position embeddings, ", W(), " is the same at every position, so we cannot show how positions attend to each other. Instead, we show a part of ", W(), " itself. "]),
                  ...(higher("decoder") ? ["At this step, the ", b("decoder has the higher symmetry score"), "."] : ["At this step, the decoder does not have the higher symmetry score."]),
                ]
                  : fold.value ? [...folding, higher("encoder") ? "Less is left of the encoder’s square than of the decoder’s square." : "At this step, the encoder does not have the higher symmetry score."]
                    : ["The squares show a part of ", W(), " itself, which acts on characters and positions together. It is hard to see by eye whether this part is symmetric. ", b("Fold the squares along the diagonal to see it.")]
    ));
  };

  const title = element("p", { class: "front-title" });
  const draw = () => {
    title.replaceChildren(...(ofPositions()
      ? ["How much position ", element("i", {}, "i"), " attends to position ", element("i", {}, "j"), ", during the training of two small models"]
      : ["A part of ", W(), ", during the training of two small models"]));
    whole.node.classList.toggle("ia-off", kind === "rotary");
    whole.node.querySelector("input").disabled = kind === "rotary";
    Object.values(panels).forEach((panel) => panel.draw());
    rings.forEach((move) => move());
    tell();
  };
  const slider = attngeo.slider("Training step", { min: 0, max: last, say: (frame) => data.steps[frame].toLocaleString("en"), play: 135 }, () => {
    cell = null;
    draw();
  });
  const positions = attngeo.segments("Positions", kinds, (chosen) => {
    [kind, cell] = [chosen, null];
    draw();
  });
  const whole = attngeo.toggle("Show a part of Wqk itself", () => {
    cell = null;
    draw();
  });
  whole.node.querySelector("label").replaceChildren("Show a part of ", W(), " itself");
  const fold = attngeo.toggle("Fold along the diagonal", (on) => {
    const [from, to, start] = [folded, Number(on), performance.now()];
    const paint = () => Object.values(panels).forEach((panel) => panel.paint());
    const move = (now) => {
      const t = attngeo.calm() ? 1 : Math.max(0, Math.min(1, (now - start) / 450));
      folded = from + (to - from) * t * t * (3 - 2 * t);
      paint();
      if (t < 1 && fold.value === on) requestAnimationFrame(move);
    };
    move(start + (attngeo.calm() ? 450 : 0));
    draw();
  });

  stage.classList.add("front-figure");
  stage.append(
    title,
    attngeo.controls(positions, slider, fold, whole),
    element(
      "div", { class: "front-panels" }, ...Object.values(panels).map((panel) => panel.node),
      line,
      element("div", { class: "front-chart" }, element("p", { class: "front-head" }, element("b", {}, "Ten such pairs, after training")), chart.node, element("p", { class: "front-note" }, "Each thin line connects the two scores of an encoder or a decoder for one seed, and thick lines are means. Rings mark the two models whose squares are shown.")),
    ),
  );
  draw();

  // It plays once when it is first seen, unless the reader has asked for less motion: then it shows the end.
  if (attngeo.calm()) slider.set(last);
  else {
    const once = new IntersectionObserver((seen) => {
      if (!seen.some((one) => one.isIntersecting)) return;
      once.disconnect();
      setTimeout(() => { if (slider.value === 0) slider.node.querySelector(".ia-play").click(); }, 900);
    }, { threshold: 0.4 });
    once.observe(panels.encoder.node);
  }
});
