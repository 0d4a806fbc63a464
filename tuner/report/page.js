"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const charts = read("charts"), tables = read("tables");
  const dark = matchMedia("(prefers-color-scheme: dark)"), print = matchMedia("print");
  const places = [...document.querySelectorAll(".chart")];
  const drawn = new Set();

  // Charts: colours of text and lines follow the page, what is far below is drawn when there is time.
  const theme = () => {
    const light = print.matches || !dark.matches;
    return { isLight: light, text: light ? "#1c2025" : "#e7eaee", line: light ? "#d5dae1" : "#363d47", back: light ? "#ffffff" : "#1d2127", empty: light ? "#eceef1" : "#3a424d" };
  };
  // The two darkest series colours are lightened on a dark page.
  const seen = (value) => theme().isLight ? value
    : JSON.parse(JSON.stringify(value).replaceAll("#0072B2", "#5fb3ea").replaceAll("#009E73", "#2fc79a"));
  const narrow = (place) => place.clientWidth < 500;
  const themed = (place, chart) => {
    const colours = theme(), made = structuredClone(seen(chart.layout));
    made.paper_bgcolor = made.plot_bgcolor = "rgba(0,0,0,0)";
    // Empty cells of a heat map are told from its lowest ones.
    if (chart.data[0].type === "heatmap") made.plot_bgcolor = colours.empty;
    made.font = { color: colours.text, size: narrow(place) ? 11 : 12, family: getComputedStyle(document.body).fontFamily };
    made.hoverlabel = { ...made.hoverlabel, bgcolor: colours.back, bordercolor: colours.text, font: { color: colours.text } };
    for (const key of Object.keys(made)) {
      if (/^[xy]axis/.test(key)) Object.assign(made[key], { gridcolor: colours.line, linecolor: colours.line, zerolinecolor: colours.line });
    }
    // A light line under each frame, so that it stands out on dark and on light cells.
    const frames = (made.shapes || []).filter((shape) => shape.type === "rect");
    made.shapes = (made.shapes || []).flatMap((shape) =>
      frames.includes(shape) ? [{ ...shape, line: { color: "#ffffff", width: shape.line.width + 2 } }, shape] : [shape]);
    return made;
  };
  const traces = (place, chart) => seen(chart.data).map((given) => {
    // Weights stand out from the page: dark on a light one, bright on a dark one.
    const trace = given.meta === "weight" ? { ...given, reversescale: !theme().isLight } : given;
    if (!trace.colorbar || !narrow(place)) return trace;
    // On a narrow screen the colour scale lies above the cells instead of beside them.
    const title = { ...trace.colorbar.title, side: "top" };
    return { ...trace, colorbar: { ...trace.colorbar, orientation: "h", y: 1.02, yanchor: "bottom", len: 1, title } };
  });
  const options = { responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "resetScale2d"]] };
  const draw = (place) => {
    const chart = charts[Number(place.dataset.chart)];
    drawn.add(place);
    place.replaceChildren();
    return Plotly.newPlot(place, traces(place, chart), themed(place, chart), options);
  };
  const drawRest = (done) => {
    const next = places.find((place) => !drawn.has(place));
    if (!next) return done();
    draw(next);
    (window.requestIdleCallback || setTimeout)(() => drawRest(done));
  };
  const redraw = () => places.forEach((place) => { Plotly.purge(place); draw(place); });

  // Tables: the texts are made as contents.py makes them.
  const text = (column, value) => {
    if (value === null) return "-";
    if (typeof value === "string") return value;
    const fixed = (number) => number.toFixed(column.digits).replace(/\B(?=(\d{3})+(?!\d))(?<!\.\d*)/g, ",");
    if (column.kind === "share") return fixed(100 * value) + " %";
    if (column.kind === "gain") return (value >= 0 ? "+" : "") + fixed(100 * value) + " %";
    return fixed(value);
  };
  const before = (a, b) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
  };
  // A spreadsheet would run a text that starts like a formula.
  const field = (value) => {
    if (value === null) return "";
    if (typeof value !== "string") return String(value);
    const safe = /^[=+\-@\t\r]/.test(value) ? "'" + value : value;
    return /[",\r\n]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
  };
  const csv = (table) => [table.columns.map((column) => column.heading), ...table.rows]
    .map((row) => row.map(field).join(",")).join("\r\n") + "\r\n";
  const download = (name, content) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type: "text/csv" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  for (const box of document.querySelectorAll(".table")) {
    const table = tables[Number(box.dataset.table)], body = box.querySelector("tbody");
    const headings = [...box.querySelectorAll("th")];
    let shown = body.rows.length, rows = table.rows;
    const fill = () => body.replaceChildren(...rows.slice(0, shown).map((row) => {
      const line = document.createElement("tr");
      row.forEach((value, i) => {
        const cell = line.insertCell();
        cell.className = table.columns[i].kind;
        cell.textContent = text(table.columns[i], value);
      });
      return line;
    }));
    headings.forEach((heading, i) => heading.firstElementChild.addEventListener("click", () => {
      const falling = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
      // What is not known stays at the end in both directions.
      rows = [...table.rows].sort((a, b) => (a[i] === null || b[i] === null || !falling ? 1 : -1) * before(a[i], b[i]));
      fill();
    }));
    box.querySelector(".csv").addEventListener("click", () => download(table.file, csv(table)));
    box.querySelector(".all")?.addEventListener("click", (event) => {
      shown = table.rows.length;
      fill();
      event.target.remove();
      box.querySelector(".shown").remove();
    });
  }

  dark.addEventListener("change", redraw);
  print.addEventListener("change", redraw);
  drawRest(() => { document.body.dataset.drawn = String(Math.round(performance.now())); });
})();
