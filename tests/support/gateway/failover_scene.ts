import type { HttpRequest } from "../../../src/http1/message.ts";
import { createGateway } from "../../../src/gateway/app.ts";
import {
  createLiveConfig,
  type LiveConfig,
} from "../../../src/gateway/config/live_config.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import { createFetchClient } from "../../../src/gateway/upstream/fetch_client.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import type { Notices } from "../../../src/gateway/shared/notice.ts";
import { ask, hello, PATHS } from "../wire/ask.ts";
import {
  type Act,
  type BadProviders,
  badProviders,
} from "../upstream/bad_provider.ts";
import {
  configOf,
  connectionFile,
  loadFile,
  minimalFile,
  NOW_MS,
} from "./config.ts";
import { createFakeTimers, type FakeTimers } from "../fakes/fake_timers.ts";
import { createLogLines, type LogLines } from "./log_lines.ts";
import { readToEnd } from "../wire/read_to_end.ts";
import { nextTurn, settle } from "../settle.ts";

type Gateway = ReturnType<typeof createGateway>;

/** A gateway with scripted providers and a clock that the test controls. */
export interface Scene {
  readonly gateway: Gateway;
  readonly providers: BadProviders;
  readonly timers: FakeTimers;
  readonly lines: LogLines;
  readonly liveConfig: LiveConfig;
  /** Sends a request and advances the clock until the whole response has arrived. */
  ask(protocol: Protocol, overrides?: JsonObject): Promise<CallerResponse>;
  /** Advances the clock until `work` is done. */
  pass<Value>(work: Promise<Value>): Promise<Value>;
  /** Creates a request like those of `ask`. */
  request(protocol: Protocol, overrides?: JsonObject): Request;
}

/** The response to a caller, with its log line. */
export interface CallerResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** True when the body broke off. */
  readonly broken: boolean;
  /** The time of its end on the test's clock, in milliseconds. */
  readonly atMs: number;
  readonly line: JsonObject;
}

/** The mode in which an upstream serves a caller's protocol. */
export type Mode = "native" | "translated";

/**
 * The turns of the event loop within which most requests end. They take no real time, while {@linkcode settle} takes a
 * millisecond or more.
 */
const QUICK_TURNS = 20;

/** The pauses of the gateway on a busy machine while it reads a short answer. */
const LEAST_PAUSES = 3;

/**
 * More pauses than the gateway takes between two chunks of a long answer. On a busy machine, each of its stages pauses
 * after every 64 KiB (`base/time/turns.ts`), and a chunk has a MiB.
 */
const MOST_PAUSES = 128;

/** The turns within a pause of the gateway. */
const TURNS_OF_PAUSE = 8;

/** The most timers that a test waits for. */
const MAX_RINGS = 1000;

/**
 * Opens a gateway in front of scripted providers.
 *
 * @param connections The connections of the configuration file, see {@linkcode connectionTo}.
 * @param onSend Called with each request to a provider.
 * @param notices The channel to other gateways; default: there are none.
 */
export async function openScene(
  connections: readonly Record<string, unknown>[],
  scripts: Readonly<Record<string, readonly Act[]>>,
  overrides: Readonly<Record<string, unknown>> = {},
  onSend: (request: HttpRequest) => void = () => {},
  notices?: Notices,
): Promise<Scene> {
  const file = minimalFile({ connections, ...overrides });
  const timers = createFakeTimers();
  const providers = badProviders(scripts, timers.elapsedMs);
  const lines = createLogLines();
  const liveConfig = createLiveConfig(configOf(await loadFile(file)));
  const client = createFetchClient(providers.fetch);
  const gateway = createGateway({
    liveConfig,
    fetch: providers.fetch,
    client: {
      send(request) {
        onSend(request);
        return client.send(request);
      },
    },
    log: lines.log,
    clock: {
      now: () => NOW_MS + timers.elapsedMs(),
      elapsedMs: timers.elapsedMs,
    },
    timers,
    random: () => 0.5,
    ...notices && { shared: { notices } },
  });

  let pieces = 0;

  /**
   * Waits until the gateway has read all available bytes or the work is over, without moving the test's clock. It
   * counts turns of the event loop, so the speed of the machine does not matter.
   */
  async function untilIdle(isOver: () => boolean): Promise<void> {
    for (let pause = 0; pause < LEAST_PAUSES; pause++) {
      await settle();
      for (let turn = 0; turn < QUICK_TURNS; turn++) await nextTurn();
    }
    while (pieces < providers.pieces()) {
      pieces = providers.pieces();
      for (let pause = 0; pause < MOST_PAUSES; pause++) {
        if (isOver() || pieces < providers.pieces()) break;
        await settle();
        for (let turn = 0; turn < TURNS_OF_PAUSE; turn++) await nextTurn();
      }
    }
  }

  async function pass<Value>(work: Promise<Value>): Promise<Value> {
    let over = false;
    const done = () => {
      over = true;
    };
    work.then(done, done);
    for (let ring = 0; ring < MAX_RINGS; ring++) {
      for (let turn = 0; turn < QUICK_TURNS && !over; turn++) await nextTurn();
      if (!over) await untilIdle(() => over);
      if (over) return await work;
      timers.advance(timers.untilNextMs ?? 0);
    }
    throw new Error("Timed out waiting for the gateway");
  }

  function request(protocol: Protocol, overrides: JsonObject = {}): Request {
    const body = hello(protocol, { model: "model-1", ...overrides });
    return new Request(`http://gateway${PATHS[protocol]}`, ask(protocol, body));
  }

  return {
    gateway,
    providers,
    timers,
    lines,
    liveConfig,
    pass,
    request,
    async ask(protocol, overrides) {
      const response = await pass(
        gateway.handler(request(protocol, overrides)),
      );
      const { text, isCut } = await pass(readToEnd(response.body));
      // On a slow machine, a pause between two steps of work (base/time/turns.ts) may outlast the answer.
      await settle();
      for (let turn = 0; turn < TURNS_OF_PAUSE; turn++) await nextTurn();
      return {
        status: response.status,
        headers: response.headers,
        text,
        broken: isCut,
        atMs: timers.elapsedMs(),
        line: await lines.of(response),
      };
    },
  };
}

/**
 * Returns a connection to the provider `name`, on a host of that name, which serves a caller's protocol in a mode.
 *
 * @param overrides Keys of the connection, such as `models`; by default it has `model-1`.
 */
export function connectionTo(
  name: string,
  { protocol, mode }: { readonly protocol: Protocol; readonly mode: Mode },
  overrides: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const { family, endpoint } = UPSTREAMS[mode][protocol];
  return connectionFile({
    name,
    family,
    endpoints: { [endpoint]: `http://${name}/v1` },
    models: ["model-1"],
    ...overrides,
  });
}

/** The family and the endpoint that serve a caller's protocol, in each mode. */
const UPSTREAMS = {
  native: {
    chat: { family: "A", endpoint: "chat" },
    messages: { family: "B", endpoint: "messages" },
    responses: { family: "C", endpoint: "responses" },
  },
  translated: {
    chat: { family: "B", endpoint: "messages" },
    messages: { family: "A", endpoint: "chat" },
    responses: { family: "A", endpoint: "chat" },
  },
} as const;
