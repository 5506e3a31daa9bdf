/* What the theme leaves out for keyboards, screen readers and the search. */
(() => {
  "use strict";

  // Whatever scrolls by itself can be reached by keyboard; nothing else becomes a tab stop.
  const SCROLLERS = "div.math, mjx-container[display], figure, .pst-scrollable-table-container, pre";

  function reach() {
    for (const box of document.querySelectorAll(`.bd-article :is(${SCROLLERS})`)) {
      const style = getComputedStyle(box).overflowX;
      if (box.scrollWidth > box.clientWidth + 1 && (style === "auto" || style === "scroll")) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  }

  // The list of pages beside the text holds the book's name and the search field besides navigation.
  function landmark() {
    const side = document.querySelector(".bd-sidebar-primary");
    if (!side || side.hasAttribute("role")) return;
    side.setAttribute("role", "region");
    side.setAttribute("aria-label", "Book");
  }

  // A badge explains itself on hover (custom.css), and by keyboard where no fold around it has the focus.
  function explained() {
    document.querySelectorAll(".verdict[data-means]").forEach((badge) => {
      if (!badge.closest("summary, a")) badge.tabIndex = 0;
    });
  }

  // Names of buttons and folds begin with the words that are seen on them.
  function names() {
    document.querySelectorAll(".theme-switch-button :is(i, svg)").forEach((icon) => {
      ["title", "role", "aria-labelledby"].forEach((attribute) => icon.removeAttribute(attribute));
      icon.setAttribute("aria-hidden", "true");
      icon.querySelector("title")?.remove();
    });
    document.querySelectorAll("summary[aria-label], .search-button-field[aria-label]")
      .forEach((named) => named.removeAttribute("aria-label"));
  }

  // TeX as somebody would type it into a message: \(W_{qk} = W_q W_k^{\top}\) becomes W_qk = W_q W_k^T.
  function plain(tex) {
    const words = { top: "T", T: "^T", Wqk: "W_qk", Wq: "W_q", Wk: "W_k", sum: "Σ", cdot: "·", times: "×", le: "≤", ge: "≥",
      to: "→", in: "∈", approx: "≈", infty: "∞", mu: "μ", sigma: "σ", gamma: "γ", beta: "β", delta: "δ", Delta: "Δ", pm: "±",
      alpha: "α", rho: "ρ", lambda: "λ", eta: "η", theta: "θ", pi: "π", R: "ℝ", E: "𝔼" };
    return tex
      .replace(/\\[()[\]]/g, " ")
      .replace(/\\(begin|end|label|tag)\{[^}]*\}/g, " ")
      .replace(/\\d?frac\{([^{}]*)\}\{([^{}]*)\}/g, "($1)/($2)")
      .replace(/\\(left|right|big|Big|quad|qquad|mathrm|mathbf|mathbb|mathcal|text|operatorname|bar|hat|tilde|displaystyle)\b/g, "")
      .replace(/\\([A-Za-z]+)/g, (_, name) => words[name] ?? name)
      .replace(/\\./g, " ")
      .replace(/[{}&$]/g, "")
      .replace(/\s+/g, " ");
  }

  function snippets() {
    if (typeof Search === "undefined" || !Search.htmlToText) return;
    Search.htmlToText = (text, anchor) => {
      const page = new DOMParser().parseFromString(text, "text/html");
      const whole = page.querySelector("article") ?? page.querySelector('[role="main"]');
      const main = (anchor && whole?.querySelector(anchor)) || whole;
      if (!main) return "";
      main.querySelectorAll("script, style, .headerlink, svg, .page-files, button").forEach((e) => e.remove());
      main.querySelectorAll(".math").forEach((e) => { e.textContent = plain(e.textContent); });
      main.querySelectorAll("td, th, p, li, h1, h2, h3, div, summary, br, dt, dd").forEach((e) => { e.append(" "); });
      return main.textContent.replace(/\s+/g, " ");
    };
  }

  // The front page is as wide as the window. On a wide screen the theme hides the list of pages by this class, and its
  // button brings the list back.
  function widen() {
    if (document.querySelector(".front-findings")) document.querySelector(".bd-sidebar-primary")?.classList.add("pst-sidebar-hidden");
  }

  document.addEventListener("DOMContentLoaded", () => {
    snippets();
    landmark();
    explained();
    widen();
    // with a new width of the window, but also when the list of pages is hidden or a fold is opened
    const resized = new ResizeObserver(soon);
    document.querySelectorAll(".bd-article").forEach((article) => resized.observe(article));
  });
  window.addEventListener("load", () => {
    names();
    // the theme puts drawings in place of its icons when it gets round to it
    const again = new MutationObserver(names);
    document.querySelectorAll(".theme-switch-button").forEach((b) => again.observe(b, { childList: true, subtree: true }));
    (window.MathJax?.startup?.promise ?? Promise.resolve()).then(reach);
  });
  // Many folds that open at once are measured once.
  let asked = 0;
  const soon = () => {
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(reach);
  };
  document.fonts.addEventListener("loadingdone", soon); // equations take their width from fonts that come late
})();
