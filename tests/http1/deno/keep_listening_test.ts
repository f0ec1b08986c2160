import { keepListening, ListenError } from "../../../src/http1/deno/listen.ts";
import assert from "node:assert/strict";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { createMemoryLog } from "../../support/fakes/memory_log.ts";
import { settle } from "../../support/settle.ts";
import { testNeeding } from "../../support/ignored.ts";

type OpenListener = ReturnType<Parameters<typeof keepListening>[0]["open"]>;

/** A listener of the test. */
interface FakeListener extends OpenListener {
  closed: boolean;
}

/** The platform's result when a listener is opened. */
interface Scene {
  fails: boolean;
  cause: unknown;
}

function begin() {
  const timers = createFakeTimers();
  const log = createMemoryLog();
  const opened: FakeListener[] = [];
  const ports: (number | undefined)[] = [];
  const scene: Scene = { fails: false, cause: undefined };
  const listener = keepListening({
    open(port) {
      ports.push(port);
      if (scene.fails) {
        throw new ListenError("Cannot listen", { cause: scene.cause });
      }
      const one: FakeListener = {
        url: "http://127.0.0.1:4000",
        port: 4000,
        closed: false,
        close() {
          one.closed = true;
          return Promise.resolve();
        },
      };
      opened.push(one);
      return one;
    },
    log,
    timers,
  });
  const events = () => log.entries.map(({ event }) => event);
  /** Advances the clock in small steps, and runs due work after each. */
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 100) {
      timers.advance(100);
      await settle();
    }
  };
  return { timers, log, opened, ports, scene, listener, events, pass };
}

Deno.test("keepListening() fails when the first listener fails", () => {
  const timers = createFakeTimers();
  const open = () => {
    {
      throw new ListenError("Cannot listen");
    }
  };
  const log = createMemoryLog();
  assert.throws(() => keepListening({ open, log, timers }), ListenError);
  assert.equal(timers.running, 0);
});

Deno.test("renew() listens at the same port before it closes the old listener", async () => {
  const { listener, opened, ports, events } = begin();
  listener.renew();
  assert.deepEqual(ports, [undefined, 4000]);
  assert.deepEqual(opened.map(({ closed }) => closed), [true, false]);
  assert.deepEqual(events(), ["listener_renewed"]);
  await listener.close();
  assert.deepEqual(opened.map(({ closed }) => closed), [true, true]);
});

Deno.test("renew() keeps the old listener when the new one fails, and logs the reason", async () => {
  const { scene, listener, opened, log } = begin();
  scene.fails = true;
  listener.renew();
  assert.deepEqual(opened.map(({ closed }) => closed), [false]);
  assert.deepEqual(log.entries, [{
    level: "error",
    event: "listener_kept",
    fields: { reason: "Cannot listen" },
  }]);
  await listener.close();
});

Deno.test("renew() closes the old listener first if the platform cannot share a port", async () => {
  const { scene, listener, opened, events, pass } = begin();
  scene.fails = true;
  scene.cause = new Deno.errors.AddrInUse();
  listener.renew();
  assert.deepEqual(opened.map(({ closed }) => closed), [true]);
  scene.fails = false;
  await pass(100);
  assert.equal(opened.length, 2);
  assert.deepEqual(events(), ["listening_again"]);
  await listener.close();
});

Deno.test("renew() tries again with growing pauses, and logs no attempt", async () => {
  const { scene, listener, ports, events, pass } = begin();
  scene.fails = true;
  scene.cause = new Deno.errors.AddrInUse();
  listener.renew();
  await pass(100 + 200 + 400 + 800 + 1_600 + 2_000 + 2_000);
  assert.equal(ports.length, 2 + 7);
  assert.deepEqual(events(), []);
  scene.fails = false;
  await pass(2_000);
  assert.deepEqual(events(), ["listening_again"]);
  await listener.close();
});

Deno.test("close() ends the attempts of renew(), and later calls do nothing", async () => {
  const { scene, listener, opened, timers, pass } = begin();
  scene.fails = true;
  scene.cause = new Deno.errors.AddrInUse();
  listener.renew();
  await listener.close();
  scene.fails = false;
  await pass(1_000);
  listener.renew();
  assert.equal(opened.length, 1);
  assert.equal(timers.running, 0);
});

const MODULE =
  new URL("../../../src/gateway/process/signals.ts", import.meta.url).href;

/** Prints each signal that it receives; ends after two signals to stop. */
const PROGRAM = `
  import { nextStopSignal, onHangup } from ${JSON.stringify(MODULE)};
  onHangup(() => console.log("hangup"));
  const first = nextStopSignal();
  console.log("ready");
  await first;
  const second = nextStopSignal();
  console.log("first");
  await second;
  console.log("second");
  Deno.exit(0);
`;

testNeeding(
  "each nextStopSignal() resolves at one signal, and onHangup() reports every SIGHUP",
  Deno.build.os === "windows" && "Windows has no such signals",
  async () => {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["eval", PROGRAM],
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let said = "";
    const hear = async (line: string) => {
      while (!said.endsWith(`${line}\n`)) {
        const { done, value = "" } = await lines.read();
        assert.ok(!done, `it ended, having said ${said}`);
        said += value;
      }
      said = "";
    };
    await hear("ready");
    child.kill("SIGHUP");
    await hear("hangup");
    child.kill("SIGHUP");
    await hear("hangup");
    child.kill("SIGTERM");
    await hear("first");
    child.kill("SIGINT");
    await hear("second");
    await lines.cancel();
    assert.equal((await child.status).code, 0);
  },
);

/** Throws an uncaught error of every kind. */
const FAILING_PROGRAM = `
  import { reportUncaught } from ${JSON.stringify(MODULE)};
  reportUncaught((error) => console.log(error));
  queueMicrotask(() => { throw new TypeError("canary"); });
  setTimeout(() => Promise.reject(new RangeError("canary")));
  setTimeout(() => Promise.reject("canary"));
`;

Deno.test("reportUncaught() prints the class of an uncaught error, but not its message", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", FAILING_PROGRAM],
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  assert.equal(decoder.decode(stdout), "TypeError\nRangeError\nstring\n");
  assert.doesNotMatch(decoder.decode(stderr), /canary/);
  assert.equal(code, 0);
});
