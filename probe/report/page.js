
"use strict";
(() => {
  const form = document.getElementById("filter");
  const shown = document.getElementById("shown");
  const rows = Array.from(document.querySelectorAll("tbody"));
  const fields = Array.from(form.elements).filter((element) => element.name);
  const texts = new Map();
  let waiting = 0;

  const text = (row) => {
    if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
    return texts.get(row);
  };
  const matches = (row, field) => {
    if (!field.value) return true;
    if (field.name === "text") return field.value.toLowerCase().trim().split(/\s+/).every((word) => text(row).includes(word));
    const value = row.dataset[field.name];
    return field.name === "code" ? value.split(" ").includes(field.value) : value === field.value;
  };
  const apply = () => {
    let count = 0;
    for (const row of rows) {
      const fits = fields.every((field) => matches(row, field));
      row.hidden = !fits;
      count += fits;
    }
    shown.textContent = `${count} of ${rows.length} hosts`;
  };
  // The address holds what is chosen, so that a view can be kept and sent.
  const remember = () => {
    const chosen = new URLSearchParams();
    for (const field of fields) if (field.value) chosen.set(field.name, field.value);
    history.replaceState(null, "", `#${chosen}`);
    apply();
  };
  const recall = (jump) => {
    const chosen = new URLSearchParams(location.hash.slice(1));
    for (const field of fields) field.value = chosen.get(field.name) || "";
    apply();
    if (jump) form.scrollIntoView();
  };
  form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(remember, 120); });
  form.addEventListener("reset", () => setTimeout(remember));
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", () => recall(true));
  form.hidden = false;
  recall(location.hash.length > 1);
})();
