// Makes a page ready to print. Proofs are open on paper, checks stay lines. Links lead to other places of the PDF. What
// is wide shrinks.
const done = arguments[0], all = (selector) => [...document.querySelectorAll(selector)];
document.documentElement.dataset.theme = "light";
all("details:not(.check)").forEach((fold) => { fold.open = true; });
for (const image of document.images) image.loading = "eager";
all(".headerlink").forEach((link) => link.remove());
all("th button").forEach((button) => button.replaceWith(...button.childNodes));
for (const link of all("a[href]")) {
  const [path, place] = link.getAttribute("href").split("#");
  if (!path || /^[a-z]+:/.test(path)) continue;
  const name = path.replace(/.*\/|\.html$/g, "");
  const page = document.querySelector(`[id="document-${name}"], [id^="document-"][id$="/${name}"]`);
  const target = (place && document.getElementById(place)) || page;
  if (target) link.setAttribute("href", `#${target.id}`);
  else link.removeAttribute("href");
}
const typeset = window.MathJax?.startup?.promise ?? Promise.reject(new Error("MathJax did not start"));
typeset.then(() => Promise.all([...document.images].map((image) => image.decode()))).then(() => {
  for (const wide of all("table.table, mjx-container[display]")) {
    const room = wide.parentElement.clientWidth;
    if (room && wide.scrollWidth > room) wide.style.zoom = room / wide.scrollWidth;
  }
  done(all(".math:not(:has(mjx-container)), mjx-merror").map((formula) => formula.textContent));
}).catch((error) => done([String(error)]));
