import assert from "node:assert/strict";
import { createGateway } from "../../../src/gateway/app.ts";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import { endRequest } from "../../../src/gateway/relay/end_request.ts";
import type { RunningCountsByKey } from "../../../src/gateway/relay/request/admission.ts";
import { Conversations } from "../../../src/gateway/relay/routing/conversations.ts";
import { Health } from "../../../src/gateway/relay/routing/health.ts";
import { createMemorySums } from "../../../src/gateway/usage/memory_sums.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import {
  configOf,
  loadFile,
  minimalFile,
} from "../../support/gateway/config.ts";
import {
  connectionTo,
  type Mode,
} from "../../support/gateway/failover_scene.ts";
import { createLogLines } from "../../support/gateway/log_lines.ts";
import { openTestRecord } from "../../support/gateway/open_record.ts";
import { settle } from "../../support/settle.ts";
import {
  type Act,
  badProviders,
  good,
  streamOf,
} from "../../support/upstream/bad_provider.ts";
import { ask, hello } from "../../support/wire/ask.ts";
import { readToEnd } from "../../support/wire/read_to_end.ts";

/** Opens a gateway that notes each effect of a request's end. */
async function openStage(mode: Mode, act: Act) {
  const effects: string[] = [];
  const note = (effect: string) => void effects.push(effect);
  const connection = connectionTo("a", { protocol: "chat", mode });
  const config = configOf(
    await loadFile(minimalFile({ connections: [connection] })),
  );
  const clock = createFakeClock(0);
  const timers = createFakeTimers();
  const lines = createLogLines();
  const sums = createMemorySums(clock);
  const noting = (effect: string): RunningCountsByKey => ({
    take: () => () => note(effect),
  });
  const gateway = createGateway({
    liveConfig: createLiveConfig(config),
    fetch: badProviders({ a: [act] }, timers.elapsedMs).fetch,
    log: {
      write(event, fields) {
        if (event === "request") note("line");
        lines.log.write(event, fields);
      },
    },
    clock,
    timers,
    metrics: {
      requestEnded: () => note("metrics"),
      cooledDown() {},
      limited() {},
    },
    tracing: { follow: (_, serve) => serve({ end: () => note("span") }) },
    shared: {
      running: {
        requests: { add: () => true, remove: () => note("gateway's place") },
        callers: noting("caller's place"),
        connections: noting("slot"),
      },
      memory: {
        threads: 1,
        usedBytes: () => 0,
        running: () => 0,
        publish(bytes) {
          if (bytes === 0 && effects.at(-1) !== "memory") note("memory");
        },
      },
      sums: {
        ...sums,
        apply(change) {
          if (change.additions.length > 0) note("usage");
          sums.apply(change);
        },
      },
    },
  });
  const { begin } = Health.prototype;
  Health.prototype.begin = function (...args) {
    const report = begin.apply(this, args);
    if (report === undefined) return undefined;
    const { succeeded, failed, dismissed } = report;
    report.succeeded = () => (note("report"), succeeded.call(report));
    report.failed = (why) => (note("report"), failed.call(report, why));
    report.dismissed = () => (note("report"), dismissed.call(report));
    return report;
  };
  const close = () => void (Health.prototype.begin = begin);
  return { gateway, effects, close };
}

const PLACES = ["caller's place", "gateway's place"];
const SHOWN = ["line", "metrics"];

interface Case {
  readonly mode?: Mode;
  readonly act?: Act;
  readonly stream?: boolean;
  readonly path?: string;
  readonly model?: string;
  readonly leaves?: boolean;
  /** The effects of an answered request's end. */
  readonly effects: readonly string[];
}

const SERVED = [
  ...PLACES,
  "report",
  "slot",
  "usage",
  ...SHOWN,
  "span",
  "memory",
];
const broken: Act = streamOf(({ start, output }) => [start, output], "break");
const stalled: Act = streamOf(({ start, output }) => [start, output], "stall");

const CASES: Readonly<Record<string, Case>> = {
  "a native JSON answer": { mode: "native", effects: SERVED },
  "a native stream": { mode: "native", stream: true, effects: SERVED },
  "a translated JSON answer": { mode: "translated", effects: SERVED },
  "a translated stream": { mode: "translated", stream: true, effects: SERVED },
  "an error before any attempt": {
    model: "nonesuch",
    effects: [...PLACES, ...SHOWN, "span", "memory"],
  },
  "a caller who left": {
    act: stalled,
    stream: true,
    leaves: true,
    effects: SERVED,
  },
  "a native answer that breaks off": {
    act: broken,
    stream: true,
    effects: SERVED,
  },
  "a translated answer that breaks off": {
    mode: "translated",
    act: broken,
    stream: true,
    effects: SERVED,
  },
  "a request that the gateway answers": { path: "/models", effects: SHOWN },
};

for (const [name, one] of Object.entries(CASES)) {
  Deno.test(`endRequest() runs its effects in the same order after ${name}`, async () => {
    const { mode = "native", act = good, stream = false } = one;
    const { gateway, effects, close } = await openStage(mode, act);
    const { path = "/v1/chat/completions", model = "model-1" } = one;
    const asked = path === "/models"
      ? { headers: new Headers(ask("chat", "").headers) }
      : ask("chat", hello("chat", { model, stream }));
    const response = await gateway.handler(
      new Request(`http://gateway${path}`, asked),
    );
    if (one.leaves) {
      const reader = response.body?.getReader();
      await reader?.read();
      await reader?.cancel();
    } else await readToEnd(response.body);
    await settle();
    close();
    const start = effects.indexOf(one.effects[0] ?? "");
    assert.deepEqual(effects.slice(start), one.effects);
    for (const effect of SERVED) {
      const count = effects.filter((other) => other === effect).length;
      if (effect !== "memory") assert.ok(count <= 1, `${effect} came twice`);
    }
  });
}

for (const mode of ["native", "translated"] as const) {
  Deno.test(`a request frees its slot when it ends while the gateway notes its conversation: ${mode}`, async () => {
    const { route } = Conversations.prototype;
    Conversations.prototype.route = async function (found, exchange, source) {
      const routed = await route.call(this, found, exchange, source);
      return {
        ...routed,
        onServed: () => endRequest(exchange, "client_abort"),
      };
    };
    const { gateway, effects, close } = await openStage(mode, stalled);
    const asked = ask(
      "chat",
      hello("chat", { model: "model-1", stream: true }),
    );
    const response = await gateway.handler(
      new Request("http://gateway/v1/chat/completions", asked),
    );
    await response.body?.cancel();
    await settle();
    close();
    Conversations.prototype.route = route;
    for (const effect of ["report", "slot"]) {
      assert.equal(effects.filter((one) => one === effect).length, 1, effect);
    }
  });
}

Deno.test("endRequest() runs every effect once and throws the first error, even if several effects throw", () => {
  const { record, holds, log } = openTestRecord();
  const done: string[] = [];
  const fail = (name: string) => () => {
    done.push(name);
    throw new Error(name);
  };
  Object.assign(holds, {
    unfollow: fail("unfollow"),
    leave: fail("leave"),
    place: { release: fail("place") },
    report: fail("report"),
    slot: { completed: fail("completed"), leave: fail("slot") },
    judgeCache: fail("cache"),
    tally: { end: fail("usage") },
    conversation: fail("conversation"),
    span: { end: fail("span") },
    memory: { close: fail("memory") },
    body: { release: fail("body") },
  });
  Object.assign(log, { write: fail("line") });
  assert.throws(() => endRequest({ record, holds }, "complete"), /unfollow/);
  endRequest({ record, holds }, "error");
  assert.deepEqual(done, [
    ...["unfollow", "leave", "place", "report", "completed", "slot"],
    ...["cache", "usage", "conversation", "line", "span", "memory", "body"],
  ]);
});

Deno.test("endRequest() logs the amounts that the tally counts, and does not change the attempt's facts", () => {
  const { record, holds, log, end } = openTestRecord();
  const reported = { inputTokens: 3, outputTokens: 2 };
  record.facts.status = 200;
  record.facts.answer.usage = reported;
  holds.judgeCache = ({ facts }) => {
    assert.equal(facts.answer.usage, reported);
    return { why: "idle", tokens: 2048 };
  };
  holds.tally = {
    end: ({ facts: { answer } }) => ({ ...answer, costNanos: 1_000_000_000 }),
  };
  end("complete");
  const { fields } = log.entries[0] ?? {};
  assert.equal(fields?.cost_usd, 1);
  assert.equal(fields?.cache_miss, "idle");
  assert.deepEqual(record.facts.answer, { usage: reported });
});
