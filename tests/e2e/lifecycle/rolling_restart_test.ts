import assert from "node:assert/strict";
import { SSE_HEADERS } from "../../support/wire/answers.ts";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { hasNginx, startNginx } from "../../support/program/nginx.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { type ServedGateway, serveFile } from "../../support/gateway/serve.ts";
import { until } from "../../support/within.ts";
import { WIRES } from "../../support/wire/wire.ts";
import { freePort } from "../../support/program/free_port.ts";

const page = await Deno.readTextFile(
  new URL("../../../docs/running.md", import.meta.url),
);

/** Returns the documentation's site with other ports. */
function siteOf(ports: Readonly<Record<string, number>>): string {
  const [, site = ""] = page.match(/^```nginx\n([^]*?)^```$/m) ?? [];
  return site.replace(/\b(8787|8788|8080)\b/g, (port) => `${ports[port]}`);
}

const { start, output, end } = WIRES.chat;

/** Returns a slow stream, which is still running when a gateway restarts. */
function slowStream(): Response {
  const pieces = [start, ...Array<string>(8).fill(output), end];
  const body = ReadableStream.from((async function* () {
    for (const piece of pieces) {
      yield new TextEncoder().encode(piece);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  })());
  return new Response(body, { headers: SSE_HEADERS });
}

const WHOLE_STREAM = start + output.repeat(8) + end;

/** Sends requests until it is stopped; every answer must be complete. */
async function keepAsking(
  url: string,
  { stream, signal }: {
    readonly stream: boolean;
    readonly signal: AbortSignal;
  },
): Promise<number> {
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 1 });
  let asked = 0;
  while (!signal.aborted) {
    asked++;
    const question = ask("chat", hello("chat", { stream }));
    const answer = await fetch(url + PATHS.chat, { ...question, client });
    const text = await answer.text();
    assert.equal(answer.status, 200, `request ${asked}: ${text}`);
    assert.equal(text, stream ? WHOLE_STREAM : `{"fine":true}`);
  }
  return asked;
}

/** The number of simultaneous requests. */
const LOOPS = 12;

const ignore = !await hasNginx();

Deno.test({
  name: ignore
    ? "a rolling restart behind nginx fails no request (ignored: there is no nginx here)"
    : "a rolling restart behind the documentation's nginx fails no request",
  ignore,
  async fn() {
    await using upstream = startUpstream((seen) =>
      seen.text().includes(`"stream":true`)
        ? slowStream()
        : Response.json({ fine: true })
    );
    const ports = { 8787: freePort(), 8788: freePort(), 8080: freePort() };
    const serve = (port: number) =>
      serveFile(familiesFile(upstream.url, { server: { port } }));
    const gateways: ServedGateway[] = [
      await serve(ports[8787]),
      await serve(ports[8788]),
    ];
    await using nginx = await startNginx(siteOf(ports), ports[8080]);
    const over = new AbortController();
    const { signal } = over;
    const asking = Promise.all([
      ...Array.from(
        { length: LOOPS / 2 },
        () => keepAsking(nginx.url, { stream: false, signal }),
      ),
      ...Array.from(
        { length: LOOPS / 2 },
        () => keepAsking(nginx.url, { stream: true, signal }),
      ),
    ]);
    try {
      const restarting = restartInTurn(gateways, serve);
      await Promise.race([restarting, asking]);
      await restarting;
      over.abort();
      const asked = await asking;
      assert.ok(asked.every((count) => count > 3), String(asked));
    } finally {
      over.abort();
      for (const gateway of gateways) await gateway[Symbol.asyncDispose]();
    }
  },
});

/** Replaces each gateway by a new one on the same port, one after the other, twice. */
async function restartInTurn(
  gateways: ServedGateway[],
  serve: (port: number) => Promise<ServedGateway>,
): Promise<void> {
  for (const index of [0, 1, 0, 1]) {
    const old = gateways[index] ?? assert.fail();
    old.kill("SIGTERM");
    assert.equal((await old.ended).code, 0);
    assert.equal(old.lines("cut").length, 0);
    await old[Symbol.asyncDispose]();
    const young = await serve(Number(new URL(old.url).port));
    gateways[index] = young;
    // A request that it refused just before it listened must have reached the other one.
    await until(
      () => young.lines("request").length > LOOPS,
      "the new one to be asked",
    );
  }
}
