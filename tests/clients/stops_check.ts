import assert from "node:assert/strict";
import { type Clock, systemClock } from "../../src/base/time/timers.ts";
import { tokenFile } from "../support/gateway/config.ts";
import type { RunningGateway } from "../support/gateway/gateway.ts";
import { ask, hello, PATHS } from "../support/wire/ask.ts";
import { type CheckedClient, runBehind, testsOf } from "./checked_client.ts";
import { CLIENTS } from "./programs.ts";
import {
  startTranslating,
  UNKNOWN_MODEL,
  type Upstream,
  upstreamsFor,
} from "./upstreams.ts";

// Real clients from npm, at failures that no retry can solve. Each must end soon and print the
// reason, even with its default number of retries. At temporary failures, each must continue.
// docs/reference/messages.md lists the exceptions. `deno task test:clients` runs this; `deno task test` does
// not.

/**
 * The longest time from a client's first request to its end, in milliseconds. A user must not wait
 * without a message.
 */
const STOP_MS = 30_000;

/** The longest time of a run, in milliseconds. Some clients take half a minute to start on a busy machine. */
const RUN_MS = 90_000;

/** A failure that no retry can solve. */
interface LastingFailure {
  readonly name: string;
  /** The provider's response; default: a good answer. */
  readonly answer?: () => Response;
  /** True when the connection cools down during the whole run. */
  readonly isCooling?: boolean;
  /** The client's token; default: a valid one. */
  readonly token?: string;
  /** The limits of the token; default: none. */
  readonly limits?: readonly object[];
  /** The message that the client prints. */
  readonly printed: RegExp;
  /** The clients that do not stop at it with any error. */
  readonly except?: RegExp;
}

/** A stopped clock, with which a cool-down never ends. */
const STOPPED: Clock = { ...systemClock, elapsedMs: () => 0 };

const refused = () =>
  Response.json(
    { error: { message: "Incorrect API key", code: "invalid_api_key" } },
    { status: 401 },
  );
const unpaid = () =>
  Response.json({ error: { message: "Insufficient credits" } }, {
    status: 402,
  });

/**
 * Qwen Code retries a 502 seven times within a minute and a half, with any message, except over
 * Responses.
 */
const STUBBORN = /^Qwen Code over (chat|messages)$/;

const FAILURES: readonly LastingFailure[] = [
  {
    name: "a provider that refuses the gateway's key",
    answer: refused,
    printed: /does not accept the gateway's credential/,
    except: STUBBORN,
  },
  {
    name: "a connection that cools down after its key was refused",
    answer: refused,
    isCooling: true,
    printed: /does not accept the gateway's credential/,
    except: STUBBORN,
  },
  {
    name: "a provider that demands a payment",
    answer: unpaid,
    // Codex prints the last of several responses.
    printed: /Insufficient credits|quota of the gateway's account/,
  },
  {
    name: "a connection that cools down after its provider demanded a payment",
    answer: unpaid,
    isCooling: true,
    printed: /quota of the gateway's account .* is exhausted/,
  },
  {
    name: "a token that the gateway does not know",
    token: "mg_nobody",
    printed: /unknown or expired/,
  },
  {
    name: "a limit of its token that is exhausted for days",
    limits: [{ window: "month", requests: 1 }],
    // Codex has its own message.
    printed:
      /may use 1 request per month|hit your usage limit\. See your limits at http.*, or try again at/,
  },
];

/** The clients that meet every failure behind each provider. */
const QUICK = /^(Claude Code|Codex CLI)$/;

/** The default number of retries, for clients with such a setting. */
const RETRIES = 5;

for (const program of CLIENTS) {
  const test = await testsOf(program);
  // The others need seconds to start, and their errors do not depend on the provider.
  const upstreams = upstreamsFor(program)
    .slice(0, QUICK.test(program.name) ? undefined : 1);
  for (const upstream of upstreams) {
    const behind = `behind ${upstream.endpoint}`;
    for (const failure of FAILURES) {
      if (failure.except?.test(program.name)) continue;
      test(
        `stops at ${failure.name}, and prints the reason, ${behind}`,
        (command) => checkStop(upstream, { program, command, failure }),
      );
    }
    test(
      `waits for a gateway that is full, and continues, ${behind}`,
      (command) => checkFull(upstream, { program, command }),
    );
  }
}

async function checkStop(
  upstream: Upstream,
  { program, command, failure }: CheckedClient & {
    readonly failure: LastingFailure;
  },
): Promise<void> {
  const { answer, isCooling, token, limits, printed } = failure;
  await using gateway = await startTranslating(upstream, {
    ...(isCooling === true ? { clock: STOPPED } : {}),
    ...(limits === undefined
      ? {}
      : { file: { tokens: [tokenFile({ limits })] } }),
    ...(answer === undefined ? {} : { spoil: () => Promise.resolve(answer()) }),
  });
  const before = isCooling === true ? 3 : limits === undefined ? 0 : 1;
  for (let count = 0; count < before; count++) await askOnce(gateway);
  const run = await runBehind(gateway, {
    program,
    command,
    prompt: "Say hello",
    ...(token === undefined ? {} : { token }),
    retries: RETRIES,
    runMs: RUN_MS,
  });
  const { output } = run;
  const first = gateway.lines.requests.items[before];
  const tookMs = Date.now() - Date.parse(String(first?.time));
  assert.ok(tookMs < STOP_MS, `${tookMs} ms\n${output}`);
  assert.notEqual(run.code, 0, output);
  assert.match(`${run.stdout}\n${run.stderr}`, printed, output);
}

async function askOnce(gateway: RunningGateway): Promise<void> {
  const body = hello("chat", { model: UNKNOWN_MODEL });
  const response = await gateway.call(PATHS.chat, ask("chat", body));
  await response.body?.cancel();
}

/** Asserts that a client waits while another request holds the gateway's only slot for some seconds. */
async function checkFull(
  upstream: Upstream,
  client: CheckedClient,
): Promise<void> {
  const held = Promise.withResolvers<void>();
  let isFirst = true;
  await using gateway = await startTranslating(upstream, {
    file: { server: { port: 0, max_concurrent_requests: 1 } },
    async spoil(answer) {
      if (isFirst) {
        isFirst = false;
        await held.promise;
      }
      return answer;
    },
  });
  const holding = askOnce(gateway);
  const { requests } = gateway.lines;
  const isTurnedAway = () => requests.items.some((one) => one.status === 503);
  let isOver = false;
  const release = (async () => {
    while (!isOver && !isTurnedAway()) {
      await new Promise((go) => setTimeout(go, 50));
    }
    held.resolve();
  })();
  const run = await runBehind(gateway, {
    ...client,
    prompt: "Say hello",
    retries: RETRIES,
    runMs: RUN_MS,
  });
  isOver = true;
  await Promise.all([holding, release]);
  const { output } = run;
  assert.equal(run.code, 0, output);
  assert.match(run.stdout, /You said: /, output);
  assert.ok(isTurnedAway(), output);
}
