import assert from "node:assert/strict";
import { runSetup } from "../../../src/tools/setup/command.ts";
import { CLIENTS } from "../../../src/page/wording/settings.js";
import { createMemoryIo } from "../../support/fakes/memory_io.ts";
import { ALICE_TOKEN } from "../../support/gateway/config.ts";
import {
  type DemoGateway,
  startDemoGateway,
  startOffering,
} from "../../support/gateway/demo_gateway.ts";
import { openTempFolder } from "../../support/temp_folder.ts";
import { endless } from "../../support/wire/answers.ts";

interface Check {
  readonly args: readonly string[];
  readonly token?: string;
  readonly fetch?: typeof fetch;
  readonly env?: Readonly<Record<string, string>>;
}

async function check(
  { args, token = ALICE_TOKEN, fetch: ask = fetch, env }: Check,
) {
  const io = createMemoryIo({ MODEL_GATEWAY_TOKEN: token, ...env });
  const code = await runSetup([...args, "--check"], {
    ...io,
    fetch: ask,
    deadline: AbortSignal.timeout,
  });
  const out = io.written();
  assert.ok(!out.includes(token), out);
  assert.equal(io.complained(), "");
  return { code, lines: out.trimEnd().split("\n") };
}

/** Returns the steps of an output, each with its success. */
function steps(lines: readonly string[]): readonly string[] {
  return lines.map((line) => line.split(/ +/).slice(0, 2).join(" "));
}

const ALL_GOOD = ["reachable", "TLS", "token", "model", "stream", "tools"]
  .map((name) => `good ${name}`);

Deno.test("setup --check passes every step against the demo, in the protocol of every client", async (t) => {
  await using gateway = await startDemoGateway();
  for (const { id } of CLIENTS) {
    await t.step(id, async () => {
      const { code, lines } = await check({ args: [id, "--url", gateway.url] });
      assert.deepEqual(steps(lines), ALL_GOOD, lines.join("\n"));
      assert.equal(code, 0);
    });
  }
});

Deno.test("setup --check passes for a path in the connection's `paths`, and otherwise names the model", async (t) => {
  const cases = [["claude", "demo-c", "responses"], [
    "codex",
    "demo-b",
    "messages",
  ]] as const;
  for (const [client, model, endpoint] of cases) {
    await t.step(`${client} on ${model}`, async () => {
      await using offering = await startOffering();
      const args = [client, "--model", model, "--url"];
      const good = await check({ args: [...args, offering.url] });
      assert.deepEqual(steps(good.lines), ALL_GOOD, good.lines.join("\n"));
      const posted = offering.asked.filter(({ body }) => body !== "");
      assert.ok(posted.length > 0);
      for (const { url } of posted) {
        assert.ok(url.endsWith(`/${endpoint}`), url);
      }
      await using plain = await startDemoGateway();
      const bad = await check({ args: [...args, plain.url] });
      assert.equal(bad.code, 1);
      assert.match(
        bad.lines.at(-1) ?? "",
        /^bad {3}model .*is not served in it/,
      );
      // Without a name, the client gets a model that it can use.
      const other = await check({ args: [client, "--url", plain.url] });
      assert.deepEqual(steps(other.lines), ALL_GOOD);
    });
  }
});

/** Replaces the response to one request of a check; the gateway serves the others. */
function instead(
  isMeant: (request: Request, body: string) => boolean,
  answer: () => Response | Promise<Response>,
): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const body = await request.clone().text();
    return isMeant(request, body) ? await answer() : await fetch(request);
  };
}

/** Faults, each with the last printed line and the number of steps. */
interface Fault {
  readonly tried: number;
  readonly last: RegExp;
  readonly args?: (gateway: DemoGateway) => readonly string[];
  readonly token?: string;
  readonly fetch?: typeof fetch;
}

const isAny = () => true;
const asksModel = (_request: Request, body: string) => body !== "";

function refusal(status: number, message?: string) {
  return () =>
    message === undefined
      ? new Response("<html>", { status })
      : Response.json({ error: { message } }, { status });
}

function brokenBody(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull: (controller) => controller.error(new TypeError("broken pipe")),
  });
}

const FAULTS: Readonly<Record<string, Fault>> = {
  "nothing listens at the address": {
    tried: 1,
    last: /^bad {3}reachable {2}http:\S+: nothing answers there\. Check that/,
    fetch: instead(isAny, () => Promise.reject(new TypeError("refused"))),
  },
  "no response comes in time": {
    tried: 1,
    last: /^bad {3}reachable {2}http:\S+: no response came within 120 s\.$/,
    fetch: instead(
      isAny,
      () => Promise.reject(new DOMException("late", "TimeoutError")),
    ),
  },
  "the server is not a gateway": {
    tried: 1,
    last:
      /^bad {3}reachable {2}http:\S+: the server there is not a Model Gateway \(HTTP 404\)/,
    fetch: instead(isAny, refusal(404)),
  },
  "the server's response never ends": {
    tried: 1,
    last:
      /^bad {3}reachable {2}http:\S+: the server there is not a Model Gateway \(HTTP 200\)/,
    fetch: instead(isAny, () => new Response(endless().body)),
  },
  "a proxy cannot reach the gateway": {
    tried: 1,
    last: /^bad {3}reachable {2}http:\S+: a proxy answers there \(HTTP 502\)/,
    fetch: instead(isAny, refusal(502)),
  },
  "the address has https, but the gateway has no TLS": {
    tried: 2,
    last: /^bad {3}TLS {8}it does not use TLS\. Write http:\/\//,
    args: ({ url }) => ["curl", "--url", url.replace("http:", "https:")],
  },
  "the token is unknown": {
    tried: 3,
    last:
      /^bad {3}token .*HTTP 401\. Cannot accept this token: it is unknown or expired\./,
    token: "mg_wrong",
  },
  "the token may not use the model": {
    tried: 4,
    last:
      /^bad {3}model {6}demo-x failed with HTTP 404\. .*\. Name one of your models with --model\.$/,
    args: ({ url }) => ["curl", "--url", url, "--model", "demo-x"],
  },
  "the model is not served in the client's protocol": {
    tried: 4,
    last:
      /^bad {3}model {6}Cannot use demo-b: Codex CLI speaks Responses, but the model is not served in it\. Name another model with --model\.$/,
    args: ({ url }) => ["codex", "--url", url, "--model", "demo-b"],
  },
  "no model of the token is served in the client's protocol": {
    tried: 4,
    last:
      /^bad {3}model {6}Cannot choose a model: curl speaks Chat, but no model/,
    fetch: instead(
      (request) => request.headers.has("authorization"),
      () => Response.json({ data: [{ id: "x", protocols: ["messages"] }] }),
    ),
  },
  "the token has no model": {
    tried: 3,
    last: /^bad {3}token {6}.*no model is assigned to this token/,
    fetch: instead(
      (request) => request.headers.has("authorization"),
      () => Response.json({ data: [] }),
    ),
  },
  "the provider refuses the gateway's key": {
    tried: 4,
    last:
      /^bad {3}model {6}demo-error-401 failed with HTTP 502\. The model's provider does not accept the gateway's credential\. Report it to the administrator\.$/,
    args: ({ url }) => ["curl", "--url", url, "--model", "demo-error-401"],
  },
  "a provider's error is permanent": {
    tried: 4,
    last: /HTTP 501\. No such thing\. Contact the administrator\.$/,
    fetch: instead(
      asksModel,
      () =>
        Response.json({ error: { message: "No such thing" } }, {
          status: 501,
          headers: { "x-should-retry": "false" },
        }),
    ),
  },
  "the answer breaks off": {
    tried: 4,
    last:
      /^bad {3}model {6}demo-broken: the response broke off\. Try again, or try another model with --model\. If that fails too, contact the administrator\.$/,
    args: ({ url }) => ["curl", "--url", url, "--model", "demo-broken"],
  },
  "the first response breaks off": {
    tried: 1,
    last: /^bad {3}reachable {2}http:\S+: the response broke off\.$/,
    fetch: instead(isAny, () => new Response(brokenBody())),
  },
  "the gateway stops during the check": {
    tried: 4,
    last: /^bad {3}model {6}demo-a: nothing answers there\. Check that the/,
    fetch: instead(asksModel, () => Promise.reject(new TypeError("refused"))),
  },
  "the provider fails": {
    tried: 4,
    last: /^bad {3}model .*HTTP 50\d\. .*contact the administrator\.$/,
    args: ({ url }) => ["curl", "--url", url, "--model", "demo-error-500"],
  },
  "the gateway answers 429": {
    tried: 4,
    last: /HTTP 429\. Enough\. Wait, and see .* model-gateway limits\.$/,
    fetch: instead(asksModel, refusal(429, "Enough")),
  },
  "the gateway answers 429 with an instruction in the error": {
    tried: 4,
    last: /HTTP 429\. Enough\. See .* with model-gateway usage\.$/,
    fetch: instead(
      asksModel,
      refusal(429, "Enough. See your limits with model-gateway usage."),
    ),
  },
  "the stream breaks": {
    tried: 5,
    last: /^bad {3}stream /,
    args: ({ url }) => ["curl", "--url", url],
    fetch: instead(
      (_request, body) => body.includes(`"stream":true`),
      () =>
        new Response("data: {}\n\n", {
          headers: { "content-type": "text/event-stream" },
        }),
    ),
  },
  "a stream arrives as JSON": {
    tried: 5,
    last: /sent application\/json instead of a stream\. A proxy/,
    fetch: instead(
      (_request, body) => body.includes(`"stream":true`),
      () => Response.json({}),
    ),
  },
  "a model calls no tool": {
    tried: 6,
    last: /^bad {3}tools .* did not call the tool in the prompt\./,
    fetch: instead(
      (_request, body) => body.includes(`"tools"`),
      () => Response.json({ choices: [{ message: { content: "No" } }] }),
    ),
  },
};

for (
  const [name, { tried, last, args, token, fetch }] of Object.entries(FAULTS)
) {
  Deno.test(`setup --check stops when ${name}, and prints an instruction`, async () => {
    await using gateway = await startDemoGateway();
    const { code, lines } = await check({
      args: args?.(gateway) ?? ["curl", "--url", gateway.url],
      ...token === undefined ? {} : { token },
      ...fetch === undefined ? {} : { fetch },
    });
    assert.equal(code, 1);
    assert.match(lines.at(-1) ?? "", last);
    assert.deepEqual(
      steps(lines.slice(0, -1)),
      ALL_GOOD.slice(0, tried - 1),
      lines.join("\n"),
    );
  });
}

Deno.test("setup --check recognizes a gateway before it sends the token", async () => {
  const seen: (string | null)[] = [];
  await check({
    args: ["curl", "--url", "http://gw.test"],
    fetch: (input, init) => {
      seen.push(new Request(input, init).headers.get("authorization"));
      return Promise.resolve(new Response("<html>", { status: 200 }));
    },
  });
  assert.deepEqual(seen, [null]);
});

Deno.test("setup --check warns about a token that is sent over the network without TLS", async () => {
  await using gateway = await startDemoGateway();
  const { lines } = await check({
    args: ["curl", "--url", "http://gw.test"],
    fetch: async (input, init) => {
      const { href } = new URL(new Request(input, init).url);
      return await fetch(href.replace("http://gw.test", gateway.url), init);
    },
  });
  assert.match(
    lines[1] ?? "",
    /^good {2}TLS .*others on the network path can read the token/,
  );
  assert.deepEqual(steps(lines), ALL_GOOD);
});

Deno.test("setup codex --check names a background server of Codex, which keeps an old token", async () => {
  await using gateway = await startDemoGateway();
  await using folder = await openTempFolder();
  const control = `${folder.path}/.codex/app-server-control`;
  await Deno.mkdir(control, { recursive: true });
  const linesFor = async (client: string, env: Record<string, string>) => {
    const args = [client, "--url", gateway.url];
    const { code, lines } = await check({ args, env });
    assert.equal(code, 0);
    return lines;
  };
  const home = { HOME: folder.path };
  assert.deepEqual(steps(await linesFor("codex", home)), ALL_GOOD);
  await Deno.writeTextFile(`${control}/app-server-control.sock`, "");
  const codexHome = { CODEX_HOME: `${folder.path}/.codex`, HOME: "/nowhere" };
  for (const env of [home, codexHome]) {
    const [note = "", ...rest] = await linesFor("codex", env);
    assert.match(
      note,
      /^note {2}daemon .*\/daemon.*Restart background server\.$/,
    );
    assert.deepEqual(steps(rest), ALL_GOOD);
  }
  assert.deepEqual(steps(await linesFor("claude", home)), ALL_GOOD);
});
