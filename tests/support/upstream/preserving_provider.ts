import type { Fetch } from "../../../src/gateway/upstream/call.ts";
import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../src/base/json.ts";
import { assertSendable } from "../sdk/messages_rules.ts";
import { JSON_HEADERS, SSE_HEADERS } from "../wire/answers.ts";

/*
 * A Messages provider with preserved thinking, by the rules of
 * https://platform.claude.com/docs/en/build-with-claude/preserved-thinking (prefix-checks,
 * fix-bound-to-a-different-conversation) and the types of `@anthropic-ai/sdk`. It compares whole
 * prefixes, not digests, and includes the earlier blocks of the same message.
 */

/** One block of a scripted answer. Reasoning without text has the form of `display: "omitted"`. */
export type Said =
  | { readonly thinking: string }
  | { readonly redacted: true }
  | { readonly text: string }
  | { readonly call: string };

/** The provider's behaviour. */
export interface PreservingOptions {
  /** The scripted answer; default: one reasoning block and one call. */
  readonly answer?: (asked: JsonObject) => readonly Said[];
  /**
   * True when the account is newer than 2026-08-31, so that a failed check is an error; default:
   * true.
   */
  readonly isNewAccount?: boolean;
  /** True when it accepts `block_binding`, as Anthropic's own endpoint does; default: false. */
  readonly takesBinding?: boolean;
  /** True when a model checks prefixes; default: all do. */
  readonly checks?: (model: string) => boolean;
  /** True when a model reads another model's reasoning; default: all do. */
  readonly reads?: (reader: string, author: string) => boolean;
  /**
   * State that the provider compares but no request contains, such as the bytes of an image URL;
   * default: none.
   */
  readonly hidden?: () => string;
}

/** A request and the provider's judgement. */
export interface Judged {
  readonly body: JsonObject;
  readonly headers: Headers;
  readonly status: number;
  /**
   * The names of the reasoning blocks in the request, `t1`, `t2` … in the order of their creation.
   */
  readonly thoughts: readonly string[];
  readonly dropped: readonly {
    readonly path: string;
    readonly reason: string;
  }[];
}

/** A provider and its requests. */
export interface PreservingProvider {
  readonly fetch: Fetch;
  readonly judged: readonly Judged[];
  /** The names of the reasoning blocks in the last request. */
  thoughts(): readonly string[];
}

/** A reasoning block that the provider signed. */
interface Thought {
  readonly name: string;
  readonly model: string;
  /** The block as sent; a returned copy must be equal. */
  readonly block: JsonObject;
  readonly prefix: string;
  /** The name of the preceding reasoning block, including blocks that this model cannot read. */
  readonly after: string | undefined;
}

/** A reasoning block in a request, with its position. */
interface Returned {
  readonly thought: Thought;
  readonly path: string;
  /** The current content before it. */
  readonly prefix: string;
}

const BETA = "thinking-binding-controls-2026-08-01";

/** Creates a provider that has signed no block. */
export function createPreservingProvider(
  options: PreservingOptions = {},
): PreservingProvider {
  const judged: Judged[] = [];
  const signed = new Map<string, Thought>();
  let calls = 0;

  function judge(body: JsonObject, headers: Headers): Response {
    const thoughts: string[] = [];
    const note = (
      status: number,
      dropped: Judged["dropped"] = [],
    ) => judged.push({ body, headers, status, thoughts, dropped });
    try {
      assertSendable(body);
      const mayAsk = options.takesBinding === true &&
        (headers.get("anthropic-beta") ?? "").split(/\s*,\s*/).includes(BETA);
      const behavior = behaviorIn(body, mayAsk);
      const returned = returnedIn(body, signed, options.hidden?.() ?? "");
      thoughts.push(...returned.map(({ thought }) => thought.name));
      const dropped = check(returned, body, behavior);
      const answered = answer(body, returned, mayAsk ? dropped : undefined);
      note(200, dropped);
      return answered;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      note(400);
      return refusal(error.message);
    }
  }

  /** Returns the dropped blocks, or throws the refusal. */
  function check(
    returned: readonly Returned[],
    { model }: JsonObject,
    behavior: string | undefined,
  ): Judged["dropped"] {
    const reader = String(model);
    const { reads = () => true, checks = () => true } = options;
    const isEnforced = behavior !== undefined ||
      options.isNewAccount !== false;
    const dropped: { path: string; reason: string }[] = [];
    let isBroken = false;
    for (const [place, { thought, path, prefix }] of returned.entries()) {
      if (!reads(reader, thought.model)) {
        dropped.push({ path, reason: "model_binding_mismatch" });
        continue;
      }
      if (!checks(reader) || !isEnforced) continue;
      const before = returned[place - 1]?.thought.name;
      isBroken ||= prefix !== thought.prefix ||
        before !== undefined && before !== thought.after;
      if (!isBroken) continue;
      if (behavior !== "drop_block") throw bound(path);
      dropped.push({ path, reason: "prefix_binding_mismatch" });
    }
    return dropped;
  }

  function answer(
    body: JsonObject,
    returned: readonly Returned[],
    dropped: Judged["dropped"] | undefined,
  ): Response {
    const script = options.answer ?? (() => [
      { thinking: "Let me look." },
      { call: "look" },
    ]);
    const content: JsonObject[] = [];
    let after = returned.at(-1)?.thought.name;
    for (const said of script(body)) {
      if ("text" in said) content.push({ type: "text", text: said.text });
      else if ("call" in said) {
        content.push({
          type: "tool_use",
          id: `toolu_${++calls}`,
          name: said.call,
          input: {},
        });
      } else {
        const name = `t${signed.size + 1}`;
        const seal = `seal-of-${name}`;
        const block: JsonObject = "redacted" in said
          ? { type: "redacted_thinking", data: seal }
          : { type: "thinking", thinking: said.thinking, signature: seal };
        const prefix = prefixOf(body, undefined, options.hidden?.() ?? "") +
          stable(content.filter(isSaid));
        const model = String(body.model);
        signed.set(seal, { name, model, block, prefix, after });
        after = name;
        content.push(block);
      }
    }
    return write(body, content, dropped);
  }

  return {
    judged,
    thoughts: () => judged.at(-1)?.thoughts ?? [],
    async fetch(_url, init) {
      const body = JSON.parse(await new Response(init.body).text());
      return judge(body, new Headers(init.headers));
    },
  };
}

/**
 * Returns the requested behaviour for a block that fails the check. Throws when the request may not
 * set it.
 */
function behaviorIn(
  { thinking }: JsonObject,
  mayAsk: boolean,
): string | undefined {
  if (!isJsonObject(thinking) || thinking.block_binding === undefined) {
    return undefined;
  }
  const type = String(thinking.type);
  if (!mayAsk || type !== "adaptive" && type !== "enabled") {
    throw new Error(
      `thinking.${type}.block_binding: Extra inputs are not permitted`,
    );
  }
  const { block_binding } = thinking;
  assert.ok(isJsonObject(block_binding));
  assert.deepEqual(Object.keys(block_binding), ["prefix_mismatch_behavior"]);
  return String(block_binding.prefix_mismatch_behavior);
}

function returnedIn(
  body: JsonObject,
  signed: ReadonlyMap<string, Thought>,
  hidden: string,
): Returned[] {
  return objects(body.messages).flatMap((message, at) => {
    const content = objects(message.content);
    return content.flatMap((block, place) => {
      if (isSaid(block)) return [];
      const path = `messages.${at}.content.${place}`;
      const thought = signed.get(String(block.signature ?? block.data));
      if (thought === undefined || stable(block) !== stable(thought.block)) {
        throw new Error(`${path}: Invalid \`signature\` in \`thinking\` block`);
      }
      const before = content.slice(0, place).filter(isSaid);
      const prefix = prefixOf(body, at, hidden) + stable(before);
      return [{ thought, path, prefix }];
    });
  });
}

function bound(path: string): Error {
  return new Error(
    `${path}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block". That setting requires the \`${BETA}\` value in the \`anthropic-beta\` header.`,
  );
}

/** Returns all earlier content that the check compares. */
function prefixOf(
  { system, tools, messages }: JsonObject,
  end: number | undefined,
  hidden: string,
): string {
  const said = objects(messages).slice(0, end).map(({ role, content }) => ({
    role,
    content: objects(content).filter(isSaid),
  }));
  const names = objects(tools).map(stable).sort();
  return stable({ hidden, system, names, said });
}

function isSaid({ type }: JsonObject): boolean {
  return type !== "thinking" && type !== "redacted_thinking";
}

/** Returns JSON text without cache markers, with sorted keys. */
function stable(value: unknown): string {
  return JSON.stringify(value, (key, inner) => {
    if (key === "cache_control") return undefined;
    return isJsonObject(inner)
      ? Object.fromEntries(
        Object.entries(inner).sort(([a], [b]) => a < b ? -1 : 1),
      )
      : inner;
  });
}

function write(
  { model, stream }: JsonObject,
  content: readonly JsonObject[],
  dropped: Judged["dropped"] | undefined,
): Response {
  const message = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model,
    ...(dropped === undefined ? {} : {
      input_transformations: dropped.map((one) => ({
        type: "thinking_dropped",
        ...one,
      })),
    }),
  };
  const stop_reason = content.some(({ type }) => type === "tool_use")
    ? "tool_use"
    : "end_turn";
  const usage = { input_tokens: 5, output_tokens: 5 };
  if (stream !== true) {
    const body = { ...message, content, stop_reason, usage };
    return new Response(JSON.stringify(body), { headers: JSON_HEADERS });
  }
  const events: JsonObject[] = [
    { type: "message_start", message: { ...message, content: [], usage } },
    ...content.flatMap(eventsOf),
    { type: "message_delta", delta: { stop_reason }, usage },
    { type: "message_stop" },
  ];
  const text = events.map((event) =>
    `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
  ).join("");
  return new Response(text, { headers: SSE_HEADERS });
}

/** Splits a text or reasoning into two deltas, and adds the signature in its own. */
function eventsOf(block: JsonObject, index: number): JsonObject[] {
  const delta = (delta: JsonObject): JsonObject => ({
    type: "content_block_delta",
    index,
    delta,
  });
  const halves = (value: JsonValue | undefined): string[] => {
    const text = String(value);
    const middle = Math.ceil(text.length / 2);
    return [text.slice(0, middle), text.slice(middle)].filter((half) =>
      half !== ""
    );
  };
  const [head, deltas] = block.type === "thinking"
    ? [{ ...block, thinking: "", signature: "" }, [
      ...halves(block.thinking).map((thinking) => ({
        type: "thinking_delta",
        thinking,
      })),
      { type: "signature_delta", signature: block.signature },
    ]]
    : block.type === "text"
    ? [
      { ...block, text: "" },
      halves(block.text).map((text) => ({ type: "text_delta", text })),
    ]
    : [block, []];
  return [
    { type: "content_block_start", index, content_block: head },
    ...deltas.map(delta),
    { type: "content_block_stop", index },
  ];
}

function refusal(message: string): Response {
  const error = { type: "invalid_request_error", message };
  return new Response(JSON.stringify({ type: "error", error }), {
    status: 400,
    headers: JSON_HEADERS,
  });
}

function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
