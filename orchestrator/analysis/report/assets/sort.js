"use strict";
// Sorts tables: by a press on a header, or by a choice where tables are cards. Without it they stand as they came.
(() => {
  const NEXT = { none: "ascending", ascending: "descending", descending: "none" };
  const AS_IT_CAME = "";
  const inWords = new Intl.Collator("en", { numeric: true }).compare;

  function keyOf(row, index) {
    const cell = row.cells[index];
    if (cell.classList.contains("number")) return "value" in cell.dataset ? Number(cell.dataset.value) : null;
    return cell.classList.contains("absent") ? null : cell.textContent;
  }

  function compare(one, other, sign) {
    if (one === null || other === null) return (one === null) - (other === null); // absent ones last, whatever the order
    return sign * (typeof one === "number" ? one - other : inWords(one, other));
  }

  function sortable(table) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const headers = [...table.tHead.rows[0].cells];
    const names = headers.map((header) => header.textContent);

    function sortBy(index, order) {
      const sign = order === "descending" ? -1 : 1;
      const keyed = rows.map((row) => ({ row, key: order === "none" ? null : keyOf(row, index) }));
      keyed.sort((one, other) => compare(one.key, other.key, sign)); // stable: ties stay as they came
      body.append(...keyed.map((each) => each.row));
      headers.forEach((header, at) => header.setAttribute("aria-sort", at === index ? order : "none"));
      choice.value = order === "none" ? AS_IT_CAME : `${index} ${order}`;
    }

    headers.forEach((header, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = names[index];
      button.addEventListener("click", () => sortBy(index, NEXT[header.getAttribute("aria-sort")]));
      header.setAttribute("aria-sort", "none");
      header.replaceChildren(button);
    });

    const choice = document.createElement("select");
    choice.add(new Option("as in the report", AS_IT_CAME));
    names.forEach((name, index) => {
      for (const order of ["ascending", "descending"]) choice.add(new Option(`${name}, ${order}`, `${index} ${order}`));
    });
    choice.addEventListener("change", () => {
      const [index, order] = choice.value === AS_IT_CAME ? [0, "none"] : choice.value.split(" ");
      sortBy(Number(index), order);
    });
    const label = document.createElement("label");
    label.className = "sorting";
    label.append("Order of rows: ", choice);
    table.parentElement.before(label);
  }

  document.querySelectorAll(".scroll table").forEach((table) => {
    if (table.tBodies[0].rows.length > 1) sortable(table);
  });
})();
