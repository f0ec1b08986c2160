import assert from "node:assert/strict";
import { PROTOCOLS } from "../../../support/wire/ask.ts";
import {
  type Act,
  good,
  silent,
  status,
  streamOf,
} from "../../../support/upstream/bad_provider.ts";
import {
  connectionTo,
  openScene,
  type Scene,
} from "../../../support/gateway/failover_scene.ts";
import { settle } from "../../../support/settle.ts";

/** A stage of a request at which its caller disconnects. */
interface Stage {
  readonly acts: readonly Act[];
  readonly stream: boolean;
  /** True when the caller has received the headers. */
  readonly answered: boolean;
  /** True when the request is aborted before the answer's body is cancelled; default: the body first. */
  readonly signalFirst?: boolean;
  /** The number of requests that providers have received. */
  readonly asked: number;
}

const STAGES: Readonly<Record<string, Stage>> = {
  "before the headers": {
    acts: [silent],
    stream: true,
    answered: false,
    asked: 1,
  },
  "before the headers of a JSON answer": {
    acts: [silent],
    stream: false,
    answered: false,
    asked: 1,
  },
  "in the pause before another attempt": {
    acts: [status(429, { headers: { "retry-after": "3" } })],
    stream: true,
    answered: false,
    asked: 1,
  },
  "before the headers of another attempt": {
    acts: [status(500), silent],
    stream: true,
    answered: false,
    asked: 2,
  },
  "while the beginning is held back": {
    acts: [streamOf(({ start }) => [start], "stall")],
    stream: true,
    answered: false,
    asked: 1,
  },
  "in the middle of a stream": {
    acts: [streamOf(({ start, output }) => [start, output], "stall")],
    stream: true,
    answered: true,
    asked: 1,
  },
  "in the middle of a stream, with the request aborted first,": {
    acts: [streamOf(({ start, output }) => [start, output], "stall")],
    stream: true,
    answered: true,
    signalFirst: true,
    asked: 1,
  },
};

for (const [name, stage] of Object.entries(STAGES)) {
  Deno.test(`a caller who disconnects ${name} frees its slot and ends the upstream's work`, async (t) => {
    for (const protocol of PROTOCOLS) {
      for (const mode of ["native", "translated"] as const) {
        await t.step(`${protocol} ${mode}`, async () => {
          const way = { protocol, mode };
          const limit = { max_concurrent: 1 };
          const scene = await openScene([
            connectionTo("one", way, {
              ...limit,
              models: [{ id: "model-1", fallbacks: ["model-2"] }],
            }),
            connectionTo("two", way, { models: ["model-2"] }),
          ], { one: [...stage.acts, good], two: [good] });
          await leave(scene, stage, protocol);
          assert.equal(scene.gateway.admission.active, 0);
          assert.equal(scene.timers.running, 0);
          assert.equal(scene.providers.asked.length, stage.asked);
          assert.ok(
            scene.providers.asked.every(({ signal }) => signal.aborted),
          );
          const [line] = scene.lines.requests.items;
          assert.equal(line?.ended, "client_abort");
          assert.equal(line?.failure, undefined);
          assert.equal(scene.lines.requests.items.length, 1);
        });
      }
    }
  });
}

/** Disconnects the caller at the stage, while the test's clock stands still. */
async function leave(
  scene: Scene,
  { stream, answered, signalFirst = false, asked }: Stage,
  protocol: (typeof PROTOCOLS)[number],
): Promise<void> {
  const caller = new AbortController();
  const request = new Request(scene.request(protocol, { stream }), {
    signal: caller.signal,
  });
  const answer = scene.gateway.handler(request);
  while (scene.providers.asked.length < asked) {
    await settle();
    if (asked > 1) scene.timers.advance(100);
  }
  for (let turn = 0; turn < 5; turn++) await settle();
  if (answered) {
    const reader = (await answer).body?.getReader();
    await reader?.read();
    if (signalFirst) {
      const end = readToEnd(reader);
      for (let turn = 0; turn < 5; turn++) await settle();
      caller.abort();
      await end;
    } else await reader?.cancel();
  }
  caller.abort();
  await answer;
  for (let turn = 0; turn < 5; turn++) await settle();
}

async function readToEnd(
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
): Promise<void> {
  try {
    while ((await reader?.read())?.done === false);
  } catch {
    // The unread rest is cut.
  }
}
