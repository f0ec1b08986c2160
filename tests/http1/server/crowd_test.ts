import { createHttp1Server } from "../../../src/http1/server/server.ts";
import { DirectResponse } from "../../../src/http1/direct_response.ts";
import { eventLoopCrowd } from "../../../src/http1/crowd.ts";
import assert from "node:assert/strict";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { nextTurn } from "../../support/settle.ts";

/** The number of reads that the platform completes in one turn of its event loop. */
const READS_PER_TURN = 128;

const SOCKETS = 256;

const TURNS = 64;

const REQUEST = new TextEncoder().encode(
  "GET / HTTP/1.1\r\nhost: a\r\n\r\n",
);

/** A caller's socket, and the number of its responses. */
interface Caller {
  answers: number;
  /** Completes the waiting read. */
  onBytes: ((bytes: number) => void) | undefined;
  into: Uint8Array;
}

/**
 * The platform's sockets, with callers who send their next request as soon as they have a response. In a turn, the
 * platform completes a number of reads: first of sockets whose bytes have arrived since the last turn, then of those
 * that it left over, the last one first.
 */
function createPlatform() {
  let arrived: Caller[] = [];
  let left: Caller[] = [];
  const callers: Caller[] = [];

  return {
    callers,
    connect() {
      const caller: Caller = {
        answers: 0,
        onBytes: undefined,
        into: new Uint8Array(),
      };
      callers.push(caller);
      arrived.push(caller);
      return {
        read(into: Uint8Array) {
          caller.into = into;
          return new Promise<number | null>((resolve) => {
            caller.onBytes = resolve;
          });
        },
        write(bytes: Uint8Array) {
          caller.answers++;
          arrived.push(caller);
          return Promise.resolve(bytes.length);
        },
        close: () => caller.onBytes?.(0),
      };
    },
    async turn() {
      const ready = [...arrived, ...left.reverse()];
      left = ready.splice(READS_PER_TURN);
      arrived = [];
      for (const { into, onBytes } of ready) {
        into.set(REQUEST);
        onBytes?.(REQUEST.length);
      }
      await nextTurn();
    },
  };
}

Deno.test("no caller is served much more often than another, even with more callers than the platform reads in a turn", async () => {
  const platform = createPlatform();
  const server = createHttp1Server({
    handler: () =>
      Promise.resolve(
        new DirectResponse(new Uint8Array(), { headers: [] }),
      ),
    scheme: "http",
    deadlines: createDeadlines(createFakeTimers()),
    crowd: eventLoopCrowd,
  });
  for (let count = 0; count < SOCKETS; count++) {
    server.serve(platform.connect());
  }
  await nextTurn();
  for (let turn = 0; turn < TURNS; turn++) await platform.turn();
  const answers = platform.callers.map((one) => one.answers);
  const [least, most] = [Math.min(...answers), Math.max(...answers)];
  assert.ok(
    most <= 2 * least,
    `one caller has ${most} answers, another ${least}`,
  );
  await server.close();
});
