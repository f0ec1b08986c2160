import { createClient } from "@redis/client";
import assert from "node:assert/strict";
import {
  createStoreLedger,
  LEDGER_SCRIPTS,
} from "../../src/gateway/shared/store/store_ledger.ts";
import findQuota from "../../src/gateway/shared/store/find_quota.lua" with {
  type: "text",
};
import publishQuota from "../../src/gateway/shared/store/publish_quota.lua" with {
  type: "text",
};
import type { Hold } from "../../src/gateway/usage/sums.ts";
import { createRandom, type Random } from "../support/fakes/random.ts";
import { needing } from "../support/ignored.ts";
import {
  startStoreServer,
  storeProgram,
} from "../support/program/store_server.ts";
import { plain } from "./world/store.ts";
import { StoreData } from "./world/store_data.ts";

const lack = storeProgram === undefined && "there is no Valkey or Redis here";

/** Sends a command to a real store and to the simulated one, checks that both agree, and returns the real reply. */
type Ask = (command: readonly string[]) => Promise<unknown>;

/** Runs a test with both stores. */
async function withBoth(test: (ask: Ask) => Promise<void>): Promise<void> {
  await using server = await startStoreServer();
  const client = createClient({ url: server.url, RESP: 2 });
  client.on("error", () => {});
  await client.connect();
  const data = new StoreData(Date.now);
  try {
    await test(async (command) => {
      const real = await client.sendCommand([...command]).catch(codeOf);
      assert.deepEqual(
        comparable(simulated(data, command), command),
        comparable(real, command),
        command.join(" "),
      );
      return real;
    });
  } finally {
    client.destroy();
  }
}

function simulated(data: StoreData, command: readonly string[]): unknown {
  try {
    return plain(data.run(command));
  } catch (cause) {
    return codeOf(cause);
  }
}

/** Returns the first word of an error, the only one that the gateway reads. */
function codeOf(cause: unknown): { readonly code: string } {
  assert(cause instanceof Error, String(cause));
  return { code: cause.message.split(" ")[0] ?? "" };
}

/** Returns a reply without its times and without the order of a hash's fields. */
function comparable(reply: unknown, [name]: readonly string[]): unknown {
  const text = JSON.stringify(reply)
    .replaceAll(/\d{13}(?:-\d+)?/g, "TIME")
    .replace(/^(\["found",.*,)\d{1,4}\]$/, "$1 left]");
  if (name === "TIME") return JSON.stringify(reply).replaceAll(/\d+/g, "N");
  if (name === "PTTL" && Number(reply) > 0) {
    return Math.round(Number(reply) / 6e4);
  }
  if (name !== "HGETALL" || !Array.isArray(reply)) return text;
  const fields = reply.map((field, at) => `${field} ${reply[at + 1]}`);
  return fields.filter((_, at) => at % 2 === 0).sort();
}

const KEYS = ["a", "b", "c", "ä"];
const TEXTS = ["", "1", "-7", "x", "1.5", "🌍 \u0000\r\n", "9007199254740993"];

/** Returns a random command that the gateway sends, with valid or invalid arguments. */
function anyCommand(random: Random): readonly string[] {
  const key = () => random.pick(KEYS);
  const text = () => random.pick(TEXTS);
  return random.pick([
    () => ["PING"],
    () => ["TIME"],
    () => ["EXISTS", key()],
    () => ["DEL", key(), key()],
    () => ["GET", key()],
    () => ["SET", key(), text()],
    () => ["SET", key(), text(), "NX"],
    () => ["SET", key(), text(), "PX", "600000"],
    () => ["SET", key(), text(), "NX", "PX", "600000"],
    () => ["PTTL", key()],
    () => ["PEXPIRE", key(), "600000"],
    () => ["PEXPIREAT", key(), String(Date.now() + 600_000)],
    () => ["HGET", key(), text()],
    () => ["HGETALL", key()],
    () => ["HINCRBY", key(), text(), random.pick(["1", "-3", "x"])],
    () => ["ZADD", key(), random.pick(["5", "70", "x"]), text()],
    () => ["ZREM", key(), text()],
    () => ["ZREMRANGEBYSCORE", key(), "-inf", "6"],
    () => ["ZRANGE", key(), "0", "-1"],
    () => ["XADD", key(), "MAXLEN", "~", "5000", "*", "from", "x", "n", text()],
    () => ["XREAD", "COUNT", "3", "STREAMS", key(), "0"],
    () => ["XREAD", "COUNT", "200", "STREAMS", "a", "b", "0", "0"],
    () => ["EVALSHA", "0".repeat(40), "0"],
    () => ["NOTHING"],
  ])();
}

Deno.test({
  ...needing("the simulated store replies as a real store does", lack),
  fn: () =>
    withBoth(async (ask) => {
      const random = createRandom(1);
      for (let count = 0; count < 3000; count++) {
        await ask(anyCommand(random));
      }
    }),
});

/** A script that describes a decoded value with its types. */
const DESCRIBE = `
local function describe(value)
  if type(value) == 'number' then return string.format('%.17g', value) end
  if type(value) ~= 'table' then
    return type(value) .. ' ' .. tostring(value == cjson.null or value)
  end
  local parts = {}
  for key, one in pairs(value) do
    parts[#parts + 1] = type(key) .. ' ' .. key .. ': ' .. describe(one)
  end
  table.sort(parts)
  return '{' .. table.concat(parts, ', ') .. '} ' .. #value
end
return describe(cjson.decode(ARGV[1]))`;

const DOCUMENTS = [
  "{}",
  "[]",
  '{"a":[1,2,{"b":"c"}],"d":{"e":true,"f":false}}',
  '"ä 🌍 \\u0000 \\n \\ud83c\\udf0d"',
  "[0, -1, 1.5, 1e3, 1e21, 1785542400000]",
  '{"a":null,"b":[null,1]}',
  '["\\ud83c"]',
  "{",
  "nul",
  '{"a":1}x',
  "",
];

Deno.test({
  ...needing("the simulated store decodes JSON as a real store does", lack),
  fn: () =>
    withBoth(async (ask) => {
      const digest = String(await ask(["SCRIPT", "LOAD", DESCRIBE]));
      for (const text of DOCUMENTS) {
        await ask(["EVALSHA", digest, "0", text]);
      }
    }),
});

Deno.test({
  ...needing("the simulated store runs the scripts as a real store does", lack),
  fn: () =>
    withBoth(async (ask) => {
      const random = createRandom(2);
      const digests = new Map<string, string>();
      const sources = [
        ...LEDGER_SCRIPTS.map(({ lua }) => lua),
        findQuota,
        publishQuota,
      ];
      for (const lua of sources) {
        digests.set(lua, String(await ask(["SCRIPT", "LOAD", lua])));
      }
      const run = (
        lua: string,
        keys: readonly string[],
        args: readonly (string | number)[],
      ) =>
        ask([
          ...["EVALSHA", digests.get(lua) ?? "", String(keys.length), ...keys],
          ...args.map(String),
        ]);
      const link = {
        isAway: false,
        onChange() {},
        close() {},
        send: ask,
        run: ({ lua }: { lua: string }, ...rest: Rest<typeof run>) =>
          run(lua, ...rest),
      };
      const ledger = createStoreLedger({
        ...{ link, prefix: "mg:", clock: { now: Date.now } },
      });
      for (let count = 0; count < 300; count++) {
        await anyChange(random, ledger);
        const reader = random.pick(["one", "two"]);
        await run(findQuota, ["quota", "lock"], [reader, 9000]);
        const quota = random.pick(["", '{"reading":1}']);
        await run(publishQuota, ["quota", "lock"], [reader, quota, 9000]);
        if (random.below(5) === 0) await ask(["DEL", "quota"]);
        // A store with wrong data rejects the batch, and the batch undoes its own changes.
        const at = random.pick(TABLES);
        const key = `mg:sums:${random.below(2)}`;
        await ask(["SET", key, at]);
      }
    }),
});

Deno.test("the store counts a late addition to an ended session window in no later window", async () => {
  let nowMs = 1_000_000;
  const data = new StoreData(() => nowMs);
  const ledger = createStoreLedger({
    ...{ prefix: "mg:", clock: { now: () => nowMs } },
    link: {
      isAway: false,
      onChange() {},
      close() {},
      send: (command) => Promise.resolve(plain(data.run(command))),
      run: ({ lua }, keys, args) =>
        Promise.resolve(
          plain(data.runScript(data.load(lua), keys, args.map(String))),
        ),
    },
  });
  const place = { table: "life", isLife: true };
  let batches = 0;
  const add = (amount: number, endsAtMs: number) =>
    ledger.apply({
      ...{ id: `batch_${++batches}`, holds: [], releases: [] },
      additions: [{
        ...{ ...place, endsAtMs },
        amounts: [{ field: "requests", amount }],
      }],
    });
  const use = async () => {
    const sums = [{ ...place, field: "requests", endsAtMs: nowMs + 1 }];
    const claim = { sums, key: "key", amount: 0, most: 9 };
    return (await ledger.reserve({ id: "", claims: [claim] })).uses;
  };
  await add(1, nowMs + 1000);
  await add(2, nowMs + 5000);
  assert.deepEqual(await use(), [
    { counted: [3], held: 0, endsAtMs: nowMs + 1000 },
  ]);
  nowMs += 1000;
  assert.deepEqual(await use(), [
    { counted: [0], held: 0, endsAtMs: undefined },
  ]);
  await add(4, nowMs + 9000);
  await add(8, nowMs);
  assert.deepEqual(await use(), [
    { counted: [4], held: 0, endsAtMs: nowMs + 9000 },
  ]);
});

type Rest<Run> = Run extends (lua: string, ...rest: infer Others) => unknown
  ? Others
  : never;

const TABLES = ["hour", "day\tä", "month"];

async function anyChange(
  random: Random,
  ledger: ReturnType<typeof createStoreLedger>,
): Promise<void> {
  const endsAtMs = Date.now() + 600_000;
  const hold = (): Hold => ({
    key: random.pick(TABLES),
    id: `req_${random.below(6)}`,
    amount: random.below(3000),
  });
  const list = <One>(one: () => One) =>
    Array.from({ length: random.below(4) }, one);
  const field = () => random.pick(["requests", "tokens", "t\ud800", "ü"]);
  await random.pick([
    () =>
      ledger.apply({
        id: `batch_${random.below(60)}`,
        additions: list(() => ({
          table: random.pick(TABLES),
          endsAtMs,
          amounts: list(() => ({
            field: field(),
            amount: random.below(2000) - 100,
          })),
        })),
        holds: list(hold),
        releases: list(hold),
      }),
    () =>
      ledger.reserve({
        id: random.pick(["", `req_${random.below(6)}`]),
        claims: list(() => ({
          ...hold(),
          sums: [1, 2].map(() => ({
            ...{ table: "hour", field: field(), endsAtMs },
          })),
          most: random.pick([3000, 100_000, Infinity]),
        })),
      }),
    () => ledger.table(random.pick(TABLES)),
    () => ledger.once({ name: random.pick(TABLES), endsAtMs }),
  ])();
}
