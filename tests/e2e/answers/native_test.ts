import type { Fetch } from "../../../src/gateway/upstream/call.ts";
import assert from "node:assert/strict";
import { type Family, OPERATIONS } from "../../../src/base/protocol.ts";
import {
  NATIVE_EXCHANGES,
  type NativeExchange,
} from "../../fixtures/native.ts";
import { piecewise } from "../../support/wire/answers.ts";
import { ask, credentials } from "../../support/wire/ask.ts";
import {
  familiesFile,
  familyConnection,
} from "../../support/gateway/families.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import { streamOf } from "../../support/wire/padded_body.ts";
import { checkLoggedUsage } from "../../support/wire/logged_usage.ts";
import { readToEnd } from "../../support/wire/read_to_end.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { within } from "../../support/within.ts";
import { tokenFile } from "../../support/gateway/config.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { cutAwkwardly } from "../../support/wire/cuts.ts";
import { digest } from "../../support/wire/digest.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { endsWell } from "../../support/recorded/recorded_end.ts";
import { recordedUsage } from "../../support/recorded/recorded_usage.ts";
import {
  loadExchanges,
  type RecordedExchange,
} from "../../support/recorded/exchanges.ts";
import { testNeeding } from "../../support/ignored.ts";
import { steps } from "../../support/steps.ts";

async function pass(
  exchange: NativeExchange,
  gateway: RunningGateway,
): Promise<void> {
  const { operation, request, status, headers, answer } = exchange;
  const { path, protocol } = OPERATIONS[operation];
  const response = await gateway.call(`/v1${path}`, ask(protocol, request));
  const read = await within(readToEnd(response.body), "the answer to end");
  assert.equal(read.text, answer);
  assert.equal(read.isCut, exchange.isCut ?? false);
  assert.equal(response.status, status);
  assert.equal(response.headers.get("content-type"), headers["content-type"]);
  const line = await gateway.lines.of(response);
  assert.equal(line.ended, exchange.ended);
  checkLoggedUsage(line.usage, exchange.usage, {
    isServed: status < 400 && operation !== "count_tokens",
  });
}

Deno.test("a native connection passes bodies byte for byte and the log counts their tokens", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  await steps(t, Object.entries(NATIVE_EXCHANGES), async ([, exchange]) => {
    const { operation, status, headers, answer, request } = exchange;
    upstream.play(() => new Response(answer, { status, headers }));
    await pass(exchange, gateway);
    const seen = await upstream.requests.next();
    assert.equal(seen.text(), request);
    assert.match(seen.path, /^\/[abc]\//);
    assert.equal(seen.path.slice(2), OPERATIONS[operation].path);
  });
});

Deno.test("a model's name is replaced only in the field `model`, even after megabytes of other text", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const text = JSON.stringify("renamed-a ".repeat(300_000));
  const bodyFor = (model: string) => `{"user":${text},"model":"${model}"}`;
  const sent = new TextEncoder().encode(bodyFor("renamed-a"));
  const ways = { "with its length": sent, chunked: streamOf(sent) };
  await steps(t, Object.entries(ways), async ([, body]) => {
    const response = await gateway.call(
      `/v1${OPERATIONS.chat_completions.path}`,
      ask("chat", body),
    );
    assert.equal(response.status, 200, await response.text());
    const seen = await upstream.requests.next();
    assert.ok(seen.text() === bodyFor("upstream-a"), "another body");
  });
});

Deno.test("a native answer that arrives byte by byte is forwarded unchanged", async (t) => {
  let current: NativeExchange | undefined;
  const fetch: Fetch = () => {
    const { answer, status = 200, headers } = current ?? {};
    const bytes = new TextEncoder().encode(answer);
    const pieces = Array.from(bytes, (byte) => Uint8Array.of(byte));
    return Promise.resolve(
      new Response(piecewise(pieces).body, { status, headers: { ...headers } }),
    );
  };
  const file = familiesFile("http://127.0.0.1:9");
  await using gateway = await startGateway(file, { fetch });
  await steps(t, Object.entries(NATIVE_EXCHANGES), async ([, exchange]) => {
    current = exchange;
    await pass(exchange, gateway);
  });
});

const recordings = await loadExchanges();
const ignore = recordings.length === 0;
if (ignore) {
  console.warn("recordings ignored: ../shared/recordings is not there");
}

/** The families that speak each protocol natively. */
const NATIVE_FAMILIES = {
  chat: ["A"],
  messages: ["B", "A"],
  responses: ["C", "A"],
} as const;

/** Refusals of the gateway's own key, which no caller sees; xAI's has status 400. */
const refusals = recordings.filter(({ status, answer }) =>
  status === 401 ||
  status === 400 &&
    new TextDecoder().decode(answer).includes("Incorrect API key")
);

const passing = recordings.filter((one) => !refusals.includes(one));

function fileFor(url: string): Record<string, unknown> {
  const families = ["A", "B", "C"] as const;
  const models = [...new Set(recordings.map(({ model }) => model))];
  return {
    connections: families.map((family) =>
      familyConnection(family, url, { models })
    ),
    tokens: families.map((family) =>
      tokenFile({
        name: `caller of ${family}`,
        sha256: sha256Hex(tokenOf(family)),
        connections: [`Family ${family}`],
      })
    ),
  };
}

function tokenOf(family: Family): string {
  return `mg_family_${family}`;
}

async function replay(
  recording: RecordedExchange,
  family: Family,
  gateway: RunningGateway,
): Promise<void> {
  const { operation, protocol, request } = recording;
  const response = await gateway.call(
    `/v1${OPERATIONS[operation].path}`,
    ask(protocol, request, credentials(protocol, tokenOf(family))),
  );
  const answer = await response.bytes();
  assert.equal(response.status, recording.status);
  assert.equal(response.headers.get("content-type"), recording.contentType);
  assert.equal(await digest(answer), await digest(recording.answer));
  checkLine(await gateway.lines.of(response), recording);
}

function checkLine(
  line: Record<string, unknown>,
  recording: RecordedExchange,
): void {
  const { protocol, streamed } = recording;
  const text = new TextDecoder().decode(recording.answer);
  const expected = recordedUsage({ text, streamed }, protocol, {
    isTotal: true,
  });
  checkLoggedUsage(line.usage, expected, {
    isServed: recording.status < 400 && recording.operation !== "count_tokens",
  });
  assert.equal(line.bytes_in, recording.request.length);
  assert.equal(line.bytes_out, recording.answer.length);
  const isWhole = !streamed || endsWell(text, protocol);
  assert.equal(line.ended, isWhole ? "complete" : "upstream_broken");
}

testNeeding(
  "every recorded exchange passes through a native connection byte for byte",
  ignore && "there are no recordings here",
  async (t) => {
    await using upstream = startUpstream();
    await using gateway = await startGateway(fileFor(upstream.url));
    for (const recording of passing) {
      upstream.play(() =>
        new Response(recording.answer, {
          status: recording.status,
          headers: { "content-type": recording.contentType },
        })
      );
      for (const family of NATIVE_FAMILIES[recording.protocol]) {
        await t.step(`${recording.name} by family ${family}`, async () => {
          await replay(recording, family, gateway);
          const seen = upstream.requests.items.at(-1);
          assert.ok(seen);
          assert.equal(
            seen.path,
            `/${family.toLowerCase()}${OPERATIONS[recording.operation].path}`,
          );
          assert.equal(
            await digest(seen.body),
            await digest(recording.request),
          );
        });
      }
    }
  },
);

testNeeding(
  "every recorded refusal of a key is 502, without the provider's text",
  ignore && "there are no recordings here",
  async (t) => {
    assert.ok(refusals.some(({ status }) => status === 400));
    await using upstream = startUpstream();
    for (const recording of refusals) {
      const { operation, protocol, request, status, contentType } = recording;
      const [family] = NATIVE_FAMILIES[protocol];
      assert.ok(family);
      upstream.play(() =>
        new Response(recording.answer, {
          status,
          headers: { "content-type": contentType },
        })
      );
      await t.step(recording.name, async () => {
        // Each has its own gateway, because a connection with repeated refusals cools down.
        await using gateway = await startGateway(fileFor(upstream.url));
        const response = await gateway.call(
          `/v1${OPERATIONS[operation].path}`,
          ask(protocol, request, credentials(protocol, tokenOf(family))),
        );
        const error = await readError(response, protocol);
        assert.equal(error.status, 502);
        assert.match(error.message, /the administrator/);
      });
    }
  },
);

testNeeding(
  "every recorded stream passes byte for byte, cut inside characters and line ends",
  ignore && "there are no recordings here",
  async (t) => {
    let pieces: Uint8Array<ArrayBuffer>[] = [];
    let headers = {};
    const fetch: Fetch = () => Promise.resolve(piecewise(pieces, headers));
    await using gateway = await startGateway(fileFor("http://127.0.0.1:9"), {
      fetch,
    });
    for (const recording of passing.filter(({ streamed }) => streamed)) {
      pieces = cutAwkwardly(recording.answer);
      headers = { "content-type": recording.contentType };
      const [family] = NATIVE_FAMILIES[recording.protocol];
      await t.step(recording.name, () => replay(recording, family, gateway));
    }
  },
);
