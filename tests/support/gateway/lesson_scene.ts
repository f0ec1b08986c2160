import assert from "node:assert/strict";
import { createGateway } from "../../../src/gateway/app.ts";
import {
  createLiveConfig,
  type LiveConfig,
} from "../../../src/gateway/config/live_config.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import type { Notices } from "../../../src/gateway/shared/notice.ts";
import { createFakeClock, type FakeClock } from "../fakes/fake_clock.ts";
import { answerAt } from "../upstream/fake_answers.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { ask, credentials, PATHS } from "../wire/ask.ts";
import {
  configOf,
  connectionFile,
  loadFile,
  minimalFile,
  NOW_MS,
  tokenFile,
} from "./config.ts";
import { createLogLines, type LogLines } from "./log_lines.ts";

type Gateway = ReturnType<typeof createGateway>;

/** Returns the message or the whole error with which a provider refuses a body; `undefined` to accept it. */
export type Judge = (body: JsonObject) => JsonValue | undefined;

/** A gateway in front of a provider that refuses bodies by its judge. */
export interface LessonScene {
  readonly gateway: Gateway;
  readonly liveConfig: LiveConfig;
  readonly clock: FakeClock;
  readonly lines: LogLines;
  /** The bodies that the provider received, in order. */
  readonly sent: readonly JsonObject[];
  /** Sends a caller's request. @param caller Default: alice. */
  ask(
    protocol: Protocol,
    body: JsonObject,
    caller?: LessonCaller,
  ): Promise<LessonAnswer>;
  /** Returns the events of lessons that were learned, in order. */
  learned(): readonly JsonObject[];
}

/** The callers of a scene. */
const CALLERS = ["alice", "bob", "carol"] as const;

type LessonCaller = (typeof CALLERS)[number];

/** The answer to a caller. */
export interface LessonAnswer {
  readonly status: number;
  readonly text: string;
  /** The fields of `x-gateway-dropped`. */
  readonly dropped: readonly string[];
  /** The bodies that the provider received for this request. */
  readonly sent: readonly JsonObject[];
  readonly line: JsonObject;
}

/** The parts of a scene that a test may set. */
export interface LessonSceneOptions {
  /** Default: `custom`. */
  readonly service?: string;
  /** The provider's protocol. Default: `chat`. */
  readonly to?: Protocol;
  readonly model?: string;
  /** The status of a refusal; default: 400. */
  readonly status?: number;
  /** Further keys of the connection. */
  readonly connection?: Readonly<Record<string, unknown>>;
  readonly notices?: Notices;
}

const tokenOf = (caller: LessonCaller) => `mg_${caller}`;

const FAMILIES = { chat: "A", messages: "B", responses: "C" } as const;

/** Opens a gateway whose only provider is judged by `judge`. */
export async function openLessonScene(
  judge: Judge,
  options: LessonSceneOptions = {},
): Promise<LessonScene> {
  const { service = "custom", to = "chat", model = "m", status = 400 } =
    options;
  const file = minimalFile({
    tokens: CALLERS.map((name) =>
      tokenFile({ name, sha256: sha256Hex(tokenOf(name)) })
    ),
    connections: [connectionFile({
      service,
      family: FAMILIES[to],
      endpoints: { [to]: "http://provider.test/v1" },
      models: [model],
      ...options.connection,
    })],
  });
  const clock = createFakeClock(NOW_MS);
  const lines = createLogLines();
  const sent: JsonObject[] = [];
  const liveConfig = createLiveConfig(configOf(await loadFile(file)));
  const { notices } = options;
  const gateway = createGateway({
    liveConfig,
    clock,
    log: lines.log,
    ...(notices === undefined ? {} : { shared: { notices } }),
    async fetch(url, init) {
      const body: unknown = JSON.parse(await new Request(url, init).text());
      assert.ok(isJsonObject(body));
      sent.push(body);
      const refusal = judge(body);
      if (refusal === undefined) return Response.json(answerAt(url));
      const error = typeof refusal === "string"
        ? { error: { message: refusal, type: "invalid_request_error" } }
        : refusal;
      return Response.json(error, { status });
    },
  });
  return {
    ...{ gateway, liveConfig, clock, lines, sent },
    learned: () =>
      lines.others.items.filter(({ event }) => event === "lesson_learned"),
    async ask(protocol, body, caller = "alice") {
      const before = sent.length;
      const response = await gateway.handler(
        new Request(
          `http://gateway.test${PATHS[protocol]}`,
          ask(protocol, JSON.stringify({ model, ...body }), {
            ...credentials(protocol, tokenOf(caller)),
          }),
        ),
      );
      const text = await response.text();
      const dropped = response.headers.get("x-gateway-dropped");
      return {
        status: response.status,
        text,
        dropped: dropped?.split(", ") ?? [],
        sent: sent.slice(before),
        line: await lines.of(response),
      };
    },
  };
}
