import { failureMeaning } from "../../http/page/failures.js";
import { checkedText } from "../../http/page/times.js";
import type { ConnectionEntry, LimitsList } from "../../limits/list.ts";
import type { Paint } from "../colours.ts";
import { drawRow, rowOf, type Widths, widthsOf } from "./rows.ts";
import { plainText } from "../plain_text.ts";
import { wrapWords } from "../wrap_words.ts";

/** How {@linkcode drawLimits} draws. */
export interface DrawOptions {
  /** How many characters fit into a line. */
  readonly columns: number;
  readonly paint: Paint;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/** Draws every connection with its windows, as lines of a terminal. */
export function drawLimits(list: LimitsList, options: DrawOptions): string {
  if (list.data.length === 0) {
    const text =
      "No connection is assigned to this token: ask the administrator";
    return `${wrapWords(text, options.columns).join("\n")}\n`;
  }
  const widths = widthsOf(
    list.data.flatMap(({ limits }) =>
      limits.map((window) => rowOf(window, options.nowMs))
    ),
  );
  return list.data
    .map((entry) => drawConnection(entry, { ...options, widths }))
    .join("\n");
}

interface ConnectionOptions extends DrawOptions {
  /** The same for all connections, so that their columns stand below each other. */
  readonly widths: Widths;
}

function drawConnection(
  entry: ConnectionEntry,
  options: ConnectionOptions,
): string {
  const lines = entry.status === "ok"
    ? windowLines(entry, options)
    : stateLines(entry, options).map((line) => `  ${line}`);
  return [headLine(entry, options), ...lines, ""]
    .flatMap((line) => wrapWords(line, options.columns)).join("\n");
}

function headLine(
  { name, service, checked_at, cached }: ConnectionEntry,
  { paint, nowMs }: DrawOptions,
): string {
  const facts = [
    plainText(service),
    checkedText(checked_at, nowMs),
    ...(cached ? ["from the gateway's cache"] : []),
  ];
  return `${paint("bold", plainText(name))}  ${paint("dim", facts.join(", "))}`;
}

function windowLines(
  { limits }: ConnectionEntry,
  options: ConnectionOptions,
): readonly string[] {
  if (limits.length === 0) return ["  the provider reports no window"];
  return limits.flatMap((window) =>
    drawRow(rowOf(window, options.nowMs), options)
  );
}

function stateLines(
  { status, error }: ConnectionEntry,
  { paint }: DrawOptions,
): readonly string[] {
  const state = plainText(status);
  if (error === undefined) {
    return [paint("dim", STATES.get(state) ?? state)];
  }
  const { title, advice, isCalm } = failureMeaning(error.type);
  if (isCalm) return [paint("dim", title.toLowerCase()), advice];
  return [
    `${paint("red", `${state}: ${title.toLowerCase()}`)} (${
      plainText(error.type)
    })`,
    plainText(error.message),
    advice,
  ];
}

const STATES = new Map([
  ["disabled", "disabled: the administrator can switch it on again"],
  ["unsupported", "unsupported: the quota of this service cannot be read"],
]);
