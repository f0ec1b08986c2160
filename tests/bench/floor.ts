/**
 * The floors of the benchmark: proxies of a few lines.
 *
 * - `lean` and `lean-translate` send over the raw client of `lean_client.ts`, which needs less
 *   processor time than `fetch`. They are the floors of all ratios in the documents.
 * - `bare` forwards the bodies unchanged, which the platform does without JavaScript.
 * - `honest` makes the platform calls that every gateway needs. It reads the body, rebuilds the
 *   headers both ways, passes an abort signal, reads a short answer whole, and writes one log line.
 * - `hop` sends the answer through one empty `TransformStream`: the cost of reading its bytes.
 * - `translate` knows text only: Chat Completions to Messages and back. `lean-translate`
 *   does the same for each read at once.
 *
 * Arguments: one of these, and the upstream's address. The proxy puts a request's `x-bench` before
 * its path.
 */
import { leanPost } from "./lean_client.ts";
import { leanTranslation, minimalTranslation } from "./minimal_translator.ts";

const [mode, upstream] = Deno.args;

Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.error(`listening on :${port}`),
}, (request) => {
  const pieces = request.headers.get("x-bench");
  const base = pieces === null ? upstream ?? "" : `${upstream}/${pieces}`;
  const url = base + new URL(request.url).pathname;
  return mode === "lean"
    ? lean(request, url)
    : mode === "lean-translate"
    ? leanTranslation(request, `${base}/v1`)
    : mode === "honest"
    ? honest(request, url)
    : mode === "translate"
    ? minimalTranslation(request, `${base}/v1`)
    : plain(request, url);
});

async function plain(request: Request, url: string): Promise<Response> {
  const headers = new Headers(request.headers);
  headers.delete("host");
  const answer = await fetch(url, {
    method: request.method,
    headers,
    body: request.body,
  });
  const body = mode === "hop"
    ? answer.body?.pipeThrough(new TransformStream()) ?? null
    : answer.body;
  return new Response(body, { status: answer.status, headers: answer.headers });
}

async function lean(request: Request, url: string): Promise<Response> {
  const { headers } = request;
  const body = await request.bytes();
  const answer = await leanPost({ url, headers, body });
  return new Response(answer.body, answer);
}

async function honest(request: Request, url: string): Promise<Response> {
  const body = await request.bytes();
  const controller = new AbortController();
  const leave = () => controller.abort();
  request.signal.addEventListener("abort", leave, { once: true });
  const answer = await fetch(url, {
    method: request.method,
    headers: [...request.headers].filter(([name]) => name !== "host"),
    body,
    redirect: "manual",
    signal: controller.signal,
  });
  const headers = [...answer.headers];
  const { status } = answer;
  const isShort = answer.headers.has("content-length");
  const forwarded = isShort
    ? await answer.bytes()
    : answer.body?.pipeThrough(new TransformStream()) ?? null;
  console.log(JSON.stringify({ time: new Date(), status, url }));
  return new Response(forwarded, { status, headers });
}
