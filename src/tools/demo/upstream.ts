import { GatewayError } from "@gateway/base/error";
import type { Ids } from "@gateway/base/ids";
import type { JsonObject } from "@gateway/base/json";
import { OPERATIONS } from "@gateway/base/protocol";
import type { Clock } from "@gateway/base/time/timers";
import { programCodec } from "./program_codec.ts";
import { type Demo, serveModelCall } from "./model_call.ts";
import {
  checkKey,
  checkVersion,
  INTERFACES,
  unknownModel,
} from "./interfaces.ts";
import {
  BASE_PATH,
  isThinkingModel,
  modelsOf,
  protocolOf,
  type Provider,
  providerAt,
  type SimulatedOperation,
} from "./providers.ts";
import { quotaResponse } from "./quota/report.ts";
import { type Wait, waitInRealTime } from "./speak.ts";
import type { DemoCodec } from "./script.ts";
import { createQuota } from "./quota/quota.ts";

/** The dependencies of the simulated provider. */
interface DemoOptions {
  readonly clock: Clock;
  readonly ids: Ids;
  /** Waits for a delay; default: with the clock of this machine. */
  readonly wait?: Wait;
  /** The delay of one word of an answer, in milliseconds, not negative; default 20; 0 sends without delay. */
  readonly wordMs?: number;
  /** The protocols of the providers; default: the program's own codecs. */
  readonly codec?: DemoCodec;
}

/** A function with the signature of `fetch`. */
type DemoUpstream = (
  input: Request | URL | string,
  init?: RequestInit,
) => Promise<Response>;

const DEFAULT_WORD_MS = 20;

/**
 * Creates a `fetch` that simulates the providers of all three families (see `providers.ts`) without a network. It
 * reads requests and writes answers as the codec does, and rejects requests that it cannot serve.
 *
 * It rejects like `fetch`: with the signal's reason for an aborted request, with a `TypeError` for an unknown host.
 */
export function createDemoUpstream(options: DemoOptions): DemoUpstream {
  const demo: Demo = {
    clock: options.clock,
    ids: options.ids,
    wait: options.wait ?? waitInRealTime,
    wordMs: options.wordMs ?? DEFAULT_WORD_MS,
    quota: createQuota(options.clock),
    codec: options.codec ?? programCodec,
  };
  return async (input, init) => {
    const request = new Request(input, init);
    request.signal.throwIfAborted();
    return await serve(request, demo);
  };
}

async function serve(request: Request, demo: Demo): Promise<Response> {
  const { host, pathname } = new URL(request.url);
  const provider = providerAt(host);
  if (provider === undefined) {
    throw new TypeError(
      `Cannot reach ${host}: the demo does not simulate this host.`,
    );
  }
  const operation = operationAt(pathname, provider);
  const requestId = demo.ids.next("req");
  try {
    return operation === undefined
      ? serveFacts(request, { provider, pathname, demo })
      : await serveModel(request, { provider, operation, requestId, demo });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const protocol = operation === undefined
      ? provider.plainProtocol
      : protocolOf(operation);
    const { overloadedStatus, requestIdHeader } = INTERFACES[protocol];
    return Response.json(
      demo.codec.writeError(error, { protocol, requestId }),
      {
        status: error.kind === "overloaded" ? overloadedStatus : error.status,
        headers: { [requestIdHeader]: requestId, ...error.headers },
      },
    );
  }
}

function operationAt(
  pathname: string,
  provider: Provider,
): SimulatedOperation | undefined {
  return provider.operations.find((operation) =>
    pathname === BASE_PATH + OPERATIONS[operation].path
  );
}

async function serveModel(
  request: Request,
  options: {
    readonly provider: Provider;
    readonly operation: SimulatedOperation;
    readonly requestId: string;
    readonly demo: Demo;
  },
): Promise<Response> {
  const { provider, operation, requestId, demo } = options;
  const protocol = protocolOf(operation);
  requireMethod(request, "POST");
  checkKey(request.headers, { provider, protocol });
  checkVersion(request.headers, protocol);
  return await serveModelCall(
    { request, provider, operation, requestId },
    demo,
  );
}

function serveFacts(
  request: Request,
  options: {
    readonly provider: Provider;
    readonly pathname: string;
    readonly demo: Demo;
  },
): Response {
  const { provider, pathname, demo } = options;
  if (pathname === provider.quotaPath) {
    requireMethod(request, "GET");
    return quotaResponse(request.headers, {
      provider,
      account: demo.quota.read(provider.family),
      nowMs: demo.clock.now(),
    });
  }
  const model = pathname.match(/^\/v1\/models(?:\/([^/]+))?$/);
  if (model === null) {
    throw new GatewayError(
      "not_found",
      `Invalid URL (${request.method} ${pathname})`,
    );
  }
  requireMethod(request, "GET");
  checkKey(request.headers, { provider, protocol: provider.plainProtocol });
  const id = model[1];
  return Response.json(
    id === undefined
      ? modelList(provider)
      : modelNamed(decodeURIComponent(id), provider),
  );
}

function requireMethod(request: Request, method: string): void {
  if (request.method === method) return;
  throw new GatewayError(
    "method_not_allowed",
    `Not allowed to ${request.method} here`,
    { headers: { allow: method } },
  );
}

/** The release date of the demo's models: 2026-01-01, in seconds since 1970. */
const CREATED_AT = 1_767_225_600;

/** The sizes in the demo's list of models, in tokens; the demo does not enforce them. */
const CONTEXT_TOKENS = 200_000;
const OUTPUT_TOKENS = 64_000;

/** Returns the list of a provider's models, in the provider's shape. */
function modelList(provider: Provider): JsonObject {
  const models = modelsOf(provider.family).map((id) => entry(id, provider));
  return INTERFACES[provider.plainProtocol].modelList(models);
}

/**
 * Returns the entry of one model.
 *
 * @throws {GatewayError} When the provider does not have it.
 */
function modelNamed(id: string, provider: Provider): JsonObject {
  if (modelsOf(provider.family).includes(id)) return entry(id, provider);
  throw unknownModel(id, provider.plainProtocol);
}

function entry(id: string, { plainProtocol, name }: Provider): JsonObject {
  return INTERFACES[plainProtocol].model({
    id,
    owner: name,
    createdAt: CREATED_AT,
    contextWindow: CONTEXT_TOKENS,
    maxOutputTokens: OUTPUT_TOKENS,
    reasons: isThinkingModel(id),
  });
}
