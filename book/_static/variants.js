// The switch between the variants of a page keeps the reader's place: the element at the top of the window stays there.
(() => {
  "use strict";
  const KEY = "attngeo-place";

  function remember() {
    const marked = [...document.querySelectorAll(".bd-article [id]")].filter((e) => e.offsetParent);
    const at = marked.findLast((e) => e.getBoundingClientRect().top <= 80) ?? marked[0];
    const open = [...document.querySelectorAll(".bd-article details")].map((fold) => fold.open);
    const place = { id: at.id, top: at.getBoundingClientRect().top, open };
    if (window.scrollY > 0) sessionStorage.setItem(KEY, JSON.stringify(place));
  }

  function restore() {
    const place = JSON.parse(sessionStorage.getItem(KEY));
    sessionStorage.removeItem(KEY);
    const at = place && document.getElementById(place.id);
    if (!at) return;
    const folds = document.querySelectorAll(".bd-article details");
    if (folds.length === place.open.length) folds.forEach((fold, i) => { fold.open = place.open[i]; });
    const scroll = () => window.scrollBy({ top: at.getBoundingClientRect().top - place.top, behavior: "instant" });
    scroll();
    (window.MathJax?.startup?.promise ?? Promise.resolve()).then(scroll); // formulas have their height only now
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll(".variants a").forEach((link) => link.addEventListener("click", remember));
  });
  window.addEventListener("load", restore);
})();
