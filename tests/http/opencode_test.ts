import assert from "node:assert/strict";
import { request } from "node:http";
import { isJsonObject } from "../../src/core/json.ts";
import { ALICE_TOKEN } from "../support/gateway/config.ts";
import { startDemoGateway } from "../support/gateway/demo_gateway.ts";
import { startGateway } from "../support/gateway/gateway.ts";
import { familiesFile } from "../support/gateway/families.ts";
import { needing } from "../support/ignored.ts";
import { hasProgram } from "../support/program/has_program.ts";
import { readError } from "../support/wire/error_answer.ts";

const LOGIN = "/.well-known/opencode";
const CONFIG = "/.well-known/opencode/config";
const BEARER = { authorization: `Bearer ${ALICE_TOKEN}` };

Deno.test("opencode's login gets the token command and the configuration's address, and nothing about any caller", async () => {
  await using gateway = await startDemoGateway();
  const response = await gateway.call(LOGIN);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("cache-control"), "no-store");
  const { auth, remote_config: remote, ...rest } = await response.json();
  assert.deepEqual(rest, {});
  assert.equal(auth.env, "MODEL_GATEWAY_TOKEN");
  assert.deepEqual(remote, {
    url: `${gateway.url}${CONFIG}`,
    headers: { authorization: "Bearer {env:MODEL_GATEWAY_TOKEN}" },
  });
});

Deno.test({
  ...needing(
    "opencode's login command prints the token of the environment, and fails without one or a terminal",
    !await hasProgram("setsid") && "there is no setsid here",
  ),
  async fn() {
    await using gateway = await startDemoGateway();
    const { auth: { command: [program, ...args] } } =
      await (await gateway.call(LOGIN)).json();
    const run = async (token: string) => {
      const { code, stdout } = await new Deno.Command("setsid", {
        args: ["-w", program, ...args],
        env: { MODEL_GATEWAY_TOKEN: token },
        stdin: "null",
        stderr: "null",
      }).output();
      return { good: code === 0, output: new TextDecoder().decode(stdout) };
    };
    assert.deepEqual(await run("it's $HOME"), {
      good: true,
      output: "it's $HOME",
    });
    assert.deepEqual(await run(""), { good: false, output: "" });
  },
});

Deno.test("opencode's configuration has the caller's models only, each in its protocol", async () => {
  const file = familiesFile("http://127.0.0.1:9");
  await using gateway = await startGateway(file);
  const response = await gateway.call(CONFIG, { headers: BEARER });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("cache-control"), "no-store");
  const { provider: { gateway: { options, models } }, model } = await response
    .json();
  assert.deepEqual(options, {
    baseURL: `${gateway.url}/v1`,
    apiKey: "{env:MODEL_GATEWAY_TOKEN}",
  });
  assert.ok(isJsonObject(models));
  const list = await gateway.call("/v1/models", { headers: BEARER });
  const { data }: { data: { id: string }[] } = await list.json();
  assert.deepEqual(Object.keys(models), data.map(({ id }) => id));
  assert.equal(model, `gateway/${data[0]?.id}`);
});

Deno.test("opencode's configuration is rejected without a token, with a message and without any model", async () => {
  await using gateway = await startDemoGateway();
  for (const headers of [{}, { authorization: "Bearer mg_wrong" }]) {
    const response = await gateway.call(CONFIG, { headers });
    const error = await readError(response, "chat");
    assert.equal(error.status, 401);
  }
});

/** What the gateway is asked with, and the address that opencode gets. */
const ADDRESSES: Readonly<Record<string, [Record<string, string>, string]>> = {
  "of a proxy with TLS": [
    { host: "models.example", "x-forwarded-proto": "https" },
    "https://models.example",
  ],
  "of the outer one of two proxies": [
    {
      host: "inner",
      "x-forwarded-host": "Models.example:8443, inner",
      "x-forwarded-proto": "https, http",
    },
    "https://models.example:8443",
  ],
  "without a proxy": [{ host: "10.0.0.7:8787" }, "http://10.0.0.7:8787"],
};

for (const [name, [headers, expected]] of Object.entries(ADDRESSES)) {
  Deno.test(`opencode gets the address ${name}`, async () => {
    await using gateway = await startDemoGateway();
    const { remote_config: { url } } =
      await (await askWith(gateway.url, headers))
        .json();
    assert.equal(url, `${expected}${CONFIG}`);
  });
}

Deno.test("opencode gets no invalid address", async () => {
  await using gateway = await startDemoGateway();
  const hostile = [
    { "x-forwarded-proto": "javascript" },
    { "x-forwarded-host": "evil.example/path" },
    { "x-forwarded-host": "user@evil.example" },
    { "x-forwarded-host": "a b" },
    { "x-forwarded-host": "" },
  ];
  for (const headers of hostile) {
    const error = await readError(await askWith(gateway.url, headers), "chat");
    assert.equal(error.status, 400, JSON.stringify(headers));
  }
});

/** `fetch` sets `host` itself, so the request goes to the handler as a proxy would have sent it. */
async function askWith(
  url: string,
  headers: Record<string, string>,
): Promise<Response> {
  return await new Promise((resolve, reject) => {
    request(url + LOGIN, { headers, agent: false }, (answer) => {
      const parts: Uint8Array[] = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("end", () =>
        resolve(
          new Response(new Blob(parts.map((part) => part.slice())), {
            status: answer.statusCode ?? 0,
            headers: Object.entries(answer.headers).map((
              [name, value],
            ): [string, string] => [name, String(value)]),
          }),
        ));
    }).on("error", reject).end();
  });
}
