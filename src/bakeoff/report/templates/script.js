(() => {
  const root = document.documentElement, button = document.getElementById("theme");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const name = () => { button.textContent = dark() ? "Light" : "Dark"; };
  const kept = () => { try { return localStorage.getItem("bakeoff-theme"); } catch { return null; } };
  const keep = (theme) => { try { localStorage.setItem("bakeoff-theme", theme); } catch { /* a file may not keep anything */ } };
  if (kept() === "dark" || kept() === "light") root.dataset.theme = kept();
  button.hidden = false;
  name();
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; keep(root.dataset.theme); name(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);

  const value = (row, place) => {
    const cell = row.cells[place], number = cell.dataset.v;
    return number === undefined ? cell.textContent.trim() : number === "" ? null : Number(number);
  };
  const sort = (table, place, head) => {
    const up = head.getAttribute("aria-sort") === "descending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const body = table.tBodies[0];
    const rows = [...body.rows].sort((a, b) => {
      const x = value(a, place), y = value(b, place);
      if (x === null || y === null) return (x === null) - (y === null);
      const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return up ? order : -order;
    });
    body.append(...rows);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, place) => {
      if (head.dataset.fixed !== undefined) return;
      const press = document.createElement("button");
      press.type = "button";
      press.append(...head.childNodes);
      head.append(press);
      press.addEventListener("click", () => sort(table, place, head));
    });
  }
  addEventListener("beforeprint", () => { for (const part of document.querySelectorAll("details")) part.open = true; });
})();
