import assert from "node:assert/strict";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { testNeeding } from "../../support/ignored.ts";
import { hasCaddy, startCaddy } from "../../support/program/caddy.ts";
import { freePort } from "../../support/program/free_port.ts";
import type { RunningProxy } from "../../support/program/front_proxy.ts";
import { hasNginx, startNginx } from "../../support/program/nginx.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { openAnswer, SSE_HEADERS } from "../../support/wire/answers.ts";
import { ask, hello, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import { protocolOfPath, WIRES, WORDS } from "../../support/wire/wire.ts";
import { within } from "../../support/within.ts";

interface Front {
  readonly lack: string | false;
  start(gatewayPort: number, port: number): Promise<RunningProxy>;
}

/** Proxies with default settings, which are not made for streams. */
const FRONTS: Readonly<Record<string, Front>> = {
  "nginx as it comes": {
    lack: !await hasNginx() && "there is no nginx here",
    start: (gatewayPort, port) =>
      startNginx(nginxSite(gatewayPort, port), port),
  },
  "nginx that compresses everything": {
    lack: !await hasNginx() && "there is no nginx here",
    start: (gatewayPort, port) =>
      startNginx(
        `gzip on;\ngzip_proxied any;\ngzip_types *;\n${
          nginxSite(gatewayPort, port)
        }`,
        port,
      ),
  },
  "Caddy as it comes": {
    lack: !await hasCaddy() && "there is no Caddy here",
    start: (gatewayPort, port) =>
      startCaddy(caddySite(gatewayPort, port), port),
  },
  // Caddy 2.6 compresses in spite of `no-transform`, and holds the compressed bytes back.
  "Caddy that compresses everything": {
    lack: !await hasCaddy() && "there is no Caddy here",
    start: (gatewayPort, port) =>
      startCaddy(caddySite(gatewayPort, port, "encode zstd gzip"), port),
  },
};

function nginxSite(gatewayPort: number, port: number): string {
  return `server { listen ${port}; location / { proxy_pass http://127.0.0.1:${gatewayPort}; } }`;
}

function caddySite(gatewayPort: number, port: number, more = ""): string {
  return `:${port} {\n${more}\nreverse_proxy 127.0.0.1:${gatewayPort}\n}`;
}

const [LONG, LAST] = ["first ".repeat(200), "the last words"];

/** Returns the start of a stream with one long output, and the rest. */
function partsOf(protocol: (typeof PROTOCOLS)[number]) {
  const { start, output, end } = WIRES[protocol];
  return {
    first: start + output.replaceAll(WORDS, LONG),
    rest: output.replaceAll(WORDS, LAST) + end,
  };
}

/** Native and translated pairs of a path and a family. */
const PAIRS = [
  ["chat", "A"],
  ["messages", "A"],
  ["responses", "A"],
  ["chat", "B"],
  ["chat", "C"],
  ["messages", "B"],
  ["responses", "C"],
] as const;

for (const [name, { lack, start }] of Object.entries(FRONTS)) {
  testNeeding(
    `behind ${name}, the first output of a stream arrives before its end, native and translated`,
    lack,
    async (t) => {
      for (const [from, to] of PAIRS) {
        await t.step(
          `${from} from family ${to}`,
          () => stream(start, from, to),
        );
      }
    },
  );
}

const PROTOCOL_OF = { A: "chat", B: "messages", C: "responses" } as const;

async function stream(
  start: Front["start"],
  from: (typeof PROTOCOLS)[number],
  to: keyof typeof PROTOCOL_OF,
): Promise<void> {
  const { first, rest } = partsOf(PROTOCOL_OF[to]);
  const answer = openAnswer();
  await using upstream = startUpstream(() => {
    answer.write(first);
    return answer.response;
  });
  await using gateway = await startGateway(familiesFile(upstream.url));
  const port = freePort();
  await using front = await start(gateway.port, port);
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const model = `model-${to.toLowerCase()}`;
  const body = hello(from, { model, stream: true, max_tokens: 5 });
  const response = await within(
    fetch(front.url + PATHS[from], {
      ...ask(from, body, { "accept-encoding": "zstd, gzip" }),
      client,
    }),
    "the head",
  );
  assert.ok(response.body);
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (!text.includes("first first")) {
    const { value, done } = await within(reader.read(), "the first output");
    assert.equal(done, false, text);
    text += decoder.decode(value, { stream: true });
  }
  answer.write(rest);
  answer.close();
  for (let done = false; !done;) {
    const read = await within(reader.read(), "the rest");
    text += decoder.decode(read.value, { stream: true });
    done = read.done;
  }
  assert.ok(text.includes(LAST) || from !== PROTOCOL_OF[to]);
}

Deno.test("every stream forbids proxies to buffer, and keeps the provider's own cache-control", async (t) => {
  let headers: Readonly<Record<string, string>> = {};
  const cases: readonly (readonly [given: string | undefined, sent: string])[] =
    [
      [undefined, "no-cache, no-transform"],
      ["", "no-cache, no-transform"],
      ["no-store", "no-store, no-transform"],
      ["private, No-Transform", "private, No-Transform"],
      [
        "max-age=5, must-revalidate",
        "max-age=5, must-revalidate, no-transform",
      ],
    ];
  await using upstream = startUpstream(({ path }) => {
    const { start, output, end } = WIRES[protocolOfPath(path)];
    return new Response(start + output + end, {
      headers: { ...SSE_HEADERS, "x-accel-buffering": "yes", ...headers },
    });
  });
  await using gateway = await startGateway(familiesFile(upstream.url));
  const headersOf = async (model: string) => {
    const body = hello("chat", { model, stream: true });
    const response = await gateway.call(PATHS.chat, ask("chat", body));
    await response.body?.cancel();
    assert.equal(response.status, 200);
    const names = ["cache-control", "x-accel-buffering", "content-encoding"];
    return names.map((name) => response.headers.get(name));
  };
  for (const [given, sent] of cases) {
    await t.step(String(given), async () => {
      headers = given === undefined ? {} : { "cache-control": given };
      assert.deepEqual(await headersOf("model-a"), [sent, "no", "identity"]);
      const own = ["no-cache, no-transform", "no", "identity"];
      assert.deepEqual(await headersOf("model-b"), own);
    });
  }
});
