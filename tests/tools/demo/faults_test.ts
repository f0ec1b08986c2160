import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/base/json.ts";
import type { Family } from "../../../src/base/protocol.ts";
import { type faultOf, SLOW_MS } from "../../../src/tools/demo/providers.ts";
import { waitInRealTime } from "../../../src/tools/demo/speak.ts";
import { framesOf } from "../../support/wire/sse_frames.ts";
import { createFixedDemo, createFixedStrict, demoRequest } from "./harness.ts";

type Fault = NonNullable<ReturnType<typeof faultOf>>;

const HELLO = [{ role: "user", content: "Hello" }];

interface Door {
  readonly family: Family;
  readonly path: string;
  readonly modelPrefix: string;
  readonly body: JsonObject;
}

/** Each protocol, at a family with that native protocol. */
const DOORS: readonly Door[] = [
  {
    family: "A",
    path: "/v1/chat/completions",
    modelPrefix: "demo-",
    body: { messages: HELLO },
  },
  {
    family: "B",
    path: "/v1/messages",
    modelPrefix: "demo-b-",
    body: { max_tokens: 500, messages: HELLO },
  },
  {
    family: "C",
    path: "/v1/responses",
    modelPrefix: "demo-c-",
    body: { input: "Hello" },
  },
];

function request(
  { family, path, modelPrefix, body }: Door,
  fault: Fault,
  options: { readonly stream: boolean; readonly signal?: AbortSignal },
): Request {
  const { stream, ...init } = options;
  return demoRequest(family, path, {
    ...init,
    body: { ...body, model: modelPrefix + fault, stream },
  });
}

const REFUSED: readonly (readonly [Fault, number, RegExp, string])[] = [
  [
    "error-401",
    401,
    /^(invalid_request|authentication)_error$/,
    "authentication_error",
  ],
  ["error-429", 429, /^(requests|rate_limit_error)$/, "rate_limit_error"],
  ["error-500", 500, /^server_error$/, "api_error"],
];

/** The demo, and the strict provider of the tests. */
const PROVIDERS = [
  ["the demo", createFixedDemo],
  ["the strict provider", createFixedStrict],
] as const;

for (const [at, create] of PROVIDERS) {
  for (const door of DOORS) {
    const isMessages = door.family === "B";

    Deno.test(`${at}: ${door.path} rejects on request, streaming or not`, async (t) => {
      for (const [fault, status, openaiType, messagesType] of REFUSED) {
        for (const stream of [false, true]) {
          await t.step(`${fault} ${stream}`, async () => {
            const response = await create()(request(door, fault, { stream }));
            const { error } = await response.json();
            assert.equal(response.status, status);
            if (isMessages) assert.equal(error.type, messagesType);
            else assert.match(error.type, openaiType);
            assert.equal(
              response.headers.get("retry-after"),
              status === 429 ? "1" : null,
            );
          });
        }
      }
    });

    Deno.test(`${at}: ${door.path} waits before the first word on request, streaming or not`, async () => {
      for (const stream of [false, true]) {
        const waits: number[] = [];
        const wait = (ms: number) => {
          waits.push(ms);
          return Promise.resolve();
        };
        const response = await create({ wait })(
          request(door, "slow", { stream }),
        );
        assert.deepEqual(waits, stream ? [] : [SLOW_MS]);
        assert.match(await response.text(), /Hello/);
        assert.deepEqual(waits, [SLOW_MS]);
      }
    });

    Deno.test(`${at}: ${door.path} is silent on request until the caller leaves`, async () => {
      const controller = new AbortController();
      const { signal } = controller;
      const demo = create();
      const answer = demo(request(door, "silent", { stream: true, signal }));
      // An answer of the silent model would arrive before that of a later request.
      await (await demo(request(door, "error-500", { stream: true }))).text();
      controller.abort(new Error("gone"));
      await assert.rejects(answer, /gone/);
    });

    Deno.test(`${at}: ${door.path} breaks off in the middle of the answer on request`, async () => {
      for (const stream of [false, true]) {
        const response = await create()(request(door, "broken", { stream }));
        const text = await readUntilError(response);
        assert.equal(response.status, 200);
        assert.match(text, stream ? /Hello/ : /^\{/);
        assert.doesNotMatch(text, /\[DONE\]|message_stop|response\.completed/);
      }
    });

    Deno.test(`${at}: ${door.path} stalls on request until the caller leaves`, async () => {
      for (const stream of [false, true]) {
        const controller = new AbortController();
        const response = await create({ wait: waitInRealTime })(
          request(door, "stall", { stream, signal: controller.signal }),
        );
        const reader = response.body?.getReader();
        assert(reader !== undefined);
        await reader.read();
        const rest = drain(reader);
        controller.abort(new Error("gone"));
        await assert.rejects(rest, /gone/);
      }
    });

    Deno.test(`${at}: ${door.path} reports an error in the middle of a stream on request, and then ends`, async () => {
      const response = await create()(
        request(door, "error-in-stream", { stream: true }),
      );
      const text = await response.text();
      const last = JSON.parse(framesOf(text).at(-1)?.data ?? "");
      assert.equal(response.status, 200);
      assert.match(text, /Hello/);
      switch (door.family) {
        case "A":
          assert.match(last.error.type, /^(server|overloaded)_error$/);
          break;
        case "B":
          assert.equal(last.type, "error");
          assert.equal(last.error.type, "overloaded_error");
          assert.equal(last.error.message, "Overloaded");
          break;
        case "C":
          assert.equal(last.type, "response.failed");
          assert.equal(last.sequence_number, framesOf(text).length - 1);
          assert.equal(last.response.status, "failed");
          assert.match(
            last.response.error.code,
            /^server_(error|is_overloaded)$/,
          );
      }
    });

    Deno.test(`${at}: ${door.path} responds with an overload error instead when the answer is not streamed`, async () => {
      const response = await create()(
        request(door, "error-in-stream", { stream: false }),
      );
      await response.body?.cancel();
      assert.equal(response.status, isMessages ? 529 : 503);
    });
  }
}

async function readUntilError(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  await assert.rejects(async () => {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
    }
  }, TypeError);
  return text;
}

async function drain(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<void> {
  while (!(await reader.read()).done);
}

Deno.test("a legacy completion also breaks off on request", async () => {
  const response = await createFixedDemo()(demoRequest("A", "/v1/completions", {
    body: { model: "demo-error-in-stream", prompt: "Hello", stream: true },
  }));
  assert.match(await response.text(), /"error":\{"message":"Overloaded"/);
});
