/* What the interactives of this book share. Each is one file, interactives/NAME.js:

     attngeo.interactive("NAME", (stage, data) => { ... });

   `stage` is an empty element in the place of the figure's still, `data` what the page was built with. A script that
   fails leaves the still where it was. Everything works from a file, without a network, by keyboard, in both themes.
   Nothing moves by itself, except that the figure of the front page plays once. The axes are SVG and take their colours from interactive.css; only heat maps are canvases. */
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const registered = new Map();
  const redraws = [];
  let made = 0; // controls, for their ids

  const dress = (node, attributes, children) => {
    Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
    node.append(...children);
    return node;
  };
  /** An HTML element: name, attributes, children (nodes or text). */
  const element = (name, attributes = {}, ...children) => dress(document.createElement(name), attributes, children);
  /** An SVG element. */
  const drawn = (name, attributes = {}, ...children) => dress(document.createElementNS(SVG, name), attributes, children);

  /** A number with as many decimals as said, and a minus sign that is one. */
  const number = (value, decimals = 2) => {
    const text = Number.isFinite(value) ? value.toFixed(decimals) : "–";
    return (/^-0\.?0*$/.test(text) ? text.slice(1) : text).replace("-", "\u2212");
  };
  /** What `livingpaper.display.interactive.packed` wrote: Int8Array. */
  const levels = (text) => Int8Array.from(atob(text), (character) => character.charCodeAt(0));

  const calm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  /** A colour of interactive.css, by its name there without --ia-: [red, green, blue]. */
  const colour = (name) => {
    const probe = document.querySelector(".interactive") || document.body;
    const hex = getComputedStyle(probe).getPropertyValue(`--ia-${name}`).trim().slice(1);
    return [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16));
  };
  /** Called now and whenever the page turns light or dark: for what cannot take its colours from the style sheet. */
  const themed = (redraw) => {
    redraws.push(redraw);
    redraw();
  };

  // Controls. All are native elements: keyboard, focus and names come with them. Each returns {node, value, set}.

  const labelled = (kind, label, control, ...rest) => {
    control.id = `ia-${(made += 1)}`;
    return element("div", { class: `ia-control ia-${kind}` }, element("label", { for: control.id }, label), control, ...rest);
  };

  /** A slider. `say` words a value, for eyes and for screen readers; with `play` a button runs through it, a step in that
      many milliseconds. */
  const slider = (label, { min, max, step = 1, value = min, say = String, play = 0 }, changed) => {
    const range = element("input", { type: "range", min, max, step });
    const shown = element("output");
    const word = () => {
      shown.textContent = say(Number(range.value));
      range.setAttribute("aria-valuetext", shown.textContent);
    };
    /** Shows a value, and the limits that may have changed, without acting on it. */
    const show = (to, most = range.max) => {
      range.max = most;
      range.value = to; // the range keeps it within its limits
      word();
    };
    const set = (to) => {
      show(to);
      changed(Number(range.value));
    };
    range.addEventListener("input", () => set(range.value));
    const node = labelled("slider", label, range, shown);
    const control = { node, set, show, get value() { return Number(range.value); }, get max() { return Number(range.max); } };
    if (play) node.prepend(player(control, label, { min, step, play }));
    show(value);
    return control;
  };

  /** Play and pause. A reader who asked for less motion gets a button that takes one step. */
  const player = (control, label, { min, step, play }) => {
    const node = element("button", { type: "button", class: "ia-play" });
    let timer = null;
    const word = () => {
      const text = timer ? "Pause" : calm() ? "Next" : "Play";
      node.textContent = text;
      node.setAttribute("aria-label", `${text}: ${label}`);
    };
    const stop = () => {
      clearInterval(timer);
      timer = null;
      word();
    };
    const advance = () => {
      control.set(control.value + step);
      if (control.value >= control.max) stop();
    };
    node.addEventListener("click", () => {
      if (timer) return stop();
      if (control.value >= control.max) control.set(min);
      if (calm()) return advance();
      timer = setInterval(advance, play);
      word();
    });
    control.node.addEventListener("input", stop);
    word();
    return node;
  };

  /** One of several: {value: words}. */
  const choice = (label, options, changed, value = Object.keys(options)[0]) => {
    const list = element("select", {}, ...Object.entries(options).map(([key, words]) => element("option", { value: key }, words)));
    const set = (to) => {
      list.value = to;
      changed(list.value);
    };
    list.value = value;
    list.addEventListener("change", () => changed(list.value));
    return { node: labelled("choice", label, list), set, get value() { return list.value; } };
  };

  /** One of a few, all of which stay in sight: {value: words}. */
  const segments = (label, options, changed, value = Object.keys(options)[0]) => {
    const name = `ia-${(made += 1)}`;
    const buttons = Object.entries(options).map(([key, words]) => {
      const radio = element("input", { type: "radio", name, value: key });
      radio.checked = key === value;
      radio.addEventListener("change", () => changed(key));
      return { radio, node: element("label", {}, radio, element("span", {}, words)) };
    });
    const node = element(
      "div", { class: "ia-control ia-segments", role: "radiogroup", "aria-label": label },
      element("span", { "aria-hidden": "true" }, label), element("div", {}, ...buttons.map((of) => of.node)),
    );
    const set = (to) => {
      buttons.forEach(({ radio }) => { radio.checked = radio.value === to; });
      changed(to);
    };
    return { node, set, get value() { return buttons.find(({ radio }) => radio.checked).radio.value; } };
  };

  /** Yes or no. */
  const toggle = (label, changed, value = false) => {
    const box = element("input", { type: "checkbox" });
    const set = (to) => {
      box.checked = to;
      changed(box.checked);
    };
    box.checked = value;
    box.addEventListener("change", () => changed(box.checked));
    return { node: labelled("toggle", label, box), set, get value() { return box.checked; } };
  };

  /** A button. */
  const button = (label, pressed) => {
    const node = element("button", { type: "button", class: "ia-button" }, label);
    node.addEventListener("click", pressed);
    return { node };
  };

  /** A sentence that says the state in words; screen readers hear it when it changes. */
  const said = () => element("p", { class: "ia-said", "aria-live": "polite" });

  const nodes = (parts) => parts.map((part) => part.node ?? part);
  /** A row of controls. */
  const controls = (...parts) => element("div", { class: "ia-controls" }, ...nodes(parts));
  /** Pictures side by side where there is room. */
  const panels = (...parts) => element("div", { class: "ia-panels" }, ...nodes(parts));
  /** A picture below its title, which is text or nodes. */
  const panel = (title, ...parts) => element("div", {}, element("p", { class: "ia-title" }, ...[title].flat()), ...nodes(parts));

  // Square matrices, row by row.

  const mirrored = (m, side) => m.map((_, k) => m[(k % side) * side + Math.floor(k / side)]);
  const inner = (a, b) => a.reduce((total, value, k) => total + value * b[k], 0);
  /** The symmetry score s; NaN of a matrix that is zero. */
  const symmetry = (m, side) => inner(m, mirrored(m, side)) / inner(m, m);
  /** [m_ij, m_ji] of levels above the diagonal, in [-1, 1]. */
  const pairs = (m, side) => [...m.keys()].filter((k) => k % side > Math.floor(k / side))
    .map((k) => [m[k] / 127, m[(k % side) * side + Math.floor(k / side)] / 127]);

  // Pictures.

  /** What a value is painted in, [red, green, blue]: `full` is the magnitude shown at full strength. Without a tone, blue
      is below zero and red above; with "encoder" or "decoder", grey is below zero and the colour of that model above, and
      small values are lifted, so that they can be seen beside large ones. */
  const shades = (tone) => {
    const [zero, low, high] = ["zero", tone ? "below" : "low", tone || "high"].map(colour);
    return (value, full) => {
      const share = Math.min(1, Math.abs(value) / full);
      const t = tone ? share ** 0.85 : share;
      const end = value < 0 ? low : high;
      return zero.map((from, c) => from + t * (end[c] - from));
    };
  };

  /** A square matrix as coloured pixels, in the `shades` of a tone. */
  const heatmap = (label, tone = null) => {
    const node = element("canvas", { class: "ia-heatmap", role: "img", "aria-label": label });
    let shown = null;
    const paint = () => {
      if (!shown) return;
      const { values, side, full } = shown;
      node.width = node.height = side;
      const context = node.getContext("2d");
      const image = context.createImageData(side, side);
      const shade = shades(tone);
      values.forEach((value, i) => image.data.set([...shade(value, full), 255], 4 * i));
      context.putImageData(image, 0, 0);
    };
    themed(paint);
    /** `values` row by row; `full` is the magnitude shown at full strength. */
    const draw = (values, side, full = 1) => {
      shown = { values, side, full };
      paint();
    };
    return { node, draw };
  };

  /** A bar with the `shades` of a tone, from the words for what lies below zero to those for what lies above. */
  const key = (tone, below, above) => {
    const bar = element("i");
    themed(() => {
      const shade = shades(tone);
      const stops = [-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1].map((value) => `rgb(${shade(value, 1).map(Math.round)})`);
      bar.style.background = `linear-gradient(90deg, ${stops})`;
    });
    const words = [below, above].map((text) => element("span", {}, text));
    /** Other words for the same shades. */
    const say = (...texts) => words.forEach((word, k) => { word.textContent = texts[k]; });
    return { node: element("p", { class: "ia-shades" }, words[0], bar, words[1]), say };
  };

  /** A table of numbers as coloured cells, with words for its rows and columns: colours as `heatmap`'s, crossed out where
      a value is null. With `pressed(k)` it is worked too: arrow keys move between the cells, space presses one. */
  const cells = (label, rows, columns, pressed = null) => {
    const role = (name) => (pressed ? { role: name } : {});
    const cell = (at) => element(...(pressed ? ["button", { type: "button", class: "ia-cell", role: "gridcell", tabindex: at ? -1 : 0 }] : ["span", { class: "ia-cell" }]));
    const all = rows.flatMap((_, i) => columns.map((_, j) => cell(i + j)));
    const node = element(
      "div", { class: "ia-cells", role: pressed ? "grid" : "img", "aria-label": label, style: `--columns: ${columns.length}` },
      element("div", role("row"), element("span", role("columnheader"), pressed ? "i, j" : ""), ...columns.map((words) => element("span", role("columnheader"), words))),
      ...rows.map((words, i) => element("div", role("row"), element("span", role("rowheader"), words), ...all.slice(i * columns.length, (i + 1) * columns.length))),
    );
    if (pressed) {
      all.forEach((one, k) => one.addEventListener("click", () => pressed(k)));
      const far = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns.length, ArrowDown: columns.length };
      node.addEventListener("keydown", (event) => {
        const [from, to] = [all.indexOf(event.target), all[all.indexOf(event.target) + far[event.key]]];
        if (!to) return;
        event.preventDefault();
        [all[from].tabIndex, to.tabIndex] = [-1, 0];
        to.focus();
      });
    }
    /** `values` row by row; `full` is the magnitude shown at full strength; `dress(cell, k)` for what is not colour. */
    const draw = (values, full = 1, dressed = () => {}) => all.forEach((one, k) => {
      one.classList.toggle("below", values[k] < 0);
      one.classList.toggle("none", values[k] === null);
      one.style.setProperty("--strength", `${Math.min(100, (100 * Math.abs(values[k])) / full)}%`);
      dressed(one, k);
    });
    return { node, draw };
  };

  /** Axes, and what is drawn between them.

      x and y: {from, to, label, ticks: [values], say: value => text, log: true}. Marks are made once by `line`, `dots`,
      `bars` or `text` with a class of interactive.css, and moved by calling what these return. */
  const chart = ({ width = 320, height = 220, x, y, label, margin = {} }) => {
    const m = { left: 46, right: 10, top: 10, bottom: 40, ...margin };
    const node = drawn("svg", { viewBox: `0 0 ${width} ${height}`, class: "ia-chart", role: "img", "aria-label": label });
    const scale = (axis, from, to) => {
      const of = axis.log ? Math.log : (value) => value;
      return (value) => from + ((of(value) - of(axis.from)) / (of(axis.to) - of(axis.from))) * (to - from);
    };
    const [across, up] = [scale(x, m.left, width - m.right), scale(y, height - m.bottom, m.top)];
    const grid = drawn("g", { class: "ia-axes", "aria-hidden": "true" });
    const say = (axis) => axis.say || ((value) => String(value).replace("-", "\u2212"));
    (x.ticks || []).forEach((value) => grid.append(
      drawn("line", { x1: across(value), x2: across(value), y1: m.top, y2: height - m.bottom, class: value ? "" : "ia-zero" }),
      drawn("text", { x: across(value), y: height - m.bottom + 15, "text-anchor": "middle" }, say(x)(value)),
    ));
    (y.ticks || []).forEach((value) => grid.append(
      drawn("line", { x1: m.left, x2: width - m.right, y1: up(value), y2: up(value), class: value ? "" : "ia-zero" }),
      drawn("text", { x: m.left - 6, y: up(value) + 4, "text-anchor": "end" }, say(y)(value)),
    ));
    const middle = (m.top + height - m.bottom) / 2;
    if (x.label) grid.append(drawn("text", { x: (m.left + width - m.right) / 2, y: height - 6, "text-anchor": "middle" }, x.label));
    if (y.label) grid.append(drawn("text", { x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, y.label));
    node.append(grid);
    const at = ([a, b]) => `${across(a).toFixed(1)} ${up(b).toFixed(1)}`;
    const path = (kind, style, write) => {
      const mark = drawn("path", { class: `${kind} ${style}` });
      node.append(mark);
      return (points) => mark.setAttribute("d", write(points));
    };
    return {
      node, across, up,
      /** Points [[x, y], ...] joined. */
      line: (style) => path("ia-line", style, (points) => points.map((p, i) => `${i ? "L" : "M"}${at(p)}`).join("")),
      /** Thousands of points as one path. */
      dots: (style) => path("ia-dots", style, (points) => points.map((p) => `M${at(p)}h0`).join("")),
      /** Intervals [[low, high, y], ...], along x. */
      bars: (style) => path("ia-bars", style, (rows) => rows.map(([low, high, b]) => `M${at([low, b])}L${at([high, b])}`).join("")),
      /** Words at a point. */
      text: (style, anchor = "start") => {
        const words = drawn("text", { class: style, "text-anchor": anchor });
        node.append(words);
        return ([a, b], content) => {
          words.setAttribute("x", across(a));
          words.setAttribute("y", up(b));
          words.textContent = content;
        };
      },
    };
  };

  /** Entries of a matrix against their mirror images: `draw` takes the `pairs`. */
  const mirrorCloud = (label, style) => {
    const bare = { from: -1.04, to: 1.04, ticks: [0], say: () => "" };
    const margin = { left: 2, right: 2, top: 2, bottom: 2 };
    const cloud = chart({ width: 200, height: 200, x: bare, y: bare, margin, label });
    cloud.line("reference")([[-1, -1], [1, 1]]);
    const draw = cloud.dots(`cloud ${style}`);
    cloud.text("", "end")([1.02, -0.16], "mᵢⱼ");
    cloud.text("")([0.05, 0.9], "mⱼᵢ");
    return { node: cloud.node, draw };
  };

  // Starting them.

  function start(place) {
    const figure = document.getElementById(place.dataset.figure);
    const build = registered.get(place.dataset.interactive);
    if (!figure || !build || figure.classList.contains("ia-live")) return;
    const caption = figure.querySelector("figcaption");
    const stage = element("div", { class: "interactive", role: "group", "aria-label": "Interactive figure" });
    if (caption) {
      caption.id ||= `${figure.id}-caption`;
      stage.setAttribute("aria-describedby", caption.id);
    }
    figure.insertBefore(stage, caption);
    try {
      build(stage, JSON.parse(place.querySelector("script").textContent));
      figure.classList.add("ia-live"); // from now on the still is for print alone
    } catch (error) {
      stage.remove();
      console.error(error);
    }
  }

  const interactive = (name, build) => registered.set(name, build);

  window.attngeo = {
    interactive, element, number, levels, mirrored, inner, symmetry, pairs,
    calm, slider, choice, segments, toggle, button, said, controls, panels, panel, heatmap, key, cells, chart, mirrorCloud, themed, drawn,
  };

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-interactive]").forEach(start);
    new MutationObserver(() => redraws.forEach((redraw) => redraw()))
      .observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  });
})();
