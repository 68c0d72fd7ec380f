"use strict";
(function () {
  const keyOf = (cell) => {
    const value = cell.dataset.value;
    return value === undefined ? cell.textContent.trim().toLowerCase() : Number(value);
  };
  const isGap = (key) => key === "–" || key === "";
  // Gaps stay at the end whichever way the column is sorted.
  const compare = (a, b, sign) => {
    if (isGap(a) || isGap(b)) return isGap(a) - isGap(b);
    if (typeof a === "number" && typeof b === "number") return sign * (a - b);
    return sign * String(a).localeCompare(String(b), "en", { numeric: true });
  };
  const sortBy = (table, column, header) => {
    const rising = header.getAttribute("aria-sort") !== "ascending";
    table.querySelectorAll("th").forEach((th) => th.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", rising ? "ascending" : "descending");
    const body = table.tBodies[0];
    const rows = Array.from(body.rows).map((row) => [keyOf(row.cells[column]), row]);
    rows.sort((a, b) => compare(a[0], b[0], rising ? 1 : -1));
    body.append(...rows.map((pair) => pair[1]));
  };
  document.querySelectorAll("table.sortable").forEach((table) => {
    Array.from(table.tHead.rows[0].cells).forEach((header, column) => {
      const button = document.createElement("button");
      button.textContent = header.textContent;
      header.replaceChildren(button);
      button.addEventListener("click", () => sortBy(table, column, header));
    });
    table.querySelectorAll("td").forEach((cell) => { cell.title = cell.textContent; });
  });
  const filter = document.getElementById("filter");
  const shown = document.getElementById("shown");
  const rows = Array.from(document.querySelectorAll("#runs tbody tr"));
  const apply = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    rows.forEach((row) => {
      const all = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => all.includes(word));
      count += !row.hidden;
    });
    shown.textContent = count + " of " + rows.length + " runs";
  };
  filter.addEventListener("input", apply);
  apply();
})();
