import { isJsonObject, parseJson } from "../../../core/json.ts";
import { CUSTOM_INPUT_KEY } from "./bridge_tools.ts";

const OPENING_REGEXP = new RegExp(
  String.raw`^\s*\{\s*"${CUSTOM_INPUT_KEY}"\s*:\s*"`,
);
/** Longest beginning that may still become an opening; past it the text is something else. */
const MAX_OPENING_LENGTH = 64;
/** A run of characters, or one whole escape of a JSON string, or a backslash that can begin none. */
const STRING_PIECE_REGEXP = /[^"\\]+|\\(?:u[0-9A-Fa-f]{4}|u(?=[^]{4})|[^u])/y;

/**
 * Reads the text out of `{"input":"…"}` while it comes in, so that a custom tool's input streams though a
 * function stands for it. Whatever the model wrote instead is given whole at the end: the `input` of another
 * spelling of the object, or the text as it is.
 */
export interface CustomInput {
  /** The next piece of input, maybe empty. */
  push(fragment: string): string;
  /** The rest, once the arguments are complete. */
  end(): string;
}

/** A reader for one call. */
export function createCustomInput(): CustomInput {
  let state: "opening" | "string" | "closed" | "other" = "opening";
  let rest = "";

  /** Reads as much of the string as is complete. */
  function readString(): string {
    let input = "";
    STRING_PIECE_REGEXP.lastIndex = 0;
    let position = 0;
    for (
      let match = STRING_PIECE_REGEXP.exec(rest);
      match !== null;
      match = STRING_PIECE_REGEXP.exec(rest)
    ) {
      input += unescape(match[0]);
      position = STRING_PIECE_REGEXP.lastIndex;
    }
    if (rest[position] === '"') state = "closed";
    rest = rest.slice(position);
    return input;
  }

  return {
    push(fragment) {
      if (state === "closed") return "";
      rest += fragment;
      if (state === "opening") {
        const opening = OPENING_REGEXP.exec(rest);
        if (opening !== null) {
          state = "string";
          rest = rest.slice(opening[0].length);
        } else if (rest.length > MAX_OPENING_LENGTH) {
          state = "other";
        }
      }
      return state === "string" ? readString() : "";
    },
    end() {
      return state === "opening" || state === "other"
        ? customInputOf(rest)
        : "";
    },
  };
}

/** The input in a whole call's arguments; the text itself when they are not of that form. */
export function customInputOf(text: string): string {
  const value = parseJson(text);
  const input = isJsonObject(value) ? value[CUSTOM_INPUT_KEY] : undefined;
  return typeof input === "string" ? input : text;
}

function unescape(piece: string): string {
  if (!piece.startsWith("\\")) return piece;
  const value = parseJson(`"${piece}"`);
  return typeof value === "string" ? value : piece.slice(1);
}
