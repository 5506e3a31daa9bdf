/* Long tables can be searched and sorted. Without scripts they stand as they are. */
(() => {
  "use strict";
  const LONG = 30; // body rows from which a table gets tools
  const { element } = attngeo; // interactive.js comes first on every page

  const number = (text) => {
    const found = text.replace(/[\u2212\u2013]/g, "-").match(/^\s*[-+]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?/i);
    return found ? parseFloat(found[0].replace(/,/g, "")) : NaN;
  };

  const rowsOf = (table) => Array.from(table.tBodies[0].rows);
  const headings = (table) => Array.from(table.tHead.rows[0].cells);

  const frame = (table) => table.closest(".pst-scrollable-table-container") || table;

  function searchable(table) {
    const status = element("span", { role: "status", class: "table-count" });
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
    };
    box.addEventListener("input", filter);
    const place = frame(table);
    place.classList.add("table-long");
    place.before(element("div", { class: "table-tools" }, element("label", {}, "Search ", box), " ", status));
    filter();
  }

  function sortable(table) {
    headings(table).forEach((heading, column) => {
      const button = element("button", { type: "button", class: "table-sort" });
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

  function start() {
    document.querySelectorAll(".bd-article table.table").forEach((table) => {
      if (!table.tHead || !table.tBodies.length || table.tBodies[0].rows.length < LONG) return;
      searchable(table);
      sortable(table);
    });
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
