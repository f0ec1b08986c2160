import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import { type Protocol, PROTOCOLS } from "../../../../src/base/protocol.ts";
import { createRandom, type Random } from "../../../support/fakes/random.ts";
import {
  connectionTo,
  type Mode,
  openScene,
  type Scene,
} from "../../../support/gateway/failover_scene.ts";
import { credentials } from "../../../support/wire/ask.ts";
import {
  type CachingProvider,
  createCachingProvider,
} from "../../../support/upstream/caching_provider.ts";

const MINUTE_MS = 60_000;
const MODES: readonly Mode[] = ["native", "translated"];

/** The headers in which clients name a session and an agent; without one, the client names neither. */
const CLIENTS: readonly {
  readonly session: string;
  readonly agent?: string;
}[] = [
  { session: "x-claude-code-session-id", agent: "x-claude-code-agent-id" },
  { session: "session-id", agent: "thread-id" },
  { session: "x-session-id" },
  { session: "" },
];

/** Returns words of about `tokens` tokens, with a beginning that no other text has. */
function words(random: Random, tokens: number): string {
  const seed = random.below(1e9);
  return `${seed} ${"lorem ipsum ".repeat(Math.ceil(tokens / 3))}`;
}

/** A conversation of a client, in the client's protocol. */
interface Chat {
  readonly protocol: Protocol;
  model: string;
  tools: string[];
  system: string;
  messages: { role: "user" | "assistant"; text: string }[];
  toolChoice: string;
  hour: boolean;
  /** True when a client of Chat Completions sets Claude's cache marks. */
  readonly isMarked: boolean;
}

function newChat(random: Random, protocol: Protocol, mode: Mode): Chat {
  return {
    protocol,
    model: `${protocol}-${mode}`,
    tools: [words(random, 200), words(random, 200)],
    system: words(random, 600),
    messages: [{ role: "user", text: words(random, 1500) }],
    toolChoice: "auto",
    hour: random.below(4) === 0,
    isMarked: mode === "translated",
  };
}

/** Returns the body of the next turn. A client of Messages moves its mark to the last message, as Claude Code does. */
function bodyOf(chat: Chat): JsonObject {
  const { protocol, model, tools, system, messages, toolChoice, hour } = chat;
  const { isMarked } = chat;
  const named = tools.map((description, index) => ({
    name: `tool_${index}`,
    description,
  }));
  const schema = { type: "object", properties: {} };
  switch (protocol) {
    case "messages": {
      const mark = {
        cache_control: { type: "ephemeral", ...hour && { ttl: "1h" } },
      };
      return {
        model,
        max_tokens: 100,
        system: [{ type: "text", text: system, ...mark }],
        tools: named.map((tool) => ({ ...tool, input_schema: schema })),
        tool_choice: { type: toolChoice === "auto" ? "auto" : "any" },
        messages: messages.map(({ role, text }, index) => ({
          role,
          content: index < messages.length - 1
            ? text
            : [{ type: "text", text, ...mark }],
        })),
      };
    }
    case "chat":
      return {
        model,
        tools: named.map((tool) => ({
          type: "function",
          function: { ...tool, parameters: schema },
        })),
        tool_choice: toolChoice,
        messages: [
          { role: "system", content: system },
          ...messages.map(({ role, text }, index) => ({
            role,
            content: isMarked && index === messages.length - 1
              ? [{ type: "text", text, cache_control: { type: "ephemeral" } }]
              : text,
          })),
        ],
        ...hour && { prompt_cache_retention: "24h" },
      };
    case "responses":
      return {
        model,
        store: false,
        instructions: system,
        tools: named.map((tool) => ({
          type: "function",
          ...tool,
          parameters: schema,
        })),
        tool_choice: toolChoice,
        input: messages.map(({ role, text }) => ({ role, content: text })),
        ...hour && { prompt_cache_retention: "24h" },
      };
  }
}

/** The names in the log of the system prompt, and of each message after it. */
const FIELDS: Readonly<
  Record<Protocol, { readonly system: string; message(index: number): string }>
> = {
  messages: { system: "system", message: (index) => `messages[${index}]` },
  chat: { system: "messages[0]", message: (index) => `messages[${index + 1}]` },
  responses: { system: "instructions", message: (index) => `input[${index}]` },
};

/** The reason and the place that the log must name for a turn. */
interface Plant {
  readonly why?: string;
  readonly at?: string;
}

interface Planting {
  readonly chat: Chat;
  readonly random: Random;
  readonly mode: Mode;
  readonly isNamed: boolean;
  readonly providers: readonly CachingProvider[];
  readonly scene: Scene;
  /** Sends a turn of a helper of the same session. */
  readonly askHelper: (chat: Chat) => Promise<JsonObject>;
}

const PLANTS: Readonly<
  Record<string, (planting: Planting) => Promise<Plant> | Plant>
> = {
  nothing: () => ({}),
  pause({ chat, scene, random, mode }) {
    // The translations of this test cannot request a cache for an hour or a day.
    const isLong = chat.hour && mode === "native";
    const most = isLong ? 50 : 600;
    scene.timers.advance((7 + random.below(most)) * MINUTE_MS);
    return isLong ? {} : { why: "idle" };
  },
  tools({ chat, random }) {
    chat.tools[1] = words(random, 200);
    return { why: "edited", at: "tools" };
  },
  system({ chat, random }) {
    chat.system = words(random, 600);
    return { why: "edited", at: FIELDS[chat.protocol].system };
  },
  message({ chat, random }) {
    const last = chat.messages[0];
    if (last !== undefined) last.text = words(random, 1500);
    // Without a name, another first message means another conversation.
    return { why: "edited", at: FIELDS[chat.protocol].message(0) };
  },
  compaction({ chat, random }) {
    chat.messages = [{ role: "user", text: words(random, 2500) }];
    return { why: "edited", at: FIELDS[chat.protocol].message(0) };
  },
  async subagent({ chat, random, mode, askHelper }) {
    const helper = newChat(random, chat.protocol, mode);
    for (let turn = 0; turn < 2; turn++) {
      const line = await askHelper(helper);
      assert.equal(line.cache_miss, undefined);
      grow(helper, random);
    }
    return {};
  },
  model({ chat }) {
    chat.model += "-2";
    return { why: "model" };
  },
  failover({ chat, providers }) {
    for (const provider of providers.slice(0, 1)) {
      provider.failNext(`up-${chat.model}`);
    }
    return { why: "moved" };
  },
  forgets({ providers }) {
    for (const provider of providers) provider.forget();
    return { why: "provider" };
  },
};

function grow(chat: Chat, random: Random): void {
  chat.messages.push(
    { role: "assistant", text: words(random, 100) },
    { role: "user", text: words(random, 400 + random.below(1500)) },
  );
}

Deno.test("the log names the cause of each cache miss in 500 conversations, on every path and in every mode", async () => {
  const random = createRandom(36);
  const providers = [createCachingProvider(), createCachingProvider()];
  const pairs = PROTOCOLS.flatMap((protocol) =>
    MODES.map((mode) => ({ protocol, mode }))
  );
  const connections = pairs.flatMap(({ protocol, mode }) =>
    ["first", "second"].map((host) => ({
      ...connectionTo(host, { protocol, mode }, {
        models: ["", "-2"].map((suffix) => ({
          id: `${protocol}-${mode}${suffix}`,
          upstream: `up-${protocol}-${mode}${suffix}`,
          price: { input: 3, cached_input: 0.3, cache_write: 3.75, output: 15 },
        })),
      }),
      name: `${host} ${protocol} ${mode}`,
    }))
  );
  const scene = await openScene(connections, {
    first: [providers[0]?.act ?? assert.fail()],
    second: [providers[1]?.act ?? assert.fail()],
  });

  async function turn(
    chat: Chat,
    headers: Readonly<Record<string, string>>,
  ): Promise<JsonObject> {
    scene.timers.advance((2 + random.below(90)) * 1000);
    const request = scene.request(chat.protocol, bodyOf(chat));
    for (const [name, value] of Object.entries(headers)) {
      request.headers.set(name, value);
    }
    const response = await scene.pass(scene.gateway.handler(request));
    assert.equal(response.status, 200, await response.clone().text());
    await scene.pass(response.text());
    return await scene.lines.of(response);
  }

  const wrong: string[] = [];
  const counted = new Map<string, number>();
  const plants = Object.keys(PLANTS);
  let judged = 0;
  for (let index = 0; index < 500; index++) {
    const name = plants[index % plants.length] ?? "";
    const { protocol, mode } = random.pick(pairs);
    const { session, agent } = random.pick(CLIENTS);
    const isNamed = session !== "";
    const chat = newChat(random, protocol, mode);
    const ids = isNamed ? { [session]: `s-${index}` } : {};
    const planted = 2 + random.below(2);
    for (let count = 0; count < planted + 2; count++) {
      let expected: Plant = {};
      if (count === planted) {
        expected = await PLANTS[name]?.({
          ...{ chat, random, mode, isNamed, providers, scene },
          askHelper: (helper) =>
            turn(
              helper,
              agent === undefined ? ids : { ...ids, [agent]: `a-${index}` },
            ),
        }) ?? {};
      }
      const line = await turn(chat, ids);
      judged++;
      if (typeof line.cache_miss === "string") {
        const cause = line.cache_miss;
        counted.set(cause, (counted.get(cause) ?? 0) + 1);
        assert.ok(Number(line.cache_miss_tokens) >= 1024);
        assert.ok(Number(line.cache_miss_usd) > 0);
      }
      const found = { why: line.cache_miss, at: line.cache_miss_at };
      const isNew = !isNamed && ["compaction", "message"].includes(name);
      const isRight = isNew && found.why === undefined ||
        found.why === expected.why && found.at === expected.at;
      const wasOurs = found.why === "provider" && expected.why !== "provider";
      const what =
        `${index} ${protocol} ${mode} ${session} ${name} turn ${count}` +
        `: ${JSON.stringify(found)} for ${JSON.stringify(expected)} ${
          JSON.stringify(line.usage)
        } ${line.connection}`;
      assert.ok(!wasOurs, what);
      if (!isRight) wrong.push(what);
      grow(chat, random);
    }
  }
  assert.ok(
    wrong.length <= 5,
    `${wrong.length} of ${judged}:\n${wrong.join("\n")}`,
  );

  const reported = await scene.gateway.handler(
    new Request("http://gateway/v1/usage", { headers: credentials("chat") }),
  );
  const { windows } = await reported.json();
  const month: readonly { cause: string; requests: number }[] =
    windows.at(-1).cache_misses;
  for (const [cause, count] of counted) {
    const sum = month.filter((one) => one.cause === cause)
      .reduce((sum, { requests }) => sum + requests, 0);
    assert.equal(sum, count, cause);
  }
});
