import { createGateway, secretsOf } from "@gateway/gateway";
import {
  type Caller,
  type Config,
  createLiveConfig,
  type Deployment,
} from "@gateway/gateway/config";
import { createLog } from "@gateway/gateway/log";
import { shorten } from "@gateway/base/error";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "@gateway/base/json";
import type { Protocol } from "@gateway/base/protocol";
import { sha256Hex } from "@gateway/base/sha256";
import { untilAbort } from "@gateway/base/time/deadlines";
import { systemClock } from "@gateway/base/time/timers";
import { PROBES } from "@gateway/page/wording";
import { CODECS, type Lesson, lessonText } from "@gateway/codecs";
import { readText } from "@gateway/base/streams/byte_reader";
import type { RequestTools } from "../gateway_client.ts";
import { plainText } from "@gateway/base/text";

/** A model, and one of the protocols in which the gateway offers the model. */
export interface TriedPath {
  readonly deployment: Deployment;
  readonly protocol: Protocol;
  readonly mode: "native" | "translated";
}

/** The answer to one request, and the line that the gateway logged about the request. */
export interface Reply {
  /** The status of the response; 0 without a response. */
  readonly status: number;
  readonly text: string;
  readonly body: JsonValue | undefined;
  readonly line: JsonObject;
  /** The reason for a failure, in the words of the provider or the gateway. Contains no secret. */
  readonly reason: string;
}

/** The timeout of one request. */
const DEADLINE_MS = 60_000;

/** The longest answer that is read, in bytes. */
const MAX_BYTES = 1024 * 1024;

/** The length to which a provider's reason is shortened, in characters. */
const MAX_REASON = 160;

const TOKEN = "try";

/** The caller that sends the requests of the trials. */
const CALLER = {
  name: "check --try",
  sha256: sha256Hex(TOKEN),
  expiresAtMs: undefined,
  models: undefined,
  maxConcurrent: 1,
  weight: 1,
  groups: [],
  limits: [],
} as const satisfies Omit<Caller, "connectionIds">;

/**
 * Opens a gateway that serves only one model of one connection, with these lessons. Returns a function that sends a
 * request to this gateway.
 */
export function openGateway(
  { deployment, protocol, mode }: TriedPath,
  lessons: readonly Lesson[],
  { config, fetch, deadline }: RequestTools & { readonly config: Config },
): (body: Readonly<Record<string, unknown>>) => Promise<Reply> {
  const model = {
    ...deployment.model,
    ...{ aliases: [], fallbacks: [], quotaRouting: false },
    lessons: lessons.map(lessonText),
  };
  const connection = { ...deployment.connection, models: [model] };
  // A lesson does not change the body of a native request, so the field `stream` is set here.
  const fields = mode === "native" &&
      lessons.some(({ move }) => move === "stream")
    ? { stream: true }
    : {};
  const connectionIds = new Set([connection.id]);
  let onLine = (_line: JsonObject) => {};
  const { handler } = createGateway({
    liveConfig: createLiveConfig({
      ...config,
      connections: [connection],
      pools: new Map([[model.id, [{ connection, model }]]]),
      callers: new Map([[CALLER.sha256, { ...CALLER, connectionIds }]]),
      identity: [],
    }),
    fetch,
    log: createLog({
      format: "json",
      now: systemClock.now,
      sink(text) {
        const line = parseJson(text);
        if (isJsonObject(line) && line.event === "request") onLine(line);
      },
    }),
  });
  return async (body) => {
    const ended = new Promise<JsonObject>((resolve) => onLine = resolve);
    const request = new Request(`http://gateway/v1${PROBES[protocol].path}`, {
      method: "POST",
      headers: {
        "authorization": `Bearer ${TOKEN}`,
        "content-type": "application/json",
        "anthropic-version": "2023-06-01",
      },
      body: JSON.stringify({ ...body, ...fields }),
      signal: deadline(DEADLINE_MS),
    });
    try {
      const response = await handler(request);
      const { status } = response;
      const text = await readText(response, MAX_BYTES) ?? "";
      const line = await untilAbort(ended, request.signal);
      const answer = parseJson(text);
      return {
        status,
        text,
        body: answer,
        line,
        reason: reasonIn(status, answer),
      };
    } catch {
      const reason = request.signal.aborted
        ? `no answer in ${DEADLINE_MS / 1000} s`
        : "the answer broke off";
      return { status: 0, text: "", body: undefined, line: {}, reason };
    }
  };

  function reasonIn(code: number, answer: JsonValue | undefined): string {
    const words = plainText(
      CODECS[protocol].decodeFailure(code, answer).message,
    );
    return secretsOf(deployment.connection).areIn(words)
      ? "the provider's reason is hidden, because it contains a secret"
      : shorten(words, MAX_REASON);
  }
}
