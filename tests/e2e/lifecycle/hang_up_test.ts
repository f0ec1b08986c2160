import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import type { JsonObject } from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import {
  JSON_HEADERS,
  noAnswer,
  openAnswer,
  SSE_HEADERS,
} from "../../support/wire/answers.ts";
import { ask, hello, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import {
  familiesFile,
  familyConnection,
} from "../../support/gateway/families.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import {
  listenToEnd,
  say,
  startRawUpstream,
} from "../../support/upstream/raw_upstream.ts";
import {
  type Script,
  type ScriptedUpstream,
  type SeenRequest,
  startUpstream,
} from "../../support/upstream/scripted_upstream.ts";
import { until, within } from "../../support/within.ts";
import { tokenFile } from "../../support/gateway/config.ts";
import { connectRaw } from "../../support/wire/raw_socket.ts";
import { rawRequest } from "../../support/wire/raw_request.ts";
import { protocolOfPath, WIRES } from "../../support/wire/wire.ts";
import { steps } from "../../support/steps.ts";

/**
 * Returns the only log line about a request whose caller has disconnected. The slot must be free by
 * then.
 */
async function lineAboutLeaving(
  gateway: RunningGateway,
): Promise<Record<string, unknown>> {
  const line = await gateway.lines.requests.next();
  assert.equal(gateway.admission.active, 0);
  return line;
}

function whenAborted(signal: AbortSignal): Promise<void> {
  return within(
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    }),
    "the upstream's request to be aborted",
  );
}

/** Leaves while the upstream is silent, and checks that its request ends. */
async function leave(
  protocol: Protocol,
  fields: JsonObject,
  { gateway, upstream }: {
    readonly gateway: RunningGateway;
    readonly upstream: ScriptedUpstream;
  },
): Promise<void> {
  const caller = new AbortController();
  const call = gateway.call(PATHS[protocol], {
    ...ask(protocol, hello(protocol, fields)),
    signal: caller.signal,
  });
  const seen = await upstream.requests.next();
  caller.abort();
  await assert.rejects(call, { name: "AbortError" });
  await whenAborted(seen.signal);
  const line = await lineAboutLeaving(gateway);
  assert.equal(line.ended, "client_abort");
  assert.equal(line.status, 499);
}

Deno.test("a caller that leaves before the upstream answers ends the upstream's request", async (t) => {
  await using upstream = startUpstream(noAnswer);
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const protocol of PROTOCOLS) {
    for (const stream of [true, false]) {
      await t.step(`${protocol}, stream: ${stream}`, async () => {
        await leave(protocol, { stream }, { gateway, upstream });
      });
    }
  }
  assert.equal(gateway.lines.requests.items.length, 6);
});

/** A body longer than a server reads with the head of a request. */
const LONG_TEXT = "x".repeat(100_000);

Deno.test("a caller with a long body that leaves before the upstream answers ends the upstream's request", async (t) => {
  await steps(t, PROTOCOLS, async (protocol) => {
    const asked = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    await using upstream = startRawUpstream(async (connection) => {
      asked.resolve();
      await listenToEnd(connection).finally(left.resolve);
    });
    await using gateway = await startGateway(familiesFile(upstream.url));
    const caller = new AbortController();
    const call = gateway.call(PATHS[protocol], {
      ...ask(protocol, hello(protocol, { padding: LONG_TEXT })),
      signal: caller.signal,
    });
    await asked.promise;
    caller.abort();
    await assert.rejects(call, { name: "AbortError" });
    await within(left.promise, "the upstream's request to end");
    const line = await lineAboutLeaving(gateway);
    assert.equal(line.ended, "client_abort");
    assert.equal(line.status, 499);
  });
});

/** The progress of an answer when its caller disconnects. */
const MOMENTS: Readonly<Record<string, string>> = {
  "before the first byte": "",
  "in the middle": `data: {"half":1}\n\ndata: {"ha`,
};

Deno.test("a caller that leaves a stream ends the upstream's stream", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const protocol of PROTOCOLS) {
    for (const [moment, text] of Object.entries(MOMENTS)) {
      await t.step(`${protocol}, ${moment}`, async () => {
        const answer = openAnswer();
        upstream.play(() => answer.response);
        const response = await gateway.ask(protocol);
        const reader = response.body?.getReader();
        if (text !== "") {
          answer.write(text);
          await reader?.read();
        }
        await reader?.cancel();
        await within(answer.cancelled, "the upstream's answer to be cancelled");
        const line = await lineAboutLeaving(gateway);
        assert.equal(line.ended, "client_abort");
        assert.equal(line.status, 200);
        assert.equal(line.bytes_out, text.length);
      });
    }
  }
  assert.equal(gateway.lines.requests.items.length, 6);
});

/**
 * JSON answers that have begun: one that is short enough to be read whole, and one that is
 * forwarded in chunks.
 */
const BEGUN = {
  short: 'content-length: 99\r\n\r\n{"id":',
  long: 'transfer-encoding: chunked\r\n\r\n6\r\n{"id":\r\n',
} as const;

Deno.test("a caller that stops reading JSON counts as disconnected", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const answer = openAnswer(JSON_HEADERS);
  upstream.play(() => answer.response);
  const response = await gateway.ask("chat");
  answer.write(`{"id":`);
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.cancel();
  await within(answer.cancelled, "the upstream's answer to be cancelled");
  const line = await lineAboutLeaving(gateway);
  assert.equal(line.ended, "client_abort");
});

Deno.test("a caller that leaves in the middle of JSON ends the upstream's request", (t) =>
  steps(t, Object.entries(BEGUN), async ([, begun]) => {
    const began = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    await using upstream = startRawUpstream(async (connection) => {
      const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
      await say(connection, head + begun);
      began.resolve();
      await listenToEnd(connection).finally(left.resolve);
    });
    await using gateway = await startGateway(familiesFile(upstream.url));
    const caller = new AbortController();
    const call = gateway.call(PATHS.chat, {
      ...ask("chat"),
      signal: caller.signal,
    }).then((response) => response.text());
    await within(began.promise, "the upstream to begin");
    await until(() => gateway.admission.active === 1, "the call to run");
    caller.abort();
    await assert.rejects(call, { name: "AbortError" });
    await within(left.promise, "the upstream's connection to be closed");
    const line = await lineAboutLeaving(gateway);
    assert.equal(line.ended, "client_abort");
  }));

/** The regular end of each protocol's streams. Clients wait for nothing after it. */
const ENDS = {
  chat: "data: [DONE]\n\n",
  messages: `event: message_stop\ndata: {"type":"message_stop"}\n\n`,
  responses:
    `event: response.completed\ndata: {"type":"response.completed","response":{}}\n\n`,
} as const;

Deno.test("a caller that leaves right after the last event counts as having the complete answer", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  await steps(t, PROTOCOLS, async (protocol) => {
    const answer = openAnswer();
    upstream.play(() => answer.response);
    const response = await gateway.ask(protocol);
    answer.write(`data: {}\n\n${ENDS[protocol]}`);
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await within(answer.cancelled, "the upstream's answer to be cancelled");
    const line = await lineAboutLeaving(gateway);
    assert.equal(line.ended, "complete");
    assert.equal(line.status, 200);
  });
});

Deno.test("a caller that leaves does not affect others", async () => {
  const answers = [openAnswer(), openAnswer()];
  let next = 0;
  await using upstream = startUpstream(() =>
    answers[next++]?.response ?? assert.fail()
  );
  await using gateway = await startGateway(familiesFile(upstream.url));
  const leaving = await gateway.ask("chat");
  const staying = await gateway.ask("chat");
  await leaving.body?.cancel();
  await within(
    answers[0]?.cancelled ?? assert.fail(),
    "the first to be cancelled",
  );
  answers[1]?.write("data: [DONE]\n\n");
  answers[1]?.close();
  assert.equal(await staying.text(), "data: [DONE]\n\n");
});

Deno.test("a caller that leaves a silent compressed stream ends the upstream's stream", async (t) => {
  for (const kib of [1, 64, 1024]) {
    await t.step(`${kib} KiB of comments`, async () => {
      const comments = ": keep-alive, says the provider\n\n".repeat(32 * kib);
      const answer = openAnswer({ ...SSE_HEADERS, "content-encoding": "gzip" });
      await using upstream = startUpstream(() => answer.response);
      await using gateway = await startGateway(familiesFile(upstream.url));
      answer.write(flushed(comments));
      const response = await gateway.ask("chat");
      const reader = response.body?.getReader() ?? assert.fail();
      for (let length = 0; length < comments.length;) {
        length += (await reader.read()).value?.length ?? assert.fail();
      }
      await reader.cancel();
      try {
        await within(answer.cancelled, "the upstream's answer to be cancelled");
      } finally {
        answer.cut();
      }
      const line = await lineAboutLeaving(gateway);
      assert.equal(line.ended, "client_abort");
      assert.equal(line.bytes_out, comments.length);
    });
  }
});

/** Returns a compressed text without the end of the compression. */
function flushed(text: string): Uint8Array {
  const TRAILER_BYTES = 8;
  return Uint8Array.from(gzipSync(text)).slice(0, -TRAILER_BYTES);
}

/** The number of hang-ups at each stage of each way. */
const HANG_UPS = 25;

/** From Chat Completions to an upstream with the same protocol, and to one with Messages. */
const WAYS = { native: "model-a", translated: "model-b" } as const;

/** The sent part of a request, and the received part of the answer, before the caller hangs up. */
const STAGES = {
  "in the head": { sends: "half the head", reads: false },
  "in the body": { sends: "half the body", reads: false },
  "before the upstream's headers": { sends: "all", reads: false },
  "in mid-stream": { sends: "all", reads: true },
} as const;

function partOf(
  request: string,
  part: (typeof STAGES)[keyof typeof STAGES]["sends"],
): string {
  const headEnd = request.indexOf("\r\n\r\n") + 4;
  switch (part) {
    case "half the head":
      return request.slice(0, headEnd / 2);
    case "half the body":
      return request.slice(0, (headEnd + request.length) / 2);
    case "all":
      return request;
  }
}

/** Counts the open requests at an upstream, and keeps them waiting. */
function createAccount() {
  const account = { asked: 0, open: 0 };
  const wait: Script = ({ signal }: SeenRequest) => {
    account.asked++;
    account.open++;
    return new Promise((_, reject) => {
      const leave = () => {
        account.open--;
        reject(signal.reason);
      };
      if (signal.aborted) return leave();
      signal.addEventListener("abort", leave, { once: true });
    });
  };
  const begin: Script = ({ path }) => {
    account.asked++;
    account.open++;
    const answer = openAnswer();
    const { start, output } = WIRES[protocolOfPath(path)];
    answer.write(start + output);
    answer.cancelled.then(() => account.open--);
    return answer.response;
  };
  return { account, wait, begin };
}

Deno.test("hundreds of callers that disconnect leave nothing running, at any stage", async (t) => {
  const { account, wait, begin } = createAccount();
  await using upstream = startUpstream();
  await using gateway = await startGateway({
    connections: [
      familyConnection("A", upstream.url),
      familyConnection("B", upstream.url),
    ],
    tokens: [tokenFile()],
  });
  let logged = 0;
  for (const [way, model] of Object.entries(WAYS)) {
    const { headers, body } = ask(
      "chat",
      hello("chat", { model, stream: true }),
    );
    const request = rawRequest(
      PATHS.chat,
      Object.entries({ host: "gateway", ...headers }),
      String(body),
    );
    for (const [stage, { sends, reads }] of Object.entries(STAGES)) {
      await t.step(`${way}, ${stage}`, async () => {
        upstream.play(reads ? begin : wait);
        account.asked = 0;
        const sockets = await Promise.all(
          Array.from({ length: HANG_UPS }, () => connectRaw(gateway.port)),
        );
        for (const socket of sockets) {
          await socket.write(partOf(request, sends));
        }
        if (sends === "all") {
          await until(
            () => account.asked === HANG_UPS && account.open === HANG_UPS,
            "the upstream to be asked",
          );
        }
        if (reads) {
          await Promise.all(sockets.map((socket) => socket.readSome()));
        }
        for (const socket of sockets) socket[Symbol.dispose]();
        await until(
          () => gateway.admission.active === 0 && account.open === 0,
          "every request to end",
        );
        // The gateway does not recognise half a head as a request.
        if (sends !== "half the head") logged += HANG_UPS;
        const { items } = gateway.lines.requests;
        await until(() => items.length === logged, "a line about each");
        assert.equal(gateway.admission.active, 0);
        if (sends !== "all") assert.equal(account.asked, 0);
      });
    }
  }
  const ended = gateway.lines.requests.items.map((line) => line.ended);
  assert.deepEqual(new Set(ended), new Set(["client_abort"]));
});
