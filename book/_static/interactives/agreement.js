/* Agreement: the correlation of the two coefficients of a pair is set; the update, its mirror cloud and s follow. */
attngeo.interactive("agreement", (stage, data) => {
  "use strict";
  const { number, panel } = attngeo;
  const { side, measured } = data;
  const [beta, x] = [data.beta, data.x].map(attngeo.levels);
  const each = (of) => Float64Array.from({ length: side * side }, (_, k) => of(Math.floor(k / side), k % side));
  const product = (a, b) => each((i, j) => {
    let sum = 0;
    for (let k = 0; k < side; k += 1) sum += a[i * side + k] * b[k * side + j];
    return sum;
  });

  /* The same steps as update_at of the notebook. */
  const updated = (rho) => {
    const follows = Math.sqrt(1 - rho * rho);
    const b = each((i, j) => (i > j ? rho * beta[j * side + i] + follows * beta[i * side + j] : beta[i * side + j]));
    return product(attngeo.mirrored(x, side), product(b, x));
  };

  const matrix = attngeo.heatmap("The update");
  const axis = { from: -1, to: 1, ticks: [-1, 0, 1] };
  const sizes = { width: 260, height: 260 };
  const cloud = attngeo.chart({ ...sizes, label: "Mirror cloud of the update", x: { ...axis, label: "entry (k, m)" }, y: { ...axis, label: "entry (m, k)" } });
  cloud.line("reference")([[-1, -1], [1, 1]]);
  const points = cloud.dots("cloud");
  const chart = attngeo.chart({ ...sizes, label: "Symmetry score against the correlation", x: { ...axis, label: "correlation ρ" }, y: { ...axis, label: "score s" } });
  const expected = (rho) => (rho + 1 / side) / (1 + rho / side);
  chart.line("reference")(Array.from({ length: 41 }, (_, k) => [k / 20 - 1, expected(k / 20 - 1)]));
  for (const tilt of [-0.09, 0.09]) chart.line("decoder")([-1, 1].map((end) => [measured + 0.09 * end, expected(measured) + tilt * end]));
  chart.text("ia-decoder-text")([measured + 0.1, expected(measured) - 0.22], "random weights");
  const here = chart.dots("encoder point");
  const said = attngeo.said();

  const draw = () => {
    const rho = slider.value / 20;
    const m = updated(rho);
    const most = m.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
    matrix.draw(m, side, most / 1.5);
    const mirrored = attngeo.mirrored(m, side);
    points(Array.from(m, (value, k) => [value / most, mirrored[k] / most]).filter((_, k) => k % (side + 1)));
    const s = attngeo.symmetry(m, side);
    here([[rho, s]]);
    said.textContent = `Coefficients that correlate by ${number(rho)} give an update of symmetry s = ${number(s)}.`;
  };
  const slider = attngeo.slider("Correlation of the two coefficients", { min: -20, max: 20, value: Math.round(20 * measured), say: (v) => number(v / 20) }, draw);
  const panels = attngeo.panels(panel("The update", matrix), panel("Its mirror cloud", cloud), panel("Its symmetry", chart));
  panels.classList.add("ia-three");
  stage.append(attngeo.controls(slider), panels, said);
  draw();
});
