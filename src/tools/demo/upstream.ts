import { GatewayError } from "@gateway/base/error";
import { OPERATIONS } from "@gateway/base/protocol";
import { programCodec } from "./program_codec.ts";
import { type Demo, type DemoOptions, serveModelCall } from "./model_call.ts";
import { checkKey, checkVersion, INTERFACES, readModel } from "./interfaces.ts";
import {
  BASE_PATH,
  modelsOf,
  protocolOf,
  type Provider,
  providerAt,
} from "./providers.ts";
import { quotaResponse } from "./quota/report.ts";
import { waitInRealTime } from "./speak.ts";
import { createQuota } from "./quota/quota.ts";

/** A function with the signature of `fetch`. */
type DemoUpstream = (
  input: Request | URL | string,
  init?: RequestInit,
) => Promise<Response>;

const DEFAULT_WORD_MS = 20;

/**
 * Creates a `fetch` that simulates the providers of all three families (see `providers.ts`) without a network. It reads
 * requests and writes answers by the codec of the options, and rejects requests that this codec cannot read.
 *
 * Like the real `fetch`, it rejects with the signal's reason when the request is aborted, and with a `TypeError` for an
 * unknown host.
 */
export function createDemoUpstream(options: DemoOptions): DemoUpstream {
  const demo: Demo = {
    wait: waitInRealTime,
    wordMs: DEFAULT_WORD_MS,
    codec: programCodec,
    ...options,
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
      `Cannot reach ${host}: the demo does not simulate this host.`,
    );
  }
  const operation = provider.operations.find((one) =>
    pathname === BASE_PATH + OPERATIONS[one].path
  );
  const protocol = operation === undefined
    ? provider.plainProtocol
    : protocolOf(operation);
  const requestId = demo.ids.next("req");
  try {
    if (operation === undefined) {
      return serveFacts(request, provider, demo);
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

function serveFacts(
  request: Request,
  provider: Provider,
  demo: Demo,
): Response {
  const { pathname } = new URL(request.url);
  if (pathname === provider.quota.path) {
    requireMethod(request, "GET");
    return quotaResponse(request.headers, {
      provider,
      account: demo.quota.read(provider.family),
      nowMs: demo.clock.now(),
    });
  }
  const { plainProtocol: protocol, name } = provider;
  const model = pathname.match(/^\/v1\/models(?:\/([^/]+))?$/);
  if (model === null) {
    throw new GatewayError(
      "not_found",
      `Invalid URL (${request.method} ${pathname})`,
    );
  }
  requireMethod(request, "GET");
  checkKey(request.headers, { provider, protocol });
  const { model: entry, modelList } = INTERFACES[protocol];
  const [, id] = model;
  if (id === undefined) {
    const entries = modelsOf(provider.family).map((one) => entry(one, name));
    return Response.json(modelList(entries));
  }
  const known = readModel(decodeURIComponent(id), { provider, protocol });
  return Response.json(entry(known, name));
}

function requireMethod(request: Request, method: string): void {
  if (request.method === method) return;
  throw new GatewayError(
    "method_not_allowed",
    `Not allowed to ${request.method} here`,
    { headers: { allow: method } },
  );
}
