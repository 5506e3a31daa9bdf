// A card with the theorem, figure, equation or reference that a link leads to: on hover, on focus, and on the first tap.
// The second tap follows the link. Escape closes the card. Formulas that are a symbol of the page Notation have a card, too.
// Targets on other pages are in cards_data.js, and symbols in symbols_data.js (_ext/cards.py).
(() => {
  "use strict";
  const TARGETS = ".proof, figure, div.math, div.citation";
  const DELAY = 150; // milliseconds
  const root = document.documentElement.dataset.content_root ?? "./";
  const card = document.createElement("div");
  let wantedFor = null; // the link whose card is shown or being made
  let shownFor = null;
  let timer = 0;
  const loaded = {};
  const symbols = new Map(); // elements of formulas, and what their symbols mean (HTML)

  // What a script of data hands to its function.
  function data(file, name) {
    loaded[file] ??= new Promise((done) => {
      window[name] = done;
      const script = document.createElement("script");
      script.src = `${root}_static/${file}`;
      script.onerror = () => done({});
      document.head.append(script);
    });
    return loaded[file];
  }

  function fromData(html) {
    const holder = document.createElement("template");
    holder.innerHTML = html.replaceAll("ROOT/", root);
    return copied(holder.content.firstElementChild);
  }

  // What a card shows of an element: no marks for links, and of an interactive figure the static one.
  function copied(target) {
    const copy = target.cloneNode(true);
    copy.querySelectorAll(".interactive, .headerlink, button").forEach((part) => part.remove());
    [copy, ...copy.querySelectorAll("[id]")].forEach((part) => part.removeAttribute("id"));
    copy.classList.remove("ia-live");
    return copy;
  }

  async function content(link) {
    if (symbols.has(link)) return fromData(symbols.get(link));
    const url = new URL(link.href);
    const name = decodeURIComponent(url.hash.slice(1));
    if (url.pathname === location.pathname) {
      const target = document.getElementById(name);
      return target?.matches(TARGETS) ? copied(target) : null;
    }
    if (url.protocol !== location.protocol || url.host !== location.host) return null; // a link out of a single page
    const cards = await data("cards_data.js", "attngeoCards");
    const key = Object.keys(cards).find((end) => `${url.pathname}#${name}`.endsWith(`/${end}`));
    return key ? fromData(cards[key]) : null;
  }

  function place(link) {
    const at = link.getBoundingClientRect();
    const room = document.documentElement.clientWidth - card.offsetWidth - 8;
    const above = at.bottom + card.offsetHeight > window.innerHeight && at.top > card.offsetHeight;
    card.style.left = `${Math.max(8, Math.min(at.left, room)) + window.scrollX}px`;
    card.style.top = `${(above ? at.top - card.offsetHeight - 4 : at.bottom + 4) + window.scrollY}px`;
  }

  async function show(link) {
    hide();
    wantedFor = link;
    const shown = await content(link);
    if (!shown || wantedFor !== link) return;
    shownFor = link;
    card.replaceChildren(shown);
    card.hidden = false;
    link.setAttribute("aria-describedby", card.id);
    link.removeAttribute("title"); // the browser would show a second card
    place(link);
    const raw = [shown, ...shown.querySelectorAll("*")].some((e) => e.matches(".math") && !e.querySelector("mjx-container"));
    if (raw) await window.MathJax?.typesetPromise?.([card]);
    if (shownFor === link) place(link);
  }

  function hide() {
    clearTimeout(timer);
    card.hidden = true;
    shownFor?.removeAttribute("aria-describedby");
    shownFor = null;
    wantedFor = null;
  }

  function listen(link) {
    let tapped = false;
    link.addEventListener("pointerdown", (event) => { tapped = event.pointerType === "touch"; });
    link.addEventListener("pointerenter", (event) => { if (event.pointerType !== "touch") later(() => show(link)); });
    link.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") later(hide); });
    link.addEventListener("focus", () => { if (!tapped) show(link); });
    link.addEventListener("blur", () => later(hide));
    link.addEventListener("click", async (event) => {
      if (!tapped || shownFor === link) return;
      event.preventDefault();
      await show(link);
      if (shownFor !== link && link.href) location.href = link.href; // there is no card for this link
    });
  }

  const later = (change) => { clearTimeout(timer); timer = setTimeout(change, DELAY); };

  document.addEventListener("DOMContentLoaded", () => {
    card.id = "attngeo-card";
    card.className = "link-card";
    card.setAttribute("role", "tooltip");
    card.hidden = true;
    card.addEventListener("mouseenter", () => clearTimeout(timer)); // the pointer may move onto the card
    card.addEventListener("mouseleave", () => later(hide));
    document.body.append(card);
    document.querySelectorAll(".bd-article a.reference.internal[href*='#']").forEach(listen);
  });
  // The first of each symbol on a page can be reached by keyboard; all of them are alike.
  window.addEventListener("load", async () => {
    if (!document.querySelector('link[rel="search"]') || !window.MathJax?.startup) return; // a single page has no data
    const meanings = await data("symbols_data.js", "attngeoSymbols");
    await MathJax.startup.promise;
    const met = new Set();
    for (const formula of MathJax.startup.document.math) {
      const node = formula.typesetRoot?.closest(".bd-article span.math:not(a *)");
      if (!node || !Object.hasOwn(meanings, formula.math)) continue;
      symbols.set(node, meanings[formula.math]);
      node.classList.add("symbol");
      if (!met.has(formula.math)) node.tabIndex = 0;
      met.add(formula.math);
      listen(node);
    }
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  document.addEventListener("pointerdown", (event) => {
    if (shownFor && !card.contains(event.target) && !shownFor.contains(event.target)) hide();
  });
})();
