import { type JsonValue, parseJson } from "../../../src/base/json.ts";
import { compileLua } from "./lua_compiler.ts";

/** A reply of the store, in the types of RESP 2. */
export type Reply = string | number | null | Status | readonly Reply[];

/** A status, such as `OK`. */
export class Status {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An error of the store, such as `NOSCRIPT No matching script`. */
export class ReplyError extends Error {}

/** A value of Lua; nil is `undefined`. */
type Value =
  | undefined
  | boolean
  | number
  | string
  | Table
  | LuaFunction
  | typeof JSON_NULL;

type LuaFunction = (...args: readonly Value[]) => readonly Value[];

/** `cjson.null`, which is not `nil`. */
const JSON_NULL: unique symbol = Symbol("cjson.null");

/** A table: a list that begins at 1, and fields. */
class Table {
  readonly list: Value[] = [];
  readonly fields = new Map<Value, Value>();

  get(key: Value): Value {
    return typeof key === "number" && key > 0 && key <= this.list.length
      ? this.list[key - 1]
      : this.fields.get(key);
  }

  /** Sets a field to a value, which is not nil. */
  set(key: Value, value: Value): void {
    const { list, fields } = this;
    if (key !== list.length + 1) {
      if (typeof key === "number" && key in list) list[key - 1] = value;
      else fields.set(key, value);
      return;
    }
    list.push(value);
    const next = list.length + 1;
    const behind = fields.get(next);
    if (behind === undefined) return;
    fields.delete(next);
    this.set(next, behind);
  }
}

function tableOf(
  items: readonly Value[],
  fields: Iterable<readonly [string, Value]> = [],
): Table {
  const table = new Table();
  for (const [at, item] of items.entries()) {
    if (item !== undefined) table.set(at + 1, item);
  }
  for (const [key, value] of fields) {
    if (value !== undefined) table.set(key, value);
  }
  return table;
}

/**
 * Runs the scripts of the store as Redis does: with `redis.call`, `redis.pcall`, `cjson.decode`, `KEYS` and `ARGV`, and
 * with the same conversions of values (https://redis.io/docs/latest/develop/programmability/lua-api/#data-type-conversion).
 */
export class LuaScripts {
  readonly #globals: Readonly<Record<string, unknown>>;

  /** @param call Runs a command, or throws a {@linkcode ReplyError}. */
  constructor(call: (command: readonly string[]) => Reply) {
    const run: LuaFunction = (...args) => [valueOf(call(args.map(argument)))];
    const pcall: LuaFunction = (...args) => {
      try {
        return run(...args);
      } catch (cause) {
        if (!(cause instanceof ReplyError)) throw cause;
        return [tableOf([], [["err", cause.message]])];
      }
    };
    const redis = tableOf([], [["call", run], ["pcall", pcall]]);
    this.#globals = { ...LIBRARY, redis };
  }

  /** Runs a script. @throws {ReplyError} */
  run(
    source: string,
    keys: readonly string[],
    args: readonly string[],
  ): Reply {
    const run = compiled(source);
    const [KEYS, ARGV] = [tableOf(keys), tableOf(args)];
    return replyOf(run(RUNTIME, { ...this.#globals, KEYS, ARGV })[0]);
  }
}

type Script = (lua: object, globals: object) => readonly unknown[];

/** The compiled scripts, by source. Histories share them, so that each is compiled once. */
const SCRIPTS = new Map<string, Script>();

function compiled(source: string): Script {
  const known = SCRIPTS.get(source);
  if (known !== undefined) return known;
  const run = new Function("lua", "globals", compileLua(source));
  const script: Script = (lua, globals) => {
    const values: unknown = Reflect.apply(run, undefined, [lua, globals]);
    return Array.isArray(values) ? values : [];
  };
  SCRIPTS.set(source, script);
  return script;
}

function argument(value: Value): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  throw new ReplyError(
    "ERR Lua redis lib command arguments must be strings or integers",
  );
}

function valueOf(reply: Reply): Value {
  if (reply === null) return false;
  if (reply instanceof Status) return tableOf([], [["ok", reply.text]]);
  if (typeof reply === "object") return tableOf(reply.map(valueOf));
  return reply;
}

/** A list ends before its first nil. */
function replyOf(value: unknown): Reply {
  if (typeof value === "number") return Math.trunc(value);
  if (typeof value === "string") return value;
  if (!(value instanceof Table)) return value === true ? 1 : null;
  const [error, status] = [value.get("err"), value.get("ok")];
  if (typeof error === "string") throw new ReplyError(error);
  if (typeof status === "string") return new Status(status);
  return value.list.map(replyOf);
}

function fromJson(value: JsonValue): Value {
  if (value === null) return JSON_NULL;
  if (Array.isArray(value)) return tableOf(value.map(fromJson));
  if (typeof value === "object") {
    return tableOf(
      [],
      Object.entries(value).map(([key, one]) =>
        [key.toWellFormed(), fromJson(one ?? null)] as const
      ),
    );
  }
  // The parser of the store rejects half of a surrogate pair.
  if (typeof value !== "string" || value.isWellFormed()) return value;
  throw new ReplyError("ERR invalid JSON");
}

function typeOf(value: Value): string {
  if (value === undefined) return "nil";
  if (value === JSON_NULL) return "userdata";
  return value instanceof Table ? "table" : typeof value;
}

function fail(what: string, ...values: readonly Value[]): never {
  throw new ReplyError(
    `ERR attempt to ${what} ${values.map(typeOf).join(" with ")}`,
  );
}

function isTrue(value: Value): boolean {
  return value !== undefined && value !== false;
}

/** Returns a number in the format of `%.14g`, with any precision. */
function textOf(number: number, digits = 14): string {
  if (Number.isInteger(number) && Math.abs(number) < 10 ** digits) {
    return String(number);
  }
  return number.toPrecision(digits).replace(/\.?0+(?=e|$)/, "");
}

/** Returns the number in a value, or undefined. */
function numberIn(value: Value): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string" && /^-?\d+(?:\.\d+)?$/.test(value)
    ? Number(value)
    : undefined;
}

function calculating(run: (one: number, other: number) => number) {
  return (one: Value, other: Value): number =>
    run(
      numberIn(one) ?? fail("calculate", one),
      numberIn(other) ?? fail("calculate", other),
    );
}

function isLess(one: Value, other: Value): boolean {
  if (typeof one === "number" && typeof other === "number") return one < other;
  if (typeof one === "string" && typeof other === "string") return one < other;
  return fail("compare", one, other);
}

function joinable(value: Value): string {
  if (typeof value === "number") return textOf(value);
  return typeof value === "string" ? value : fail("concatenate", value);
}

function listIn(value: Value): Value[] {
  return value instanceof Table ? value.list : fail("list", value);
}

/** The operators of scripts. */
const RUNTIME = {
  isTrue,
  table: tableOf,
  at: (table: Value, key: Value) =>
    table instanceof Table ? table.get(key) : fail("index", table),
  put: (table: Value, key: Value, value: Value) =>
    table instanceof Table ? table.set(key, value) : fail("index", table),
  or: (one: Value, other: () => Value) => isTrue(one) ? one : other(),
  and: (one: Value, other: () => Value) => isTrue(one) ? other() : one,
  not: (value: Value) => !isTrue(value),
  isSame: (one: Value, other: Value) => one === other,
  isOther: (one: Value, other: Value) => one !== other,
  isLess,
  isMore: (one: Value, other: Value) => isLess(other, one),
  isAtMost: (one: Value, other: Value) => !isLess(other, one),
  isAtLeast: (one: Value, other: Value) => !isLess(one, other),
  join: (one: Value, other: Value) => joinable(one) + joinable(other),
  add: calculating((one, other) => one + other),
  subtract: calculating((one, other) => one - other),
  multiply: calculating((one, other) => one * other),
  divide: calculating((one, other) => one / other),
  negate: (value: Value) => -(numberIn(value) ?? fail("negate", value)),
  length: (value: Value) => listIn(value).length,
};

/** The global variables of scripts. */
const LIBRARY = {
  type: (value: Value) => [typeOf(value)],
  tonumber: (value: Value) => [numberIn(value)],
  tostring: (value: Value) => [
    typeof value === "number" ? textOf(value) : String(value ?? "nil"),
  ],
  unpack: listIn,
  ipairs: (table: Value) => [
    listIn(table).map((value, at) => [at + 1, value] as const),
  ],
  pairs: (table: Value) => [[
    ...listIn(table).map((value, at) => [at + 1, value] as const),
    ...table instanceof Table ? table.fields : [],
  ]],
  math: tableOf([], [
    ["floor", (value) => [Math.floor(numberIn(value) ?? fail("floor", value))]],
  ]),
  string: tableOf([], [
    ["sub", (text, from, to) => [
      String(text).slice(Number(from) - 1, to === undefined ? to : Number(to)),
    ]],
    [
      "match",
      (text, pattern) =>
        patternOf(String(pattern)).exec(String(text))?.slice(1) ?? [],
    ],
    ["format", (_, value) => [textOf(Number(value), 17)]],
  ]),
  table: tableOf([], [
    ["concat", (table, between) => [
      listIn(table).map(joinable).join(String(between)),
    ]],
    ["sort", (table) => {
      listIn(table).sort((one, other) => isLess(one, other) ? -1 : 1);
      return [];
    }],
  ]),
  cjson: tableOf([], [
    ["null", JSON_NULL],
    ["decode", (text) => {
      const value = parseJson(String(text));
      if (value === undefined) throw new ReplyError("ERR invalid JSON");
      return [fromJson(value)];
    }],
  ]),
};

/** The Lua patterns of the scripts, as regular expressions. */
const PATTERNS = new Map<string, RegExp>();

function patternOf(pattern: string): RegExp {
  const known = PATTERNS.get(pattern);
  if (known !== undefined) return known;
  if (/[-[\]?]|^[^(]*$/.test(pattern)) {
    throw new Error(
      `The Lua pattern "${pattern}" has no regular expression here: add one`,
    );
  }
  const regexp = new RegExp(pattern.replaceAll("%", "\\"), "su");
  PATTERNS.set(pattern, regexp);
  return regexp;
}
