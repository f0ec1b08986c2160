import assert from "node:assert/strict";
import { createGateway } from "../../../src/gateway/app.ts";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import {
  ALICE_TOKEN,
  connectionFile,
  minimalConfig,
} from "../../support/gateway/config.ts";
import { createLogLines } from "../../support/gateway/log_lines.ts";
import { steps } from "../../support/steps.ts";

const KEYS = ["sk-of-the-first-plan-1111", "sk-of-the-second-plan-2222"];

/** A text that names each key. */
const NAMED = `keys ${KEYS.join(" and ")} of this account`;

const CHAT = {
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "model-a",
  choices: [{
    index: 0,
    message: { role: "assistant", content: NAMED },
    finish_reason: "stop",
  }],
};

function stream(): Response {
  const { choices, ...chunk } = CHAT;
  const events = [
    { delta: choices[0]?.message, index: 0 },
    { delta: {}, index: 0, finish_reason: "stop" },
  ].map((choice) =>
    `data: ${
      JSON.stringify({
        ...chunk,
        object: "chat.completion.chunk",
        choices: [choice],
      })
    }\n\n`
  );
  return new Response(`${events.join("")}data: [DONE]\n\n`, {
    headers: { "content-type": "text/event-stream" },
  });
}

function failure(status: number): Response {
  return Response.json({
    error: { message: NAMED, type: NAMED, code: NAMED, param: null },
  }, { status });
}

const ANSWERS: Readonly<Record<string, () => Response>> = {
  "an answer": () => Response.json(CHAT),
  "a stream": stream,
  "a refusal": () => failure(400),
  "a request that is too long": () => failure(413),
  "a refused key": () => failure(401),
  "a header": () =>
    Response.json(CHAT, {
      headers: { "x-account": NAMED, "x-ratelimit-key": KEYS.join() },
    }),
};

const PATHS = {
  "natively": "/v1/chat/completions",
  "translated to Messages": "/v1/messages",
  "translated to Responses": "/v1/responses",
};

function configWith(auth: unknown) {
  return minimalConfig({
    connections: [connectionFile({ auth, models: ["model-a"] })],
  });
}

/** Sends a request; returns everything that its caller and the log get. */
async function open(auth: unknown) {
  const liveConfig = createLiveConfig(await configWith(auth));
  const lines = createLogLines();
  let answer: () => Response = stream;
  const { handler } = createGateway({
    ...{ liveConfig, log: lines.log },
    fetch: () => Promise.resolve(answer()),
  });
  return {
    liveConfig,
    async ask(path: string, next: () => Response): Promise<string> {
      answer = next;
      const isStream = next === stream;
      const said = [{ role: "user", content: "Hello" }];
      const response = await handler(
        new Request(`http://gateway${path}`, {
          method: "POST",
          headers: {
            "authorization": `Bearer ${ALICE_TOKEN}`,
            "content-type": "application/json",
            "anthropic-version": "2023-06-01",
          },
          body: JSON.stringify({
            ...{ model: "model-a", stream: isStream, max_tokens: 9 },
            ...path === "/v1/responses" ? { input: said } : { messages: said },
          }),
        }),
      );
      const body = await response.text().catch(String);
      return JSON.stringify([...response.headers]) + body + lines.text();
    },
  };
}

function assertNone(text: string): void {
  for (const key of KEYS) assert.ok(!text.includes(key.slice(0, 18)), text);
}

const CASES = Object.entries(ANSWERS).flatMap(([what, answer]) =>
  Object.entries(PATHS).map(([way, path]) =>
    [`${what}, ${way}`, { answer, path }] as const
  )
);

Deno.test("another key of the connection is masked in every part of an answer", (t) =>
  steps(t, CASES, async ([, { answer, path }]) => {
    const auth = { scheme: "bearer", keys: KEYS.map((key) => ({ key })) };
    const { ask } = await open(auth);
    assertNone(await ask(path, answer));
  }));

Deno.test("the previous key is masked in an answer after a rotation", (t) =>
  steps(t, CASES, async ([, { answer, path }]) => {
    const [first, second] = KEYS.map((key) => ({ scheme: "bearer", key }));
    const { ask, liveConfig } = await open(first);
    await ask(path, stream); // Its secrets are known from its first answer on.
    liveConfig.swap(await configWith(second));
    assertNone(await ask(path, answer));
  }));
