import assert from "node:assert/strict";
import { ask, hello, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import { hurriedTimers } from "../../support/fakes/hurried_timers.ts";
import { minimalFile } from "../../support/gateway/config.ts";
import { familyConnection } from "../../support/gateway/families.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import { protocolOfPath } from "../../support/wire/wire.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";

const KEY = "sk-upstream-0123456789-abcdef";

function fileFor(url: string): Record<string, unknown> {
  const families = ["A", "B", "C"] as const;
  return minimalFile({
    connections: families.map((family) =>
      familyConnection(family, url, {
        auth: {
          scheme: family === "B" ? "x-api-key" : "bearer",
          key: KEY,
        },
      })
    ),
  });
}

/** The native and the translated models of each protocol. */
const MODELS = {
  chat: ["model-a", "model-b", "model-c"],
  messages: ["model-b", "model-a"],
  responses: ["model-c", "model-a"],
} as const;

const escaped = [...KEY].map((one) =>
  `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`
).join("");

/** Mentions of the key in an upstream's error. */
const WORDS = {
  plain: `Cannot use ${KEY} here`,
  "its beginning": `Cannot use ${KEY.slice(0, 20)}*** here`,
  escaped: `Cannot use ${escaped} here`,
  "base64": `Cannot use Basic ${btoa(`user:${KEY}`)} here`,
};

function assertClean(text: string, lines: string): void {
  for (const one of [text, lines]) {
    assert.ok(!one.includes(KEY.slice(4, 14)), one);
    assert.ok(!one.includes(escaped.slice(0, 60)), one);
    assert.ok(!one.includes(btoa(`user:${KEY}`).slice(8, 24)), one);
  }
}

async function everyWay(
  gateway: RunningGateway,
  stream: boolean,
): Promise<readonly Response[]> {
  const ways = PROTOCOLS.flatMap((protocol) =>
    MODELS[protocol].map((model) =>
      gateway.call(
        PATHS[protocol],
        ask(protocol, hello(protocol, { model, stream })),
      )
    )
  );
  return await Promise.all(ways);
}

for (const status of [400, 403, 404, 429, 500]) {
  Deno.test(`a provider's error of status ${status} that quotes the key arrives without it`, async (t) => {
    for (const [how, words] of Object.entries(WORDS)) {
      await t.step(how, async () => {
        await using upstream = startUpstream(() =>
          new Response(
            `{"type":"error","error":{"message":"${words}","type":"invalid_request_error","code":"${
              words.split(" ")[2]
            }"}}`,
            {
              status,
              headers: {
                "content-type": "application/json",
                "x-request-id": KEY,
                "x-debug": `Bearer ${KEY}`,
                "x-kept": "1",
              },
            },
          )
        );
        await using gateway = await startGateway(fileFor(upstream.url), {
          timers: hurriedTimers,
        });
        for (const response of await everyWay(gateway, false)) {
          const text = await response.text();
          assert.ok(response.status >= 400);
          assert.match(text, /"message":"[^"]+"/);
          const headers = JSON.stringify([...response.headers]);
          assertClean(headers + text, gateway.lines.text());
        }
      });
    }
  });
}

Deno.test("an error without the key passes byte for byte", async () => {
  const body = '{"error" : {"message":"sk-upstream is no model"}}';
  await using upstream = startUpstream(() =>
    new Response(body, {
      status: 400,
      headers: { "content-type": "application/json" },
    })
  );
  await using gateway = await startGateway(fileFor(upstream.url), {
    timers: hurriedTimers,
  });
  const response = await gateway.call(PATHS.chat, ask("chat"));
  assert.equal(await response.text(), body);
});

/** An error event in a stream of each protocol, after a first chunk of text. */
const BROKEN_STREAMS = {
  chat:
    `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"}}]}\n\n` +
    `data: {"error":{"message":"the key ${KEY} is over","code":500}}\n\n`,
  messages:
    `event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}\n\n` +
    `event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n` +
    `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}\n\n` +
    `event: error\ndata: {"type":"error","error":{"type":"api_error","message":"the key ${KEY} is over"}}\n\n`,
  responses:
    `event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{"id":"r","object":"response","status":"in_progress","output":[]}}\n\n` +
    `event: error\ndata: {"type":"error","sequence_number":1,"code":"server_error","message":"the key ${KEY} is over"}\n\n`,
};

Deno.test("an error event in a stream arrives without the key", async (t) => {
  for (const pieceBytes of [1000, 37]) {
    await t.step(`in pieces of ${pieceBytes} bytes`, async () => {
      await using upstream = startUpstream(({ path }) => {
        const broken = BROKEN_STREAMS[protocolOfPath(path)];
        const bytes = new TextEncoder().encode(broken);
        const pieces = Array.from(
          { length: Math.ceil(bytes.length / pieceBytes) },
          (_, index) =>
            bytes.slice(index * pieceBytes, (index + 1) * pieceBytes),
        );
        return new Response(ReadableStream.from(pieces), {
          headers: { "content-type": "text/event-stream" },
        });
      });
      await using gateway = await startGateway(fileFor(upstream.url), {
        timers: hurriedTimers,
      });
      for (const response of await everyWay(gateway, true)) {
        const text = await response.text().catch(() => "");
        assertClean(text, gateway.lines.text());
      }
    });
  }
});

const ECHO = `the key is ${KEY}`;

/** A whole answer of each protocol whose text holds the key. */
const WHOLE_ANSWERS = {
  chat: {
    object: "chat.completion",
    choices: [{
      index: 0,
      message: { role: "assistant", content: ECHO },
      finish_reason: "stop",
    }],
  },
  messages: {
    type: "message",
    role: "assistant",
    content: [{ type: "text", text: ECHO }],
    stop_reason: "end_turn",
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  responses: {
    object: "response",
    status: "completed",
    output: [{
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: ECHO, annotations: [] }],
    }],
  },
};

Deno.test("a whole answer that quotes the key arrives without it, native or translated, as one object or as a stream", async () => {
  await using upstream = startUpstream(({ path }) =>
    Response.json(WHOLE_ANSWERS[protocolOfPath(path)])
  );
  await using gateway = await startGateway(fileFor(upstream.url), {
    timers: hurriedTimers,
  });
  for (const stream of [false, true]) {
    for (const response of await everyWay(gateway, stream)) {
      const text = await response.text();
      assert.equal(response.status, 200);
      assertClean(text, gateway.lines.text());
      assert.match(text, /the key is \*+"/);
    }
  }
});
