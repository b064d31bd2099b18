"use strict";

// Makes each table.data sortable by its heads, searchable, and filtered by label.
(() => {
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

  function make(tag, properties = {}, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  }

  function key(row, column, kind) {
    const cell = row.cells[column];
    if (kind === "number") {
      return cell.dataset.value === undefined ? NaN : Number(cell.dataset.value);
    }
    return cell.textContent.trim();
  }

  // Missing numbers and empty texts come last either way.
  function compare(a, b, kind, sign) {
    if (kind === "number") {
      if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
      return sign * (a - b);
    }
    if (a === "" || b === "") return (a === "") - (b === "");
    return sign * collator.compare(a, b);
  }

  function enhance(table) {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    const heads = Array.from(table.tHead.rows[0].cells);
    const original = new Map(rows.map((row, place) => [row, place]));
    const texts = new Map(rows.map((row) => [row, row.textContent.replaceAll("… more", " ").toLowerCase()]));

    function sort(column, direction) {
      heads.forEach((head, place) => {
        if (place === column && direction) head.setAttribute("aria-sort", direction);
        else head.removeAttribute("aria-sort");
      });
      const kind = column === null ? "" : heads[column].dataset.kind;
      const sign = direction === "descending" ? -1 : 1;
      const keys = new Map(column === null ? [] : rows.map((row) => [row, key(row, column, kind)]));
      const sorted = rows.slice().sort((a, b) =>
        (column === null ? 0 : compare(keys.get(a), keys.get(b), kind, sign)) ||
        original.get(a) - original.get(b));
      body.append(...sorted, nothing);
      page();
      order.value = column === null ? "" : `${column} ${direction}`;
    }

    const order = make("select", { ariaLabel: "sort by" });
    order.append(make("option", { value: "", textContent: "as listed" }));
    heads.forEach((head, column) => {
      if (head.dataset.kind === "plain") return;
      const title = head.textContent;
      const button = make("button", { type: "button" }, ...head.childNodes);
      head.append(button);
      const first = head.dataset.kind === "number" ? "descending" : "ascending";
      const second = first === "ascending" ? "descending" : "ascending";
      button.addEventListener("click", () => {
        sort(column, head.getAttribute("aria-sort") === first ? second : first);
      });
      for (const direction of [first, second]) {
        const arrow = direction === "ascending" ? "↑" : "↓";
        order.append(make("option", { value: `${column} ${direction}`, textContent: `${title} ${arrow}` }));
      }
    });
    order.addEventListener("change", () => {
      const [column, direction] = order.value.split(" ");
      if (order.value) sort(Number(column), direction);
      else sort(null, null);
    });

    const search = make("input", { type: "search", autocomplete: "off", spellcheck: false, ariaLabel: "search" });
    const labels = make("select", { ariaLabel: "label" });
    const count = make("output");
    const message = make("td", { colSpan: heads.length, textContent: "No row matches." });
    const nothing = make("tr", { className: "empty", hidden: true }, message);
    body.append(nothing);

    // On a phone, long tables come in pieces; the style decides where that is.
    let limit = 20;
    const more = make("button", { type: "button", className: "show-more" });
    more.addEventListener("click", () => {
      limit += 50;
      page();
    });
    function page() {
      const fitting = Array.from(body.rows).filter((row) => row !== nothing && !row.hidden);
      fitting.forEach((row, place) => row.classList.toggle("beyond", place >= limit));
      more.hidden = fitting.length <= limit;
      more.textContent = `Show more (${fitting.length - limit})`;
    }

    function filter() {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const fits = (!labels.value || row.dataset.label === labels.value) &&
          words.every((word) => texts.get(row).includes(word));
        row.hidden = !fits;
        shown += fits;
      }
      nothing.hidden = shown > 0;
      page();
      const total = rows.length.toLocaleString("en");
      count.textContent = shown === rows.length ? `${total} rows` : `${shown.toLocaleString("en")} of ${total} rows`;
    }

    const known = new Map();
    for (const row of rows) {
      if (row.dataset.label !== undefined && !known.has(row.dataset.label)) {
        const cell = Array.from(row.cells).find((part) => part.dataset.title === "label");
        known.set(row.dataset.label, cell.textContent.trim());
      }
    }
    labels.append(make("option", { value: "", textContent: "all" }));
    Array.from(known).sort((a, b) => a[0] - b[0]).forEach(([value, name]) => {
      labels.append(make("option", { value, textContent: name }));
    });
    search.addEventListener("input", filter);
    labels.addEventListener("change", filter);

    const tools = make("div", { className: "tools" },
      make("label", {}, "search", search),
      make("label", {}, "label", labels),
      make("label", { className: "sort-by" }, "sort by", order),
      count);
    table.parentElement.before(tools);
    table.parentElement.after(more);
    filter();
  }

  document.querySelectorAll("table.data").forEach(enhance);
})();
