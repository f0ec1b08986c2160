import fengari from "npm:fengari@0.1.5";
import { type JsonValue, parseJson } from "../../../src/core/json.ts";

/** A reply of the store, in the types of RESP 2; a script has statuses, too. */
export type Reply = string | number | null | Status | readonly Reply[];

/** A short text that is no value, such as `OK`. */
export class Status {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An error of the store, such as `NOSCRIPT No matching script`. */
export class ReplyError extends Error {}

/** The state of a Lua virtual machine, which only the library looks into. */
type State = object;

type LuaText = object;

/** The functions of the library, with their names in C (https://www.lua.org/manual/5.3/manual.html#4.8). */
interface Lua {
  readonly lua: {
    readonly LUA_REGISTRYINDEX: number;
    readonly LUA_TBOOLEAN: number;
    readonly LUA_TNUMBER: number;
    readonly LUA_TSTRING: number;
    readonly LUA_TTABLE: number;
    lua_gettop(state: State): number;
    lua_settop(state: State, top: number): void;
    lua_type(state: State, index: number): number;
    lua_toboolean(state: State, index: number): boolean;
    lua_tonumber(state: State, index: number): number;
    lua_tostring(state: State, index: number): LuaText;
    lua_pushboolean(state: State, value: boolean): void;
    lua_pushinteger(state: State, value: number): void;
    lua_pushlightuserdata(state: State, value: object): void;
    lua_pushnumber(state: State, value: number): void;
    lua_pushstring(state: State, value: LuaText): void;
    lua_pushvalue(state: State, index: number): void;
    lua_pushcfunction(state: State, run: (state: State) => number): void;
    lua_newtable(state: State): void;
    lua_rawgeti(state: State, index: number, key: number): number;
    lua_rawset(state: State, index: number): void;
    lua_rawseti(state: State, index: number, key: number): void;
    lua_getfield(state: State, index: number, key: LuaText): number;
    lua_setfield(state: State, index: number, key: LuaText): void;
    lua_getglobal(state: State, name: LuaText): number;
    lua_setglobal(state: State, name: LuaText): void;
    lua_pcall(
      state: State,
      args: number,
      results: number,
      onError: number,
    ): number;
    lua_error(state: State): never;
  };
  readonly lauxlib: {
    luaL_newstate(): State;
    luaL_loadstring(state: State, source: LuaText): number;
    luaL_ref(state: State, table: number): number;
  };
  readonly lualib: { luaL_openlibs(state: State): void };
  to_luastring(text: string): LuaText;
  to_jsstring(text: LuaText): string;
}

const library: Lua = fengari;
const { lua, lauxlib, lualib, to_luastring, to_jsstring } = library;

/** The longest text that is worth to be kept, and the number of texts that are kept. */
const LONGEST_KEPT = 100;
const MOST_KEPT = 5000;

/** Converts texts between a virtual machine and JavaScript, and keeps those that come again, such as names of fields. */
class LuaTexts {
  readonly #state: State;
  /** References to texts of the virtual machine. */
  readonly #pushed = new Map<string, number>();
  readonly #read = new WeakMap<LuaText, string>();

  constructor(state: State) {
    this.#state = state;
  }

  push(text: string): void {
    const state = this.#state;
    const known = this.#pushed.get(text);
    if (known !== undefined) {
      lua.lua_rawgeti(state, lua.LUA_REGISTRYINDEX, known);
      return;
    }
    lua.lua_pushstring(state, to_luastring(text));
    if (text.length > LONGEST_KEPT || this.#pushed.size > MOST_KEPT) return;
    lua.lua_pushvalue(state, -1);
    const reference = lauxlib.luaL_ref(state, lua.LUA_REGISTRYINDEX);
    this.#pushed.set(text, reference);
  }

  at(index: number): string {
    const text = lua.lua_tostring(this.#state, index);
    const known = this.#read.get(text);
    if (known !== undefined) return known;
    const read = to_jsstring(text);
    this.#read.set(text, read);
    return read;
  }
}

/**
 * Runs the scripts of the store as Redis does: with `redis.call`, `redis.pcall`, `cjson.decode`, `KEYS` and `ARGV`, with
 * `unpack` as in Lua 5.1, and with the same conversions of values (https://redis.io/docs/latest/develop/programmability/lua-api/#data-type-conversion).
 */
export class LuaScripts {
  readonly #state = lauxlib.luaL_newstate();
  readonly #texts = new LuaTexts(this.#state);
  readonly #known = new Map<string, number>();

  /** @param call Runs a command; throws a {@linkcode ReplyError}. */
  constructor(call: (command: readonly string[]) => Reply) {
    const state = this.#state;
    lualib.luaL_openlibs(state);
    lua.lua_newtable(state);
    for (
      const [name, isProtected] of [["call", false], ["pcall", true]] as const
    ) {
      lua.lua_pushcfunction(state, () => this.#runCommand(call, isProtected));
      lua.lua_setfield(state, -2, to_luastring(name));
    }
    lua.lua_setglobal(state, to_luastring("redis"));
    lua.lua_newtable(state);
    lua.lua_pushcfunction(state, () => this.#decodeJson());
    lua.lua_setfield(state, -2, to_luastring("decode"));
    lua.lua_pushlightuserdata(state, JSON_NULL);
    lua.lua_setfield(state, -2, to_luastring("null"));
    lua.lua_setglobal(state, to_luastring("cjson"));
    lua.lua_getglobal(state, to_luastring("table"));
    lua.lua_getfield(state, -1, to_luastring("unpack"));
    lua.lua_setglobal(state, to_luastring("unpack"));
    lua.lua_settop(state, 0);
  }

  /** Runs a script. @throws {ReplyError} */
  run(
    source: string,
    keys: readonly string[],
    args: readonly string[],
  ): Reply {
    const state = this.#state;
    for (const [name, texts] of [[KEYS, keys], [ARGV, args]] as const) {
      this.#push(texts);
      lua.lua_setglobal(state, name);
    }
    lua.lua_rawgeti(state, lua.LUA_REGISTRYINDEX, this.#load(source));
    const fault = lua.lua_pcall(state, 0, 1, 0);
    try {
      if (fault !== 0) throw errorAt(state, -1);
      return replyAt(state, -1);
    } finally {
      lua.lua_settop(state, 0);
    }
  }

  #load(source: string): number {
    const known = this.#known.get(source);
    if (known !== undefined) return known;
    const state = this.#state;
    const fault = lauxlib.luaL_loadstring(state, to_luastring(source));
    if (fault !== 0) throw errorAt(state, -1);
    const reference = lauxlib.luaL_ref(state, lua.LUA_REGISTRYINDEX);
    this.#known.set(source, reference);
    return reference;
  }

  #runCommand(
    call: (command: readonly string[]) => Reply,
    isProtected: boolean,
  ): number {
    const state = this.#state;
    try {
      const count = lua.lua_gettop(state);
      const command: string[] = [];
      for (let at = 1; at <= count; at++) command.push(this.#textAt(at));
      this.#push(call(command));
      return 1;
    } catch (cause) {
      this.#pushError(cause);
    }
    return isProtected ? 1 : lua.lua_error(state);
  }

  #decodeJson(): number {
    try {
      const value = parseJson(this.#textAt(1));
      if (value === undefined) throw new ReplyError("ERR invalid JSON");
      this.#pushJson(value);
      return 1;
    } catch (cause) {
      this.#pushError(cause);
    }
    return lua.lua_error(this.#state);
  }

  /** Pushes an error as the scripts see it: a table with its text. */
  #pushError(cause: unknown): void {
    if (!(cause instanceof ReplyError)) throw cause;
    const state = this.#state;
    lua.lua_newtable(state);
    lua.lua_pushstring(state, to_luastring(cause.message));
    lua.lua_setfield(state, -2, ERR);
  }

  #pushJson(value: JsonValue): void {
    const state = this.#state;
    if (typeof value === "string") {
      // The parser of the store rejects half of a surrogate pair.
      if (!value.isWellFormed()) throw new ReplyError("ERR invalid JSON");
      this.#texts.push(value);
    } else if (typeof value === "number") lua.lua_pushnumber(state, value);
    else if (typeof value === "boolean") lua.lua_pushboolean(state, value);
    else if (value === null) lua.lua_pushlightuserdata(state, JSON_NULL);
    else if (Array.isArray(value)) {
      lua.lua_newtable(state);
      for (const [at, one] of value.entries()) {
        this.#pushJson(one);
        lua.lua_rawseti(state, -2, at + 1);
      }
    } else {
      lua.lua_newtable(state);
      for (const [key, one] of Object.entries(value)) {
        this.#texts.push(key.toWellFormed());
        this.#pushJson(one ?? null);
        lua.lua_rawset(state, -3);
      }
    }
  }

  #textAt(index: number): string {
    const state = this.#state;
    const type = lua.lua_type(state, index);
    if (type === lua.LUA_TSTRING) return this.#texts.at(index);
    if (type === lua.LUA_TNUMBER) {
      return String(lua.lua_tonumber(state, index));
    }
    throw new ReplyError(
      "ERR Lua redis lib command arguments must be strings or integers",
    );
  }

  #push(reply: Reply): void {
    const state = this.#state;
    if (reply === null) lua.lua_pushboolean(state, false);
    else if (typeof reply === "number") lua.lua_pushinteger(state, reply);
    else if (typeof reply === "string") this.#texts.push(reply);
    else {
      lua.lua_newtable(state);
      if (reply instanceof Status) {
        this.#texts.push(reply.text);
        lua.lua_setfield(state, -2, OK);
        return;
      }
      for (const [at, one] of reply.entries()) {
        this.#push(one);
        lua.lua_rawseti(state, -2, at + 1);
      }
    }
  }
}

const KEYS = to_luastring("KEYS");
const ARGV = to_luastring("ARGV");
const OK = to_luastring("ok");
const ERR = to_luastring("err");

/** `cjson.null`, which is not `nil`. */
const JSON_NULL = {};

function errorAt(state: State, index: number): ReplyError {
  const isTable = lua.lua_type(state, index) === lua.LUA_TTABLE;
  const text = isTable
    ? fieldAt(state, index, ERR)
    : to_jsstring(lua.lua_tostring(state, index));
  return new ReplyError(text ?? "ERR unknown");
}

function fieldAt(
  state: State,
  index: number,
  name: LuaText,
): string | undefined {
  lua.lua_getfield(state, index, name);
  const text = lua.lua_type(state, -1) === lua.LUA_TSTRING
    ? to_jsstring(lua.lua_tostring(state, -1))
    : undefined;
  lua.lua_settop(state, -2);
  return text;
}

function replyAt(state: State, index: number): Reply {
  switch (lua.lua_type(state, index)) {
    case lua.LUA_TNUMBER:
      return Math.trunc(lua.lua_tonumber(state, index));
    case lua.LUA_TSTRING:
      return to_jsstring(lua.lua_tostring(state, index));
    case lua.LUA_TBOOLEAN:
      return lua.lua_toboolean(state, index) ? 1 : null;
    case lua.LUA_TTABLE:
      return tableAt(state, index);
    default:
      return null;
  }
}

/** A list ends before its first nil. */
function tableAt(state: State, index: number): Reply {
  const error = fieldAt(state, index, ERR);
  if (error !== undefined) throw new ReplyError(error);
  const status = fieldAt(state, index, OK);
  if (status !== undefined) return new Status(status);
  const list: Reply[] = [];
  for (let at = 1;; at++) {
    const type = lua.lua_rawgeti(state, index, at);
    const reply = type === 0 ? undefined : replyAt(state, -1);
    lua.lua_settop(state, -2);
    if (reply === undefined) return list;
    list.push(reply);
  }
}
