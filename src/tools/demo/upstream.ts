import { GatewayError } from "@gateway/base/error";
import type { Ids } from "@gateway/base/ids";
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
  const protocol = operation === undefined
    ? provider.plainProtocol
    : protocolOf(operation);
  const requestId = demo.ids.next("req");
  try {
    if (operation === undefined) {
      return serveFacts(request, { provider, pathname, demo });
    }
    requireMethod(request, "POST");
    checkKey(request.headers, { provider, protocol });
    checkVersion(request.headers, protocol);
    return await serveModelCall(
      { request, provider, operation, requestId },
      demo,
    );
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
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

function serveFacts(
  request: Request,
  { provider, pathname, demo }: {
    readonly provider: Provider;
    readonly pathname: string;
    readonly demo: Demo;
  },
): Response {
  if (pathname === provider.quotaPath) {
    requireMethod(request, "GET");
    return quotaResponse(request.headers, {
      provider,
      account: demo.quota.read(provider.family),
      nowMs: demo.clock.now(),
    });
  }
  const { plainProtocol, name } = provider;
  const model = pathname.match(/^\/v1\/models(?:\/([^/]+))?$/);
  if (model === null) {
    throw new GatewayError(
      "not_found",
      `Invalid URL (${request.method} ${pathname})`,
    );
  }
  requireMethod(request, "GET");
  checkKey(request.headers, { provider, protocol: plainProtocol });
  const { model: entry, modelList } = INTERFACES[plainProtocol];
  const models = modelsOf(provider.family);
  if (model[1] === undefined) {
    return Response.json(modelList(models.map((id) => entry(id, name))));
  }
  const id = decodeURIComponent(model[1]);
  if (!models.includes(id)) throw unknownModel(id, plainProtocol);
  return Response.json(entry(id, name));
}

function requireMethod(request: Request, method: string): void {
  if (request.method === method) return;
  throw new GatewayError(
    "method_not_allowed",
    `Not allowed to ${request.method} here`,
    { headers: { allow: method } },
  );
}
