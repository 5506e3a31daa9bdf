/* Long tables can be searched and sorted; the table of released results also becomes a scatter plot.
   Without scripts the page is complete: the tables stand as they are, and the figures beside them show the points. */
(() => {
  "use strict";
  const LONG = 30; // body rows from which a table gets tools
  const { element, drawn } = attngeo; // interactive.js comes first on every page
  const SCATTER = "tab-released-results";
  const COLOURS = { encoder: "#0072B2", decoder: "#D55E00" };

  const number = (text) => {
    const found = text.replace(/[\u2212\u2013]/g, "-").match(/^\s*[-+]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?/i);
    return found ? parseFloat(found[0].replace(/,/g, "")) : NaN;
  };

  const rowsOf = (table) => Array.from(table.tBodies[0].rows);
  const headings = (table) => Array.from(table.tHead.rows[0].cells);

  const frame = (table) => table.closest(".pst-scrollable-table-container") || table;

  function searchable(table, changed) {
    const status = element("span", { role: "status", class: "survey-count" });
    const box = element("input", { type: "search", placeholder: "words to look for", "aria-label": "Search this table" });
    const filter = () => {
      const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rowsOf(table).forEach((row) => {
        const text = row.textContent.replace(/\u00a0/g, " ").toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      });
      status.textContent = `${shown} of ${rowsOf(table).length} rows`;
      changed();
    };
    box.addEventListener("input", filter);
    const place = frame(table);
    place.classList.add("survey-long");
    place.before(element("div", { class: "survey-tools" }, element("label", {}, "Search ", box), " ", status));
    filter();
  }

  function sortable(table) {
    headings(table).forEach((heading, column) => {
      const button = element("button", { type: "button", class: "survey-sort" });
      button.append(...heading.childNodes);
      heading.append(button);
      heading.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const up = heading.getAttribute("aria-sort") !== "ascending";
        headings(table).forEach((other) => other.setAttribute("aria-sort", "none"));
        heading.setAttribute("aria-sort", up ? "ascending" : "descending");
        const key = (row) => row.cells[column].textContent.trim();
        const compare = (a, b) => {
          const [x, y] = [number(key(a)), number(key(b))];
          if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1; // words and dashes last
          return (up ? 1 : -1) * (Number.isNaN(x) ? key(a).localeCompare(key(b), "en", { numeric: true }) : x - y);
        };
        table.tBodies[0].append(...rowsOf(table).sort(compare));
      });
    });
  }

  /* Points from the visible rows. Tab reaches the plot, arrow keys go from point to point. */
  function scatter(table) {
    const names = headings(table).map((cell) => cell.textContent.trim());
    const column = (name) => names.indexOf(name);
    if (["model", "figure", "drawn as", "parameters", "s", "d", "counts", "known against it"].some((n) => column(n) < 0)) return () => {};
    const figures = [...new Set(rowsOf(table).map((row) => row.cells[column("figure")].textContent.trim()))];
    const option = (value, text) => element("option", { value }, text);
    const figure = element("select", {}, ...figures.map((f) => option(f, `Figure ${f}`)));
    const score = element("select", {}, option("s", "symmetry s"), option("d", "directionality d"));
    const said = element("p", { class: "survey-said", "aria-live": "polite" }, "Point at a dot, or use the arrow keys.");
    const [width, height, left, bottom, top, right] = [720, 340, 52, 42, 12, 28];
    const plot = drawn("svg", {
      viewBox: `0 0 ${width} ${height}`, class: "survey-plot", role: "application", tabindex: "0",
      "aria-label": "Scatter plot of a score against parameters. Arrow keys go through the models; the table below has the numbers.",
    });
    let points = [];
    let at = -1;

    const tell = (index) => {
      points.forEach((point) => point.mark.classList.remove("survey-at"));
      at = index;
      if (at < 0) return;
      points[at].mark.classList.add("survey-at");
      said.textContent = points[at].words;
    };

    const draw = () => {
      plot.replaceChildren();
      const shown = rowsOf(table).filter((row) => !row.hidden).map((row) => {
        const text = (name) => row.cells[column(name)].textContent.trim();
        return {
          figure: text("figure"), kind: text("drawn as"), x: number(text("parameters")), y: number(text(score.value)),
          counts: text("counts") === "yes", flaw: text("known against it"), name: text("model"), s: text("s"), d: text("d"),
        };
      }).filter((p) => p.figure === figure.value && p.x > 0 && Math.abs(p.y) <= 1).sort((a, b) => a.x - b.x);
      const logs = shown.map((p) => Math.log10(p.x));
      const [low, high] = [Math.floor(Math.min(...logs, 7) * 2) / 2, Math.ceil(Math.max(...logs, 8) * 2) / 2];
      const x = (value) => left + ((Math.log10(value) - low) / (high - low)) * (width - left - right);
      const y = (value) => top + ((1 - value) / 2) * (height - top - bottom);
      [-1, -0.5, 0, 0.5, 1].forEach((value) => {
        plot.append(drawn("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: value ? "survey-grid" : "survey-zero" }));
        plot.append(drawn("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, String(value).replace("-", "\u2212")));
      });
      for (let power = Math.ceil(low); power <= high; power += 1) {
        const units = { 6: "1M", 7: "10M", 8: "100M", 9: "1B", 10: "10B", 11: "100B", 12: "1000B" };
        plot.append(drawn("text", { x: x(10 ** power), y: height - bottom + 18, "text-anchor": "middle" }, units[power] || `1e${power}`));
      }
      plot.append(drawn("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, "parameters"));
      points = shown.map((p, index) => {
        const words = `${p.name} (${p.kind}): s ${p.s}, d ${p.d}${p.flaw ? `; ${p.flaw}` : ""}`;
        const fill = p.counts ? COLOURS[p.kind] : "#ffffff";
        const mark = drawn("circle", { cx: x(p.x), cy: y(p.y), r: 5, fill, stroke: COLOURS[p.kind], "pointer-events": "all" });
        mark.append(drawn("title", {}, words));
        mark.addEventListener("mouseenter", () => tell(index));
        plot.append(mark);
        return { mark, words };
      });
      tell(-1);
      said.textContent = `${points.length} models; hollow ones do not count. Point at a dot, or use the arrow keys.`;
    };

    plot.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (!step || !points.length) return;
      event.preventDefault();
      tell(at < 0 ? (step > 0 ? 0 : points.length - 1) : (at + step + points.length) % points.length);
    });
    [figure, score].forEach((choice) => choice.addEventListener("change", draw));
    const place = frame(table);
    place.before(element(
      "div", { class: "survey-scatter" },
      element("div", { class: "survey-tools" }, element("label", {}, "Show ", figure), " ", element("label", {}, "score ", score)),
      plot, said,
    ));
    return draw;
  }

  function start() {
    document.querySelectorAll(".bd-article table.table").forEach((table) => {
      if (!table.tHead || !table.tBodies.length || table.tBodies[0].rows.length < LONG) return;
      const redraw = table.id === SCATTER ? scatter(table) : () => {};
      searchable(table, redraw);
      sortable(table);
    });
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
