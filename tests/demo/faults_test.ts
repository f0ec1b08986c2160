import assert from "node:assert/strict";
import type { JsonObject } from "../../src/core/json.ts";
import type { Family } from "../../src/core/protocol.ts";
import { type Fault, SLOW_MS } from "../../src/demo/providers.ts";
import { waitInRealTime } from "../../src/demo/speak.ts";
import { framesOf } from "../support/wire/sse_frames.ts";
import { createFixedDemo, demoRequest } from "./harness.ts";

const HELLO = [{ role: "user", content: "Hello" }];

interface Door {
  readonly family: Family;
  readonly path: string;
  readonly modelPrefix: string;
  readonly body: JsonObject;
}

/** Every protocol, at the family that is native to it. */
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

const REFUSED: readonly (readonly [Fault, number, string, string])[] = [
  ["error-401", 401, "invalid_request_error", "authentication_error"],
  ["error-429", 429, "requests", "rate_limit_error"],
  ["error-500", 500, "server_error", "api_error"],
];

for (const door of DOORS) {
  const isMessages = door.family === "B";

  Deno.test(`${door.path} refuses on request, streaming or not`, async (t) => {
    for (const [fault, status, openaiType, messagesType] of REFUSED) {
      for (const stream of [false, true]) {
        await t.step(`${fault} ${stream}`, async () => {
          const response = await createFixedDemo()(
            request(door, fault, { stream }),
          );
          const { error } = await response.json();
          assert.equal(response.status, status);
          assert.equal(error.type, isMessages ? messagesType : openaiType);
          assert.equal(
            response.headers.get("retry-after"),
            status === 429 ? "1" : null,
          );
        });
      }
    }
  });

  Deno.test(`${door.path} is slow on request: before the first word, streaming or not`, async () => {
    for (const stream of [false, true]) {
      const waits: number[] = [];
      const wait = (ms: number) => {
        waits.push(ms);
        return Promise.resolve();
      };
      const response = await createFixedDemo({ wait })(
        request(door, "slow", { stream }),
      );
      assert.deepEqual(waits, stream ? [] : [SLOW_MS]);
      assert.match(await response.text(), /Hello/);
      assert.deepEqual(waits, [SLOW_MS]);
    }
  });

  Deno.test(`${door.path} is silent on request, until the caller goes`, async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const demo = createFixedDemo();
    const answer = demo(request(door, "silent", { stream: true, signal }));
    // Whatever the silent model has to say would be here before what is asked after it.
    await (await demo(request(door, "error-500", { stream: true }))).text();
    controller.abort(new Error("gone"));
    await assert.rejects(answer, /gone/);
  });

  Deno.test(`${door.path} breaks on request, in the middle of the answer`, async () => {
    for (const stream of [false, true]) {
      const response = await createFixedDemo()(
        request(door, "broken", { stream }),
      );
      const text = await readUntilError(response);
      assert.equal(response.status, 200);
      assert.match(text, stream ? /Hello/ : /^\{/);
      assert.doesNotMatch(text, /\[DONE\]|message_stop|response\.completed/);
    }
  });

  Deno.test(`${door.path} stalls on request, until the caller goes`, async () => {
    for (const stream of [false, true]) {
      const controller = new AbortController();
      const response = await createFixedDemo({ wait: waitInRealTime })(
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

  Deno.test(`${door.path} reports an error in the middle of a stream on request, and then ends`, async () => {
    const response = await createFixedDemo()(
      request(door, "error-in-stream", { stream: true }),
    );
    const text = await response.text();
    const last = JSON.parse(framesOf(text).at(-1)?.data ?? "");
    assert.equal(response.status, 200);
    assert.match(text, /Hello/);
    switch (door.family) {
      case "A":
        assert.equal(last.error.type, "server_error");
        break;
      case "B":
        assert.deepEqual(last, {
          type: "error",
          error: { type: "overloaded_error", message: "Overloaded" },
        });
        break;
      case "C":
        assert.equal(last.type, "response.failed");
        assert.equal(last.sequence_number, framesOf(text).length - 1);
        assert.equal(last.response.status, "failed");
        assert.equal(last.response.error.code, "server_is_overloaded");
    }
  });

  Deno.test(`${door.path} is overloaded instead when the answer is not streamed`, async () => {
    const response = await createFixedDemo()(
      request(door, "error-in-stream", { stream: false }),
    );
    await response.body?.cancel();
    assert.equal(response.status, isMessages ? 529 : 503);
  });
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

Deno.test("a legacy completion breaks on request too", async () => {
  const response = await createFixedDemo()(demoRequest("A", "/v1/completions", {
    body: { model: "demo-error-in-stream", prompt: "Hello", stream: true },
  }));
  assert.match(await response.text(), /"error":\{"message":"Overloaded"/);
});
