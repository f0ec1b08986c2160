import { createInbox, type Inbox } from "../fakes/inbox.ts";

/** A request that the upstream received. */
export interface SeenRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
  /** The body as text. */
  text(): string;
  /** Aborts when the gateway disconnects before the response begins. */
  readonly signal: AbortSignal;
}

/** The upstream's action on a request. */
export type Script = (
  seen: SeenRequest,
) => Response | Promise<Response>;

/** An upstream on a socket, with a script of the test. */
export interface ScriptedUpstream extends AsyncDisposable {
  readonly url: string;
  readonly requests: Inbox<SeenRequest>;
  /** Replaces the script. */
  play(script: Script): void;
}

/** Starts an upstream on a free port of this machine. */
export function startUpstream(
  first: Script = () => Response.json({}),
  tls: { readonly cert?: string; readonly key?: string } = {},
): ScriptedUpstream {
  const requests = createInbox<SeenRequest>("the upstream to be asked");
  let script = first;
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    ...tls,
    onListen() {},
    // A script that waits for the gateway rejects when the gateway disconnects.
    onError: () => new Response(null, { status: 500 }),
  }, async (request) => {
    const seen = await see(request);
    requests.put(seen);
    return await script(seen);
  });
  const scheme = tls.cert === undefined ? "http" : "https";
  return {
    url: `${scheme}://127.0.0.1:${server.addr.port}`,
    requests,
    play(next) {
      script = next;
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

async function see(request: Request): Promise<SeenRequest> {
  const { pathname, search } = new URL(request.url);
  const body = await request.bytes();
  return {
    method: request.method,
    path: pathname + search,
    headers: request.headers,
    body,
    text: () => new TextDecoder().decode(body),
    signal: request.signal,
  };
}
