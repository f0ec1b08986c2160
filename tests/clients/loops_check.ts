import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import type { Protocol } from "../../src/base/protocol.ts";
import type { Answer } from "../../src/codecs/canonical/answer/answer.ts";
import type { AnswerBlock } from "../../src/codecs/canonical/content/block.ts";
import { streamFrames } from "../support/dialects/pairs.ts";
import { SSE_HEADERS } from "../support/wire/answers.ts";
import {
  type CheckedClient,
  clientNamed,
  runBehind,
  testsOf,
} from "./checked_client.ts";
import type { ClientProgram } from "./programs.ts";
import { startTranslating, type Upstream, UPSTREAMS } from "./upstreams.ts";

// Claude Code on a model of Responses, and Codex on a model of Messages. An answer has several calls, with sealed
// reasoning before each. `deno task test:clients` runs this; `deno task test` does not.

const PAIRS: readonly (readonly [client: string, endpoint: Protocol])[] = [
  ["Claude Code", "responses"],
  ["Codex CLI", "messages"],
];

for (const [client, endpoint] of PAIRS) {
  const program = clientNamed(client);
  const upstream = UPSTREAMS.find((one) => one.endpoint === endpoint);
  (await testsOf(program))(
    `runs two calls of an answer, and returns the sealed reasoning at its place, with a provider of ${endpoint}`,
    async (command) => {
      assert.ok(upstream !== undefined);
      await check(upstream, { program, command });
    },
  );
}

async function check(
  upstream: Upstream,
  { program, command }: CheckedClient,
): Promise<void> {
  const { endpoint } = upstream;
  const answers = answersOf(program, endpoint);
  const bodies: JsonObject[] = [];
  await using gateway = await startTranslating(upstream, {
    spoil: (_answer, { body }) => {
      const answer = answers[bodies.push(JSON.parse(body)) - 1];
      assert.ok(answer !== undefined, body);
      const frames = streamFrames(endpoint, answer).join("");
      return Promise.resolve(new Response(frames, { headers: SSE_HEADERS }));
    },
  });
  const run = await runBehind(gateway, { program, command, prompt: "Go" });
  const { output } = run;
  assert.equal(run.code, 0, output);
  assert.match(run.stdout, /All done/, output);
  // Codex runs both calls at once.
  assert.match(run.file("proof.txt") ?? "", /^(a\nb|b\na)\n$/, output);
  assert.deepEqual(bodies.map((body) => partsOf(body, endpoint)), [
    [],
    ["s1", "call", "s2", "call", "result", "result"],
    [
      ...["s1", "call", "s2", "call", "result", "result"],
      ...["s3", "text", "call", "result"],
    ],
  ]);
}

/** Returns the model's answers: two calls, one call after a text, and a text. */
function answersOf(
  { shell: { tool, argument } }: ClientProgram,
  protocol: Protocol,
): readonly Answer[] {
  const form = protocol === "messages" ? "signature" : "encrypted_content";
  const thought = (value: string): AnswerBlock => ({
    kind: "reasoning",
    parts: [],
    sealed: { protocol, form, value },
  });
  const call = (id: string, line: string): AnswerBlock => ({
    kind: "function_call",
    id,
    name: tool,
    arguments: JSON.stringify({ [argument]: line, description: "Runs it" }),
  });
  const text = (words: string): AnswerBlock => ({ kind: "text", text: words });
  return [
    [
      ...[thought("s1"), call("call_1", "echo a >> proof.txt")],
      ...[thought("s2"), call("call_2", "echo b >> proof.txt")],
    ],
    [thought("s3"), text("Both ran."), call("call_3", "cat proof.txt")],
    [text("All done.")],
  ].map((blocks, index) => ({
    id: `answer-${index}`,
    model: "m",
    blocks,
    stop: { reason: index < 2 ? "tool_calls" : "end" },
    usage: { inputTokens: 10, outputTokens: 10 },
  }));
}

/** Returns the parts of a request after its first answer: reasoning by its seal, others by their kind. */
function partsOf(body: JsonObject, endpoint: Protocol): string[] {
  const items = endpoint === "messages"
    ? objects(body.messages).flatMap(({ role, content }) =>
      objects(content).map((block): JsonObject => ({ role, ...block }))
    )
    : objects(body.input);
  return items.flatMap((item) => {
    switch (item.type) {
      case "thinking":
        return [String(item.signature)];
      case "reasoning":
        return [String(item.encrypted_content)];
      case "tool_use":
      case "function_call":
        return ["call"];
      case "tool_result":
      case "function_call_output":
        return ["result"];
      default:
        return item.role === "assistant" ? ["text"] : [];
    }
  });
}

function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
