import { byId, element } from "./element.js";
import {
  amountOf,
  costMark,
  expectedToday,
  hasCost,
  historyText,
  isEmpty,
  unitOf,
} from "../wording/history.js";
import { amountText } from "../wording/words.js";

/**
 * @typedef {import("../wording/history.js").History} History
 * @typedef {import("../wording/history.js").HolderHistory} HolderHistory
 * @typedef {import("../wording/history.js").Day} Day
 * @typedef {import("../wording/history.js").Unit} Unit
 */

/** The time after which the pace of today is computed again. */
const PACE_MS = 600_000;

const UNIT_NAMES = { requests: "Requests", tokens: "Tokens", USD: "Cost" };

/** @type {readonly Unit[]} */
const UNITS = ["requests", "tokens", "USD"];

/**
 * Creates the view of the last days: bars, and the numbers as a table.
 *
 * @returns {{ readonly show: (history: History | undefined) => void }}
 */
export function createHistoryView() {
  const place = byId("history", HTMLElement);
  const fields = byId("history-fields", HTMLElement);
  const choices = byId("history-choices", HTMLElement);
  const figure = byId("history-figure", HTMLElement);
  const details = byId("history-details", HTMLElement);
  const numbers = byId("history-numbers", HTMLElement);
  /** @type {History | undefined} */
  let history;
  /** @type {Unit | undefined} The reader's choice. */
  let unit;
  let holderName = "";
  let shown = "";

  function draw() {
    const holder = history?.holders.find(({ name }) => name === holderName) ??
      history?.holders[0];
    if (history === undefined || holder === undefined) return;
    const isOwn = holder === history.holders[0];
    const drawnUnit = unit ?? unitOf(history.holders);
    const text = historyText(holder, drawnUnit, Date.now());
    details.hidden = isEmpty(holder);
    fields.hidden = history.holders.every(isEmpty);
    if (details.hidden) {
      figure.replaceChildren(element("p", { class: "note" }, text));
      return;
    }
    figure.replaceChildren(
      element("p", { class: "note" }, text),
      ...(isOwn && history.dearTurns !== undefined
        ? [element("p", { class: "note" }, `This month: ${history.dearTurns}`)]
        : []),
      ...chart(holder, drawnUnit, text),
    );
    numbers.replaceChildren(
      daysTable(holder.days),
      ...(isOwn && history.models.length > 0 ? [modelsTable(history)] : []),
    );
  }

  function drawChoices() {
    if (history === undefined) return;
    const { holders } = history;
    const names = holders.map(({ name }) => name);
    const units = UNITS.filter((one) => one !== "USD" || holders.some(hasCost));
    choices.replaceChildren(
      radios("history-unit", units, {
        nameOf: (one) => UNIT_NAMES[one],
        chosen: unit ?? unitOf(holders),
        onPick: (picked) => unit = picked,
      }),
      ...(names.length > 1
        ? [radios("history-holder", names, {
          nameOf: (name) => name,
          chosen: names.includes(holderName) ? holderName : names[0],
          onPick: (picked) => holderName = picked,
        })]
        : []),
    );
  }

  /**
   * @template {string} Value
   * @param {string} name
   * @param {readonly Value[]} values
   * @param {{ readonly nameOf: (value: Value) => string, readonly chosen: Value | undefined, readonly onPick: (value: Value) => void }} options
   * @returns {HTMLElement}
   */
  function radios(name, values, { nameOf, chosen, onPick }) {
    const labels = values.map((value) => {
      const input = element("input", {
        type: "radio",
        name,
        id: `${name}-${value}`,
        checked: value === chosen,
      });
      input.addEventListener("change", () => {
        onPick(value);
        draw();
      });
      return element(
        "label",
        { class: "choice" },
        input,
        element("span", {}, nameOf(value)),
      );
    });
    return element("div", { class: "choice-row" }, ...labels);
  }

  return {
    show(now) {
      place.hidden = now === undefined;
      // The pace of today changes even without new usage.
      const text = JSON.stringify([now, Math.floor(Date.now() / PACE_MS)]);
      if (text === shown) return;
      shown = text;
      history = now;
      // An update must not take the focus from a choice that the reader is making.
      if (!choices.contains(document.activeElement)) drawChoices();
      draw();
    },
  };
}

const WIDTH = 700;
const HEIGHT = 140;
const BAR_SHARE = 0.72;

/** The least height of a bar, so that it can be seen beside a high bar. */
const LEAST_HEIGHT = 2;

/**
 * A limit of more than this many times the usage is shown as text, because the line of such a limit would leave no
 * height for the bars.
 */
const MOST_LIMIT = 3;

/**
 * Draws a bar for each day, the expected rest of today, and the limit as a line. The largest amount is above the
 * drawing, the dates are below. The text and the table have the same numbers.
 *
 * @param {HolderHistory} holder
 * @param {Unit} unit
 * @param {string} label
 * @returns {readonly Element[]}
 */
function chart({ days, limits }, unit, label) {
  const amounts = days.map((day) => amountOf(day, unit));
  const expected = expectedToday(days, unit, Date.now()) ?? 0;
  const limit = limits[unit] ?? 0;
  const used = Math.max(...amounts, expected) || 1;
  const isFar = limit > MOST_LIMIT * used;
  const most = isFar ? used : Math.max(used, limit);
  const step = WIDTH / days.length;
  const bar = (
    /** @type {number} */ index,
    /** @type {number} */ amount,
    /** @type {string} */ look,
  ) => {
    const height = amount > 0
      ? Math.max(LEAST_HEIGHT, HEIGHT * amount / most)
      : 0;
    return svg("rect", {
      class: look,
      x: index * step + step * (1 - BAR_SHARE) / 2,
      y: HEIGHT - height,
      width: step * BAR_SHARE,
      height,
    });
  };
  const limitText = isFar
    ? `the limit is ${
      amountText(Math.round(limit / most), "")
    } times this height`
    : "dashed: the limit";
  const drawing = svg("svg", {
    class: "chart",
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": label,
  });
  if (expected > 0) {
    drawing.append(bar(days.length - 1, expected, "bar-expected"));
  }
  for (const [index, amount] of amounts.entries()) {
    const rect = bar(index, amount, "bar");
    const title = svg("title", {});
    title.append(`${days[index]?.date}: ${amountText(amount, unit)}`);
    rect.append(title);
    drawing.append(rect);
  }
  if (limit > 0 && !isFar) {
    const y = HEIGHT * (1 - limit / most) + 1;
    drawing.append(
      svg("line", { class: "bar-limit", x1: 0, x2: WIDTH, y1: y, y2: y }),
    );
  }
  return [
    chartText(
      amountText(Number(most.toPrecision(3)), unit),
      [
        ...(expected > 0 ? ["pale: today at this pace"] : []),
        ...(limit > 0 ? [limitText] : []),
      ].join(", "),
    ),
    drawing,
    chartText(days[0]?.date ?? "", "today, UTC"),
  ];
}

/**
 * @param {string} tag
 * @param {Readonly<Record<string, string | number>>} attributes
 * @returns {SVGElement}
 */
function svg(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, String(value));
  }
  return /** @type {SVGElement} */ (made);
}

/** @param {...string} parts @returns {HTMLElement} */
function chartText(...parts) {
  return element(
    "p",
    { class: "chart-text", "aria-hidden": "true" },
    ...parts.map((part) => element("span", {}, part)),
  );
}

/** @param {readonly Day[]} days @returns {HTMLElement} */
function daysTable(days) {
  const used = days.filter(({ requests }) => requests > 0).reverse();
  return table("Each day with requests, in UTC", {
    headings: [
      "day",
      "cost",
      "requests",
      "input",
      "cached",
      "written",
      "output",
    ],
    rows: used.map((day) => [
      ...[day.date, costCell(day)],
      ...[day.requests, day.input_tokens, day.cached_input_tokens],
      ...[day.cache_write_tokens, day.output_tokens],
    ]),
  });
}

/** @param {Pick<Day, "cost_usd" | "unpriced_requests">} use @returns {string | null} */
function costCell(use) {
  return use.cost_usd === null
    ? null
    : amountText(use.cost_usd, "USD") + costMark(use);
}

/** @param {History} history @returns {HTMLElement} */
function modelsTable({ models }) {
  const most = models.some(({ cost_usd }) => cost_usd) ? "expensive" : "used";
  return table(`Your most ${most} models this month`, {
    headings: ["model", "cost", "requests", "input", "output"],
    rows: models.map((use) => [
      ...[use.model, costCell(use)],
      ...[use.requests, use.input_tokens, use.output_tokens],
    ]),
  });
}

/**
 * @param {string} caption
 * @param {{ readonly headings: readonly string[], readonly rows: readonly (readonly (string | number | null)[])[] }} cells
 * @returns {HTMLElement}
 */
function table(caption, { headings, rows }) {
  const textOf = (/** @type {string | number | null} */ cell) => {
    if (cell === null) return "–";
    return typeof cell === "string" ? cell : amountText(cell, "");
  };
  return element(
    "table",
    {},
    element("caption", {}, caption),
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        ...headings.map((name) => element("th", { scope: "col" }, name)),
      ),
    ),
    element(
      "tbody",
      {},
      ...rows.map((cells) =>
        element(
          "tr",
          {},
          ...cells.map((cell, column) =>
            column === 0
              ? element("th", { scope: "row" }, textOf(cell))
              : element("td", {}, textOf(cell))
          ),
        )
      ),
    ),
  );
}
