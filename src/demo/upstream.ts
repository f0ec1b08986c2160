import type { Ids } from "../core/ids.ts";
import type { JsonObject } from "../core/json.ts";
import { OPERATIONS } from "../core/protocol.ts";
import type { Clock } from "../core/time/timers.ts";
import { type Demo, exchange, type Judge } from "./exchange.ts";
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
  type SimulatedProtocol,
} from "./providers.ts";
import { quotaAnswer } from "./quota/report.ts";
import { type Wait, waitInRealTime } from "./speak.ts";
import { createQuota } from "./quota/quota.ts";
import { Refusal } from "./refusal.ts";

/** What the simulated provider needs from outside. */
export interface DemoOptions {
  readonly clock: Clock;
  readonly ids: Ids;
  /** How it waits; default: on the clock of this machine. */
  readonly wait?: Wait;
  /** Milliseconds for one word of an answer, not negative; default 20, and 0 answers without waiting. */
  readonly wordMs?: number;
  /** Refuses more than the demo itself, which answers what it can; default: nothing. */
  readonly judge?: Judge;
}

/** A function of the shape of `fetch`. */
export type DemoUpstream = (
  input: Request | URL | string,
  init?: RequestInit,
) => Promise<Response>;

const DEFAULT_WORD_MS = 20;

/**
 * A `fetch` that is answered inside the program by simulated providers of all three families (see
 * `providers.ts`), and by no network at all. What it streams follows each protocol's grammar; it reads
 * leniently and refuses what it cannot answer.
 *
 * It rejects like `fetch`: with the signal's reason when the request is aborted, with a `TypeError` when no
 * simulated provider has the address.
 */
export function createDemoUpstream(options: DemoOptions): DemoUpstream {
  const demo: Demo = {
    clock: options.clock,
    ids: options.ids,
    wait: options.wait ?? waitInRealTime,
    wordMs: options.wordMs ?? DEFAULT_WORD_MS,
    quota: createQuota(options.clock),
    judge: options.judge ?? (() => {}),
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
      `Cannot reach ${host}: the demo simulates other hosts`,
    );
  }
  const operation = operationAt(pathname, provider);
  const requestId = demo.ids.next("req");
  try {
    return operation === undefined
      ? serveFacts(request, { provider, pathname, demo })
      : await serveModel(request, { provider, operation, requestId, demo });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const protocol = operation === undefined
      ? provider.plainProtocol
      : protocolOf(operation);
    return refusalResponse(error, { protocol, requestId });
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

/** The HTTP answer that says no. */
function refusalResponse(
  refusal: Refusal,
  options: {
    readonly protocol: SimulatedProtocol;
    readonly requestId: string;
  },
): Response {
  const { requestId } = options;
  const { refusalBody, refusalStatus, requestIdHeader } =
    INTERFACES[options.protocol];
  return Response.json(refusalBody(refusal, requestId), {
    status: refusalStatus(refusal),
    headers: { [requestIdHeader]: requestId, ...refusal.headers },
  });
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
  return await exchange({ request, provider, operation, requestId }, demo);
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
    return quotaAnswer(request.headers, {
      provider,
      account: demo.quota.read(provider.family),
      nowMs: demo.clock.now(),
    });
  }
  const model = pathname.match(/^\/v1\/models(?:\/([^/]+))?$/);
  if (model === null) {
    throw new Refusal(
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
  throw new Refusal(
    "method_not_allowed",
    `Not allowed to ${request.method} here`,
    { headers: { allow: method } },
  );
}

/** When the models of the demo came out: 2026-01-01, in seconds since 1970. */
const CREATED_AT = 1_767_225_600;

/** What every model of the demo is said to take in and to give, in tokens; it holds nobody to that. */
const CONTEXT_TOKENS = 200_000;
const OUTPUT_TOKENS = 64_000;

/** The list of a provider's models, in the shape that its callers expect. */
function modelList(provider: Provider): JsonObject {
  const models = modelsOf(provider.family).map((id) => entry(id, provider));
  return INTERFACES[provider.plainProtocol].modelList(models);
}

/**
 * One model of a provider.
 *
 * @throws {Refusal} When the provider does not have it.
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
