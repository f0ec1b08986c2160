import assert from "node:assert/strict";
import { isJsonObject, parseJson } from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import { SSE_HEADERS } from "../../support/wire/answers.ts";
import { PROTOCOLS } from "../../support/wire/ask.ts";
import { type Act, good } from "../../support/upstream/bad_provider.ts";
import {
  type CallerResponse,
  connectionTo,
  type Mode,
  openScene,
} from "../../support/gateway/failover_scene.ts";
import {
  NO_OVERFLOWS,
  OVERFLOWS,
  type ProviderError,
} from "../../support/dialects/provider_errors.ts";
import { steps } from "../../support/steps.ts";

const MODES = ["native", "translated"] as const;

/** The forms in which a provider reports an error, each as the text of the whole answer. */
const WAYS = {
  "with its status": {
    stream: false,
    isInside: false,
    act: ({ status, body }) => () => Response.json(body, { status }),
  },
  "in place of a stream": {
    stream: true,
    isInside: false,
    act: ({ status, body }) => () => Response.json(body, { status }),
  },
  "as the first event of a stream": {
    stream: true,
    isInside: true,
    act: ({ body }) => () =>
      new Response(eventOf(body), { headers: SSE_HEADERS }),
  },
  "inside a good answer": {
    stream: false,
    isInside: true,
    act: ({ body }) => () => Response.json(inObject(body)),
  },
  "inside a good answer in place of a stream": {
    stream: true,
    isInside: true,
    act: ({ body }) => () => Response.json(inObject(body)),
  },
} as const satisfies Record<string, {
  readonly stream: boolean;
  /** True when the status is a success. */
  readonly isInside: boolean;
  readonly act: (error: ProviderError) => Act;
}>;

for (const error of OVERFLOWS) {
  Deno.test(`a fallback serves when ${error.provider} rejects a prompt as too long`, (t) =>
    steps(t, eachWay(error, MODES), async ({ protocol, mode, stream, act }) => {
      const scene = await openScene(
        twoConnections({ protocol, mode }),
        { one: [act], two: [good] },
      );
      const received = await scene.ask(protocol, { stream });
      assert.equal(received.status, 200, received.text);
      assert.deepEqual(scene.providers.hosts(), ["one", "two"]);
    }));

  Deno.test(`callers get ${error.provider}'s length error in their own protocol`, (t) =>
    steps(
      t,
      eachWay(error, ["translated"]),
      async ({ protocol, mode, stream, act }) => {
        const scene = await openScene(
          [connectionTo("one", { protocol, mode })],
          { one: [act] },
        );
        const received = await scene.ask(protocol, { stream });
        assert.deepEqual(scene.providers.hosts(), ["one"]);
        checkOverflow(received, protocol);
      },
    ));
}

Deno.test("a native caller gets the provider's length error byte for byte", async (t) => {
  for (const { provider, status, body } of OVERFLOWS) {
    for (const protocol of PROTOCOLS) {
      await t.step(`${provider}, ${protocol}`, async () => {
        const text = ` ${JSON.stringify(body)}\n`;
        const scene = await openScene(
          [connectionTo("one", { protocol, mode: "native" })],
          { one: [() => new Response(text, { status })] },
        );
        const received = await scene.ask(protocol);
        assert.equal(received.status, status);
        assert.equal(received.text, text);
        assert.deepEqual(scene.providers.hosts(), ["one"]);
      });
    }
  }
});

Deno.test("no fallback gets a request that the provider rejects in similar words", async (t) => {
  for (const { provider, status, body, kind } of NO_OVERFLOWS) {
    if (kind !== "invalid_request") continue;
    for (const protocol of PROTOCOLS) {
      for (const mode of MODES) {
        await t.step(`${provider}, ${protocol}, ${mode}`, async () => {
          const scene = await openScene(
            twoConnections({ protocol, mode }),
            { one: [() => Response.json(body, { status })], two: [good] },
          );
          const received = await scene.ask(protocol);
          assert.equal(received.status, status);
          assert.doesNotMatch(received.text, /prompt is too long/);
          assert.doesNotMatch(received.text, /context_length_exceeded/);
          // A translated request may be sent once more without the refused field.
          const [first, ...more] = scene.providers.hosts();
          assert.equal(first, "one");
          assert.deepEqual(more, mode === "native" ? [] : more.slice(0, 1));
          assert.ok(more.every((host) => host === "one"));
        });
      }
    }
  }
});

Deno.test("callers learn in their own protocol that an answer filled the context window", async (t) => {
  for (const { provider, body, isOutside } of OVERFLOWS) {
    if (isOutside) continue;
    for (const protocol of PROTOCOLS) {
      await t.step(`${provider}, ${protocol}`, async () => {
        const act: Act = ({ wire: { start, output } }) =>
          new Response(start + output + eventOf(body), {
            headers: SSE_HEADERS,
          });
        const scene = await openScene(
          twoConnections({ protocol, mode: "translated" }),
          { one: [act], two: [good] },
        );
        const { text } = await scene.ask(protocol, { stream: true });
        assert.deepEqual(scene.providers.hosts(), ["one"]);
        assert.match(
          text,
          protocol === "messages"
            ? /"invalid_request_error","message":"prompt is too long/i
            : /"code":"context_length_exceeded"/,
        );
      });
    }
  }
});

/** Further operations, with their requests. */
const OTHERS = [
  {
    path: "/v1/completions",
    protocol: "chat",
    mode: "translated",
    body: { prompt: "Hello" },
  },
  {
    path: "/v1/messages/count_tokens",
    protocol: "messages",
    mode: "native",
    body: { messages: [{ role: "user", content: "Hello" }] },
  },
  {
    path: "/v1/responses/compact",
    protocol: "responses",
    mode: "native",
    body: { input: "Hello" },
  },
] as const;

Deno.test("legacy completions, token counts and compaction also use the fallback, and report the length", async (t) => {
  for (const { path, protocol, mode, body } of OTHERS) {
    for (const { provider, status, body: error } of OVERFLOWS) {
      await t.step(`${path}, ${provider}`, async () => {
        const text = JSON.stringify(error);
        const tooLong = () => new Response(text, { status });
        const scene = await openScene(
          twoConnections({ protocol, mode: "native" }),
          { one: [tooLong], two: [tooLong] },
        );
        const request = scene.request(protocol);
        const response = await scene.pass(scene.gateway.handler(
          new Request(`http://gateway${path}`, {
            method: "POST",
            headers: request.headers,
            body: JSON.stringify({ model: "model-1", ...body }),
          }),
        ));
        assert.deepEqual(scene.providers.hosts(), ["one", "two"]);
        const received = await response.text();
        if (mode === "native") {
          assert.equal(response.status, status);
          assert.equal(received, text);
        } else {
          assert.equal(response.status, 400);
          assert.match(received, /"code":"context_length_exceeded"/);
        }
      });
    }
  }
});

/**
 * Yields an error for callers of every protocol and mode, in one form with its status and one inside an answer, others
 * with every error and caller; the first error in every form. The reading of words depends on the caller and on the
 * status, not on the form.
 */
function* eachWay(error: ProviderError, modes: readonly Mode[]): Generator<{
  readonly name: string;
  readonly protocol: Protocol;
  readonly mode: Mode;
  readonly stream: boolean;
  readonly act: Act;
}> {
  let turn = OVERFLOWS.indexOf(error);
  const meetsAll = turn === 0;
  for (const protocol of PROTOCOLS) {
    for (const mode of modes) {
      for (const inside of error.isOutside ? [false] : [false, true]) {
        const ways = Object.entries(WAYS)
          .filter(([, { isInside }]) => isInside === inside);
        const one = turn++ % ways.length;
        for (
          const [way, { stream, act }] of meetsAll
            ? ways
            : ways.slice(one, one + 1)
        ) {
          const name = `${way}, ${protocol}, ${mode}`;
          yield { name, protocol, mode, stream, act: act(error) };
        }
      }
    }
  }
}

function twoConnections(
  served: { readonly protocol: Protocol; readonly mode: Mode },
): Record<string, unknown>[] {
  return [
    connectionTo("one", served, {
      models: [{ id: "model-1", fallbacks: ["model-2"] }],
    }),
    connectionTo("two", served, { models: ["model-2"] }),
  ];
}

/** Converts an error in a list to an object, as in an answer. */
function inObject(body: ProviderError["body"]): object {
  return isJsonObject(body) ? body : { error: body };
}

function eventOf(body: ProviderError["body"]): string {
  return `event: error\ndata: ${JSON.stringify(inObject(body))}\n\n`;
}

/** Checks for the error after which Claude Code compacts and Codex shortens its history. */
function checkOverflow(
  { status, text }: CallerResponse,
  protocol: Protocol,
): void {
  assert.equal(status, 400, text);
  const body = parseJson(text);
  assert.ok(isJsonObject(body) && isJsonObject(body.error), text);
  const { error } = body;
  assert.equal(error.type, "invalid_request_error");
  if (protocol === "messages") {
    assert.match(String(error.message), /^prompt is too long/i);
  } else {
    assert.equal(error.code, "context_length_exceeded");
  }
}
