/**
 * The floors of the benchmark: proxies made of nothing but `Deno.serve` and `fetch`. `bare` hands the bodies
 * on untouched, which the platform does without JavaScript; `hop` sends the answer through one empty
 * `TransformStream`, which is what looking at its bytes costs.
 */

const [mode, upstream] = Deno.args;

Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.error(`listening on :${port}`),
}, async (request) => {
  const headers = new Headers(request.headers);
  headers.delete("host");
  const answer = await fetch(upstream + new URL(request.url).pathname, {
    method: request.method,
    headers,
    body: request.body,
  });
  const body = mode === "hop"
    ? answer.body?.pipeThrough(new TransformStream()) ?? null
    : answer.body;
  return new Response(body, { status: answer.status, headers: answer.headers });
});
