import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import type {
  SettledReasoning,
  Target,
} from "../../../../src/codecs/canonical/codec.ts";
import {
  type SealBinding,
  sealDigest,
} from "../../../../src/codecs/canonical/content/sealed.ts";
import { settleReasoning } from "../../../../src/codecs/messages/request/preserved_thinking.ts";
import { contextFor } from "../../../support/dialects/targets.ts";

// The definition of an edit:
// https://platform.claude.com/docs/en/build-with-claude/preserved-thinking#what-counts-as-an-edit

const text = (words: string): JsonObject => ({ type: "text", text: words });
const user = (...content: JsonObject[]): JsonObject => ({
  role: "user",
  content,
});
const tool = (name: string): JsonObject => ({
  name,
  description: `It can ${name}`,
  input_schema: { type: "object", properties: { a: {}, b: {} } },
});
const THOUGHT = { type: "thinking", thinking: "hm", signature: "s" };
const CALL = { type: "tool_use", id: "c", name: "look", input: { a: 1, b: 2 } };

/** The request that produced the reasoning. */
const FIRST: JsonObject = {
  model: "m",
  system: [text("You work.")],
  tools: [tool("look"), tool("write")],
  messages: [user(text("Work"), text("now"))],
};

/** The next request of a caller who only appended messages. */
const SECOND: JsonObject = {
  ...FIRST,
  messages: [
    user(text("Work"), text("now")),
    { role: "assistant", content: [THOUGHT, CALL] },
    user({ type: "tool_result", tool_use_id: "c", content: [text("ok")] }),
  ],
};

function targetOf(target: Partial<Target> = {}): Target {
  return contextFor("custom", { model: "claude-fable-5-1", ...target }).context
    .target;
}

function settle(
  body: JsonObject,
  bound?: SealBinding,
  target = targetOf(),
): SettledReasoning | undefined {
  return settleReasoning(body, {
    target,
    boundOf: (value) => value === "s" ? bound : undefined,
  });
}

const BOUND = settle(FIRST)?.bound;

/** Returns true when a body contains the reasoning. */
function isKept(body: JsonObject): boolean {
  const settled = settle(body, BOUND);
  assert.equal(settled?.isCut, settled?.body !== body);
  assert.equal(
    JSON.stringify(settled?.body).includes('"signature":"s"'),
    !settled?.isCut,
  );
  assert.deepEqual(
    settled?.reasoning,
    settled?.isCut ? [] : [sealDigest({ value: "s" })],
  );
  assert.equal(settled?.bound.after, settled?.reasoning.at(-1));
  return !settled?.isCut;
}

function withMessage(place: number, message: JsonObject): JsonObject {
  const messages = Array.isArray(SECOND.messages) ? [...SECOND.messages] : [];
  messages[place] = message;
  return { ...SECOND, messages };
}

Deno.test("thinking is kept when the prefix is unchanged, apart from fields that Claude does not compare", () => {
  const mark = { cache_control: { type: "ephemeral" } };
  const same: Readonly<Record<string, JsonObject>> = {
    "nothing else": SECOND,
    "other settings": {
      ...SECOND,
      max_tokens: 5,
      thinking: { type: "adaptive", display: "omitted" },
      output_config: { effort: "low" },
      tool_choice: { type: "none" },
      metadata: { user_id: "u" },
    },
    "another order of the tools": {
      ...SECOND,
      tools: [tool("write"), tool("look")],
    },
    "cache marks": {
      ...withMessage(0, user(text("Work"), { ...text("now"), ...mark })),
      system: [{ ...text("You work."), ...mark }],
      tools: [tool("look"), { ...tool("write"), ...mark }],
    },
    "a later message": withMessage(2, user(text("Something else"))),
  };
  for (const [name, body] of Object.entries(same)) {
    assert.ok(isKept(body), name);
  }
});

Deno.test("thinking is kept when a cache mark in a result changed, and removed when the result changed", () => {
  const result = (words: string, mark: JsonObject = {}) =>
    user({
      type: "tool_result",
      tool_use_id: "b",
      content: [{ ...text(words), ...mark }],
      ...mark,
    });
  const asked = (...messages: JsonObject[]): JsonObject => ({ messages });
  const bound = settle(asked(result("ok")))?.bound;
  const thought = { role: "assistant", content: [THOUGHT, CALL] };
  const mark = { cache_control: { type: "ephemeral" } };
  const isCut = (message: JsonObject) =>
    settle(asked(message, thought), bound)?.isCut;
  assert.equal(isCut(result("ok", mark)), false);
  assert.equal(isCut(result("[cleared]")), true);
});

Deno.test("thinking after a changed prefix is removed, and the rest of the body does not change", () => {
  const changed: Readonly<Record<string, JsonObject>> = {
    "the system text": { ...SECOND, system: [text("You rest.")] },
    "no system text": { ...SECOND, system: undefined },
    "two system texts": { ...SECOND, system: [text("You"), text("work.")] },
    "a further tool": {
      ...SECOND,
      tools: [tool("look"), tool("write"), tool("search")],
    },
    "a missing tool": { ...SECOND, tools: [tool("look")] },
    "no tools": { ...SECOND, tools: undefined },
    "another description": {
      ...SECOND,
      tools: [tool("look"), { ...tool("write"), description: "It writes" }],
    },
    "an earlier text": withMessage(0, user(text("Work"), text("later"))),
    "two texts joined to one": withMessage(0, user(text("Work\n\nnow"))),
    "the role of an earlier message": withMessage(0, {
      role: "system",
      content: [text("Work"), text("now")],
    }),
    "a text before the thinking": withMessage(1, {
      role: "assistant",
      content: [text("I look."), THOUGHT, CALL],
    }),
  };
  for (const [name, body] of Object.entries(changed)) {
    assert.ok(!isKept(body), name);
    const { body: cut } = settle(body, BOUND) ?? {};
    const without = JSON.stringify(body).replace(
      `${JSON.stringify(THOUGHT)},`,
      "",
    );
    assert.equal(JSON.stringify(cut), without, name);
  }
});

Deno.test("the binding of thinking does not depend on earlier thinking's text", () => {
  const bare = withMessage(1, { role: "assistant", content: [CALL] });
  assert.equal(settle(SECOND, BOUND)?.bound.prefix, settle(bare)?.bound.prefix);
  assert.equal(settle(bare)?.bound.after, undefined);
});

Deno.test("redacted thinking is checked, and thinking without a signature is not", () => {
  const redacted = withMessage(1, {
    role: "assistant",
    content: [{ type: "redacted_thinking", data: "s" }, CALL],
  });
  assert.equal(settle(redacted, BOUND)?.isCut, false);
  assert.equal(settle({ ...redacted, system: [] }, BOUND)?.isCut, true);
  const unsigned = withMessage(1, {
    role: "assistant",
    content: [{ ...THOUGHT, signature: "" }, CALL],
  });
  assert.deepEqual(settle(unsigned)?.reasoning, []);
  assert.equal(settle(unsigned)?.body, unsigned);
});

Deno.test("a model without prefix checks gets all thinking back, and its new thinking gets a binding", () => {
  const older = targetOf({ model: "claude-opus-4-5" });
  const changed = { ...SECOND, system: [] };
  const settled = settle(changed, BOUND, older);
  assert.equal(settled?.body, changed);
  assert.deepEqual(settled?.bound, {
    prefix: settle(changed)?.bound.prefix,
    after: sealDigest({ value: "s" }),
  });
});

Deno.test("only Claude's thinking gets a binding, directly or through another gateway", () => {
  const of = (service: string, model: string) =>
    settle(SECOND, BOUND, contextFor(service, { model }).context.target);
  assert.equal(of("custom", "glm-5.1"), undefined);
  assert.equal(of("gateway", "glm-5.1"), undefined);
  assert.equal(of("gateway", "claude-opus-5-5")?.isCut, false);
});

Deno.test("a body with messages forced by the connection does not change", () => {
  const forced = { model: "m", messages: [{ role: "user", content: "Hi" }, 7] };
  const bodies = [forced, { messages: "none" }, {}];
  for (const body of bodies) {
    const settled = settle(body);
    assert.equal(settled?.body, body);
    assert.equal(settled?.isCut, false);
  }
  const prefixes = bodies.map((body) => settle(body)?.bound.prefix);
  assert.notEqual(prefixes[0], prefixes[2]);
});
