import { createGateway } from "../../../../src/gateway/app.ts";
import { createLiveConfig } from "../../../../src/gateway/config/live_config.ts";
import { sha256Hex } from "../../../../src/base/sha256.ts";
import { VirtualTime } from "../../../simulation/world/time.ts";
import {
  connectionFile,
  minimalConfig,
  tokenFile,
} from "../../../support/gateway/config.ts";
import {
  createMemoryLog,
  type MemoryLog,
} from "../../../support/fakes/memory_log.ts";
import { createRandom, type Random } from "../../../support/fakes/random.ts";
import { hello } from "../../../support/wire/ask.ts";
import type { OpenGroup, PlanGroup } from "./plan_groups.ts";

type Gateway = ReturnType<typeof createGateway>;

/** A request of a person, with its result. */
export interface Turn {
  readonly person: string;
  /** The number of the gateway. */
  readonly at: number;
  readonly sentMs: number;
  readonly endedMs: number;
  readonly status: number;
  readonly retryAfter: string | null;
  readonly text: string;
  /** The line of the log. */
  readonly line: Readonly<Record<string, unknown>>;
}

/** A request that a plan served. */
interface Served {
  readonly plan: string;
  readonly person: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** A provider's plan, which serves a number of requests at once and refuses more. */
export interface Plan {
  capacity: number;
  /** The time of a request, in milliseconds. */
  serviceMs: (random: Random) => number;
  /** If set, all requests are refused until then, with this time in the refusal. */
  closedUntilMs?: number;
  /** If set, all requests fail with this status. */
  failsWith?: number | undefined;
  running: number;
  refusals: number;
}

/** Gateways in front of plans, on a virtual clock. */
export interface PlanScene {
  /** The first gateway, and all of them. */
  readonly gateway: Gateway;
  readonly gateways: readonly Gateway[];
  readonly group: PlanGroup | undefined;
  readonly time: VirtualTime;
  readonly random: Random;
  readonly plans: Readonly<Record<string, Plan>>;
  readonly served: readonly Served[];
  readonly log: MemoryLog;
  /** Replaces the configuration. */
  configure(overrides: Readonly<Record<string, unknown>>): Promise<void>;
  /** Sends one request and reads its response. */
  ask(person: string, options?: AskOptions): Promise<Turn>;
  /** Lets time pass until `work` is done. */
  pass<Value>(work: Promise<Value>): Promise<Value>;
}

interface AskOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly model?: string;
  /** The length of the prompt, in bytes; default: a few. */
  readonly promptBytes?: number;
  readonly signal?: AbortSignal;
  /** The number of the gateway; default: 0. */
  readonly at?: number;
}

interface SceneOptions {
  readonly people: readonly string[];
  /** The fields of each token beside its name. */
  readonly tokens?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** The fields of each connection. */
  readonly connections: Readonly<
    Record<string, Readonly<Record<string, unknown>>>
  >;
  readonly plans: Readonly<
    Record<string, Pick<Plan, "capacity" | "serviceMs">>
  >;
  readonly overrides?: Readonly<Record<string, unknown>>;
  /** The memory for bodies, which may be below the configuration's minimum; default: the configured one. */
  readonly bodyMemoryBytes?: number;
  /** Opens several gateways that share state; default: a single gateway. */
  readonly group?: OpenGroup;
  readonly seed?: number;
}

/** Opens a gateway in front of plans. Each connection leads to the plan of its name. */
export async function openPlans(options: SceneOptions): Promise<PlanScene> {
  const time = new VirtualTime();
  const random = createRandom(options.seed ?? 1);
  const plans: Record<string, Plan> = Object.fromEntries(
    Object.entries(options.plans).map(([name, plan]) => [
      name,
      { running: 0, refusals: 0, ...plan },
    ]),
  );
  const served: Served[] = [];
  const configOf = (overrides: Readonly<Record<string, unknown>>) =>
    minimalConfig({
      connections: Object.entries(options.connections).map(([name, fields]) =>
        connectionFile({
          name,
          endpoints: { chat: `http://${name}.example/v1` },
          ...fields,
        })
      ),
      tokens: options.people.map((name) =>
        tokenFile({
          name,
          sha256: sha256Hex(tokenOf(name)),
          ...options.tokens?.[name],
        })
      ),
      ...overrides,
    });
  const config = await configOf(options.overrides ?? {});
  const { bodyMemoryBytes = config.server.maxBodyMemoryBytes } = options;
  const liveConfig = createLiveConfig({
    ...config,
    server: { ...config.server, maxBodyMemoryBytes: bodyMemoryBytes },
  });
  const log = createMemoryLog();
  const group = options.group?.({ time, random, config: liveConfig.current });
  const open = (shared: PlanGroup["states"][number] | undefined) =>
    createGateway({
      liveConfig,
      fetch: (input, init) => serve(String(input), init ?? {}),
      log,
      clock: time,
      timers: time,
      random: () => random.below(1000) / 1000,
      shared,
    });
  const gateway = open(group?.states[0]);
  const gateways = [gateway, ...group?.states.slice(1).map(open) ?? []];

  async function serve(url: string, init: RequestInit): Promise<Response> {
    const name = new URL(url).hostname.split(".")[0] ?? "";
    const plan = plans[name];
    if (plan === undefined) return new Response(null, { status: 404 });
    const person = new Headers(init.headers).get("x-team") ?? "";
    const nowMs = time.elapsedMs();
    if (plan.failsWith !== undefined) return failed(plan.failsWith);
    const closedMs = (plan.closedUntilMs ?? 0) - nowMs;
    if (closedMs > 0 || plan.running >= plan.capacity) {
      plan.refusals += 1;
      return Response.json(
        { error: { message: "Too many requests.", type: "rate_limit_error" } },
        {
          status: 429,
          headers: closedMs > 0
            ? { "retry-after": String(Math.ceil(closedMs / 1000)) }
            : {},
        },
      );
    }
    plan.running += 1;
    try {
      await new Promise<void>((resolve, reject) => {
        const cancel = time.schedule(plan.serviceMs(random), resolve);
        init.signal?.addEventListener("abort", () => {
          cancel();
          reject(init.signal?.reason);
        });
      });
    } finally {
      plan.running -= 1;
      served.push({
        plan: name,
        person,
        fromMs: nowMs,
        untilMs: time.elapsedMs(),
      });
    }
    return plan.failsWith === undefined
      ? Response.json(ANSWER)
      : failed(plan.failsWith);
  }

  return {
    ...{ gateway, gateways, group, time, random, plans, served, log },
    async configure(overrides) {
      liveConfig.swap(await time.outside(configOf(overrides)));
    },
    async ask(person, options = {}) {
      const { headers = {}, model = "model-a", signal, at = 0 } = options;
      const { promptBytes } = options;
      const prompt = promptBytes === undefined ? {} : {
        messages: [{ role: "user", content: "x".repeat(promptBytes) }],
      };
      const sentMs = time.elapsedMs();
      const body = hello("chat", { model, ...prompt });
      const request = new Request(
        "http://gateway.example/v1/chat/completions",
        {
          method: "POST",
          headers: {
            "content-type": "application/json",
            authorization: `Bearer ${tokenOf(person)}`,
            "x-team": person,
            ...promptBytes === undefined
              ? {}
              : { "content-length": String(body.length) },
            ...headers,
          },
          body,
          ...signal && { signal },
        },
      );
      const response = await (gateways[at] ?? gateway).handler(request);
      const text = await response.text();
      const id = response.headers.get("x-request-id");
      const line = log.entries.findLast(({ fields }) =>
        fields.request_id === id
      );
      return {
        ...{ person, at, sentMs, endedMs: time.elapsedMs() },
        ...{ status: response.status, text },
        retryAfter: response.headers.get("retry-after"),
        line: line?.fields ?? {},
      };
    },
    async pass(work) {
      let isOver = false;
      const done = work.finally(() => isOver = true);
      done.catch(() => {});
      await time.run(time.elapsedMs() + 7 * 86_400_000, () => isOver);
      return await done;
    },
  };
}

/** A request at a time, in milliseconds. */
type TimedRequest = readonly [
  atMs: number,
  person: string,
  options?: AskOptions,
];

/** Sends a request at each of these times, counted from now. */
export function sendAt(
  scene: PlanScene,
  requests: readonly TimedRequest[],
): Promise<readonly Turn[]> {
  return scene.pass(
    Promise.all(requests.map(async ([atMs, person, options]) => {
      await scene.time.sleep(atMs);
      return await scene.ask(person, options);
    })),
  );
}

/** Returns the people in the order in which their requests ended. */
export function orderOf(turns: readonly Turn[]): readonly string[] {
  return turns.toSorted((one, other) => one.endedMs - other.endedMs)
    .map(({ person }) => person);
}

function tokenOf(person: string): string {
  return `mg_${person}`;
}

function failed(status: number): Response {
  return Response.json({ error: { message: "It failed." } }, { status });
}

const ANSWER = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "model-a",
  choices: [{
    index: 0,
    message: { role: "assistant", content: "Hello" },
    finish_reason: "stop",
  }],
  usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 },
};
