import { createHash } from "node:crypto";
import { LuaScripts, type Reply, ReplyError, Status } from "./lua.ts";

/** An entry of a stream: its id in two numbers, and its fields and values. */
interface StreamEntry {
  readonly ms: number;
  readonly number: number;
  readonly parts: readonly string[];
}

/** A value of the store. */
type Value =
  | { readonly kind: "string"; text: string }
  | { readonly kind: "hash"; readonly fields: Map<string, string> }
  | { readonly kind: "zset"; readonly scores: Map<string, number> }
  | { readonly kind: "stream"; entries: StreamEntry[]; last: StreamEntry };

type Kind = Value["kind"];

type Of<Wanted extends Kind> = Extract<Value, { kind: Wanted }>;

interface Entry {
  readonly value: Value;
  /** Milliseconds since 1970, on the store's clock. */
  expiresAtMs: number;
}

const OK = new Status("OK");
const FIRST: StreamEntry = { ms: 0, number: 0, parts: [] };

const CREATE: { readonly [Wanted in Kind]: () => Of<Wanted> } = {
  string: () => ({ kind: "string", text: "" }),
  hash: () => ({ kind: "hash", fields: new Map() }),
  zset: () => ({ kind: "zset", scores: new Map() }),
  stream: () => ({ kind: "stream", entries: [], last: FIRST }),
};

/** The data of a Redis server, and the commands that the gateway and its scripts use. */
export class StoreData {
  #entries = new Map<string, Entry>();
  readonly #scripts = new Map<string, string>();
  readonly #now: () => number;
  readonly #lua = new LuaScripts((command) => this.run(command));

  /** @param now Returns milliseconds since 1970 on the store's clock. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Runs a command. @throws {ReplyError} */
  run([name = "", ...args]: readonly string[]): Reply {
    const command = COMMANDS[name];
    if (command === undefined) throw new ReplyError("ERR unknown command");
    return command(this, args);
  }

  /** Returns a copy of all data, without the scripts. */
  snapshot(): ReadonlyMap<string, unknown> {
    return structuredClone(this.#entries);
  }

  /** Replaces all data with a copy of {@linkcode snapshot}, or with nothing, and removes the scripts. */
  restore(snapshot: ReadonlyMap<string, unknown> = new Map()): void {
    this.#scripts.clear();
    this.#entries.clear();
    const copy = structuredClone(snapshot);
    for (const [key, entry] of copy) {
      if (isEntry(entry)) this.#entries.set(key, entry);
    }
  }

  /** All keys and values, as text. */
  *texts(): Iterable<string> {
    for (const [key, { value }] of this.#entries) {
      yield key;
      if (value.kind === "string") yield value.text;
      else if (value.kind === "hash") yield [...value.fields].join(" ");
      else if (value.kind === "zset") yield [...value.scores].join(" ");
      else for (const { parts } of value.entries) yield parts.join(" ");
    }
  }

  get nowMs(): number {
    return this.#now();
  }

  find(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.expiresAtMs > this.#now()) return entry;
    this.#entries.delete(key);
    return undefined;
  }

  /** Returns the value of a key, or throws if it has another kind. */
  get<Wanted extends Kind>(key: string, kind: Wanted): Of<Wanted> | undefined {
    const value = this.find(key)?.value;
    if (value === undefined) return undefined;
    if (isOf(value, kind)) return value;
    throw new ReplyError(
      "WRONGTYPE Operation against a key holding the wrong kind of value",
    );
  }

  open<Wanted extends Kind>(key: string, kind: Wanted): Of<Wanted> {
    const known = this.get(key, kind);
    if (known !== undefined) return known;
    const value = CREATE[kind]();
    this.#entries.set(key, { value, expiresAtMs: Infinity });
    return value;
  }

  set(key: string, text: string, expiresAtMs: number): void {
    this.#entries.set(key, { value: { kind: "string", text }, expiresAtMs });
  }

  delete(key: string): boolean {
    return this.find(key) !== undefined && this.#entries.delete(key);
  }

  load(source: string): string {
    const digest = createHash("sha1").update(source).digest("hex");
    this.#scripts.set(digest, source);
    return digest;
  }

  runScript(
    digest: string,
    keys: readonly string[],
    args: readonly string[],
  ): Reply {
    const source = this.#scripts.get(digest);
    if (source === undefined) {
      throw new ReplyError("NOSCRIPT No matching script. Please use EVAL.");
    }
    return this.#lua.run(source, keys, args);
  }
}

function isOf<Wanted extends Kind>(
  value: Value,
  kind: Wanted,
): value is Of<Wanted> {
  return value.kind === kind;
}

function isEntry(value: unknown): value is Entry {
  return typeof value === "object" && value !== null && "value" in value;
}

type Command = (data: StoreData, args: readonly string[]) => Reply;

const COMMANDS: Readonly<Record<string, Command>> = {
  PING: () => new Status("PONG"),
  TIME: (data) => [
    String(Math.floor(data.nowMs / 1000)),
    String(Math.floor(data.nowMs % 1000 * 1000)),
  ],
  EXISTS: (data, [key = ""]) => data.find(key) === undefined ? 0 : 1,
  DEL: (data, keys) => keys.filter((key) => data.delete(key)).length,
  GET: (data, [key = ""]) => data.get(key, "string")?.text ?? null,
  SET(data, [key = "", text = "", ...options]) {
    if (options.includes("NX") && data.find(key) !== undefined) return null;
    const lifetime = options[options.indexOf("PX") + 1];
    const expiresAtMs = options.includes("PX")
      ? data.nowMs + whole(lifetime)
      : Infinity;
    data.set(key, text, expiresAtMs);
    return OK;
  },
  PTTL(data, [key = ""]) {
    const entry = data.find(key);
    if (entry === undefined) return -2;
    return entry.expiresAtMs === Infinity
      ? -1
      : Math.ceil(entry.expiresAtMs - data.nowMs);
  },
  PEXPIRE: (data, [key = "", ms]) => expire(data, key, data.nowMs + whole(ms)),
  PEXPIREAT: (data, [key = "", ms]) => expire(data, key, whole(ms)),
  HGET: (data, [key = "", field = ""]) =>
    data.get(key, "hash")?.fields.get(field) ?? null,
  HGETALL: (data, [key = ""]) =>
    [...data.get(key, "hash")?.fields ?? []].flat(),
  HINCRBY(data, [key = "", field = "", amount]) {
    const by = whole(amount);
    const { fields } = data.open(key, "hash");
    const sum = whole(fields.get(field) ?? "0") + by;
    fields.set(field, String(sum));
    return sum;
  },
  ZADD(data, [key = "", score, member = ""]) {
    const number = whole(score);
    const { scores } = data.open(key, "zset");
    const isNew = !scores.has(member);
    scores.set(member, number);
    return isNew ? 1 : 0;
  },
  ZREM(data, [key = "", member = ""]) {
    return removeMembers(data, key, (one) => one === member);
  },
  ZREMRANGEBYSCORE(data, [key = "", , most]) {
    return removeMembers(data, key, (_, score) => score <= whole(most));
  },
  ZRANGE: (data, [key = ""]) =>
    [...data.get(key, "zset")?.scores ?? []]
      .sort(([one, first], [other, second]) =>
        first - second || (one < other ? -1 : 1)
      )
      .map(([member]) => member),
  XADD(data, [key = "", ...args]) {
    const at = args.indexOf("*");
    const most = whole(args[at - 1]);
    const stream = data.open(key, "stream");
    const { last } = stream;
    const nowMs = Math.floor(data.nowMs);
    const id = nowMs > last.ms
      ? { ms: nowMs, number: 0 }
      : { ms: last.ms, number: last.number + 1 };
    stream.last = { ...id, parts: args.slice(at + 1) };
    stream.entries.push(stream.last);
    if (stream.entries.length > most) stream.entries.shift();
    return idText(stream.last);
  },
  XREAD(data, args) {
    const most = whole(args[1]);
    const names = args.slice(args.indexOf("STREAMS") + 1);
    const half = names.length / 2;
    const found: Reply[] = [];
    for (let at = 0; at < half; at++) {
      const [key = "", position = ""] = [names[at], names[half + at]];
      const stream = data.get(key, "stream");
      // Most reads find nothing new.
      if (stream === undefined || position === idText(stream.last)) continue;
      const [ms = 0, number = 0] = position.split("-").map(Number);
      const first = 1 +
        stream.entries.findLastIndex((one) =>
          one.ms < ms || one.ms === ms && one.number <= number
        );
      const entries = stream.entries.slice(first, first + most);
      const list = entries.map((one): Reply => [idText(one), one.parts]);
      if (list.length > 0) found.push([key, list]);
    }
    return found.length === 0 ? null : found;
  },
  SCRIPT: (data, [, source = ""]) => data.load(source),
  EVALSHA(data, [digest = "", count, ...rest]) {
    const keys = whole(count);
    return data.runScript(digest, rest.slice(0, keys), rest.slice(keys));
  },
};

function expire(data: StoreData, key: string, atMs: number): number {
  const entry = data.find(key);
  if (entry === undefined) return 0;
  entry.expiresAtMs = atMs;
  return 1;
}

/** A set without members does not exist. */
function removeMembers(
  data: StoreData,
  key: string,
  isRemoved: (member: string, score: number) => boolean,
): number {
  const scores = data.get(key, "zset")?.scores;
  const removed = [...scores ?? []]
    .filter(([member, score]) => isRemoved(member, score));
  for (const [member] of removed) scores?.delete(member);
  if (scores?.size === 0) data.delete(key);
  return removed.length;
}

function idText({ ms, number }: StreamEntry): string {
  return `${ms}-${number}`;
}

function whole(text = ""): number {
  if (!/^-?\d+$/.test(text)) {
    throw new ReplyError("ERR value is not an integer or out of range");
  }
  return Number(text);
}
