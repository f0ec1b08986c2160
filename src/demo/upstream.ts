import type { Clock } from "../core/time/clock.ts";
import type { Ids } from "../core/ids.ts";
import { OPERATIONS } from "../core/protocol.ts";
import { checkKey, checkVersion } from "./admission.ts";
import type { Demo } from "./demo.ts";
import { exchange } from "./exchange.ts";
import { modelList, modelNamed } from "./model_list.ts";
import { BASE_PATH, type Provider, providerAt } from "./providers.ts";
import { createQuota } from "./quota/quota.ts";
import { quotaAnswer } from "./quota/endpoint.ts";
import { INTERFACES } from "./interfaces.ts";
import { Refusal } from "./refusal.ts";
import {
  protocolOf,
  type SimulatedOperation,
  type SimulatedProtocol,
} from "./simulated.ts";
import { type Wait, waitInRealTime } from "./wait.ts";

/** What the simulated provider needs from outside. */
export interface DemoOptions {
  readonly clock: Clock;
  readonly ids: Ids;
  /** How it waits; default: on the clock of this machine. */
  readonly wait?: Wait;
  /** Milliseconds for one word of an answer, not negative; default 20, and 0 answers without waiting. */
  readonly wordMs?: number;
}

/** A function of the shape of `fetch`. */
export type DemoUpstream = (
  input: Request | URL | string,
  init?: RequestInit,
) => Promise<Response>;

const DEFAULT_WORD_MS = 20;

/**
 * A `fetch` that is answered inside the program by simulated providers of all three families (see
 * `providers.ts`), and by no network at all. It conforms to the protocols as strictly as it can: it
 * refuses what a real provider refuses, and what it streams follows each protocol's grammar.
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
    return quotaAnswer(request.headers, { provider, demo });
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
