/* Long tables can be searched and sorted. Without scripts they stand as they are. */
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const LONG = 30; // body rows from which a table gets tools
  const { element } = attngeo; // interactive.js comes first on every page

  const number = (text) => {
    const found = text.replace(/[\u2212\u2013]/g, "-").match(/^\s*[-+]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?/i);
    return found ? parseFloat(found[0].replace(/,/g, "")) : NaN;
  };

  function searchable(table, rows) {
    const status = element("span", { role: "status", class: "table-count" });
    const box = element("input", { type: "search", placeholder: "words to look for", "aria-label": "Search this table" });
    const filter = () => {
      const words = box.value.toLowerCase().split(/\s+/);
      rows.forEach((row) => {
        const text = row.textContent.replace(/\u00a0/g, " ").toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      });
      status.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
    };
    box.addEventListener("input", filter);
    const place = table.closest(".pst-scrollable-table-container") || table;
    place.classList.add("table-long");
    place.before(element("div", { class: "table-tools" }, element("label", {}, "Search ", box), " ", status));
    filter();
  }

  function sortable(table, rows) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      const button = element("button", { type: "button", class: "table-sort" }, ...heading.childNodes);
      heading.append(button);
      heading.ariaSort = "none";
      button.addEventListener("click", () => {
        const up = heading.ariaSort !== "ascending";
        headings.forEach((other) => { other.ariaSort = "none"; });
        heading.ariaSort = up ? "ascending" : "descending";
        const key = (row) => row.cells[column].textContent.trim();
        rows.sort((a, b) => {
          const [x, y] = [number(key(a)), number(key(b))];
          if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1; // words and dashes last
          return (up ? 1 : -1) * (Number.isNaN(x) ? key(a).localeCompare(key(b), "en", { numeric: true }) : x - y);
        });
        table.tBodies[0].append(...rows);
      });
    });
  }

  document.querySelectorAll(".bd-article table.table").forEach((table) => {
    const rows = [...(table.tBodies[0]?.rows ?? [])];
    if (!table.tHead || rows.length < LONG) return;
    searchable(table, rows);
    sortable(table, rows);
  });
});
