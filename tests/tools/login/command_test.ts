import assert from "node:assert/strict";
import { runLogin } from "../../../src/tools/login/command.ts";
import { loginFolder, openLogin } from "../../../src/tools/login/kept_login.ts";
import { createMemoryIo } from "../../support/fakes/memory_io.ts";
import { ISSUER, openIssuer } from "./strict_issuer.ts";
import { testNeeding } from "../../support/ignored.ts";
import { steps } from "../../support/steps.ts";

const ARGS = ["--issuer", ISSUER, "--client", "people"];

const MINUTE_MS = 60_000;

/** Opens a machine with its own home folder. Its clock moves only when the command waits, and by `pass`. */
async function open(options: { readonly lifeS?: number } = {}) {
  const folder = await Deno.makeTempDir();
  let nowMs = Date.UTC(2026, 0, 1);
  const now = () => nowMs;
  const issuer = openIssuer({ now, ...options });
  const run = async (
    { isTyped = false, args = ARGS, fetch = issuer.fetch }: {
      readonly isTyped?: boolean;
      readonly args?: readonly string[];
      readonly fetch?: typeof globalThis.fetch;
    } = {},
  ) => {
    const io = createMemoryIo({ XDG_STATE_HOME: folder });
    const code = await runLogin(args, {
      ...io,
      ...{ fetch, now, open: openLogin, isTyped: () => isTyped },
      deadline: () => new AbortController().signal,
      wait: (ms) => {
        nowMs += ms;
        return Promise.resolve();
      },
    });
    return { code, out: io.written(), error: io.complained() };
  };
  return {
    ...{ issuer, run, folder },
    pass: (ms: number) => void (nowMs += ms),
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

const token = (serial: number) => `eyJhbGciOiJSUzI1NiJ9.e30.token-${serial}\n`;

Deno.test("login signs in on a terminal by the device flow, polls as slowly as the issuer wants, and prints only the token", async () => {
  await using machine = await open();
  const { issuer, run } = machine;
  issuer.errors.push(
    "authorization_pending",
    "slow_down",
    "authorization_pending",
  );
  const first = await run({ isTyped: true });
  assert.deepEqual(first, {
    code: 0,
    out: token(1),
    error:
      `Open ${ISSUER}/enter?user_code=WDJB-MJHT and confirm the code WDJB-MJHT\n`,
  });
  assert.equal(issuer.asked.length, 6);
  assert.deepEqual(await run(), { code: 0, out: token(1), error: "" });
  assert.equal(issuer.asked.length, 6, "a known token needs no request");
});

Deno.test("login writes a file that only its owner can read", async () => {
  await using machine = await open();
  await machine.run({ isTyped: true });
  const folder = `${machine.folder}/model-gateway/logins`;
  const modeOf = async (path: string) =>
    ((await Deno.stat(path)).mode ?? 0) & 0o777;
  assert.equal(await modeOf(folder), 0o700);
  for await (const { name } of Deno.readDir(folder)) {
    assert.equal(await modeOf(`${folder}/${name}`), 0o600, name);
  }
});

/** Obstacles to the folder of logins, by the system's reason. */
const SPOILT: Readonly<
  Record<string, (home: string) => void | Promise<void>>
> = {
  "Not a directory": (home) => Deno.writeTextFile(`${home}/model-gateway`, ""),
  "File exists": (home) =>
    Deno.symlink(`${home}/nowhere/logins`, `${home}/model-gateway`),
  "Is a directory": async (home) => {
    const logins = `${home}/model-gateway/logins`;
    await Deno.mkdir(logins, { recursive: true });
    const { name } = await nameOfLogin();
    await Deno.mkdir(`${logins}/${name}`);
  },
};

/** Returns the name of a login's file. */
async function nameOfLogin(): Promise<{ readonly name: string }> {
  await using machine = await open();
  await machine.run({ isTyped: true });
  const folder = `${machine.folder}/model-gateway/logins`;
  for await (const { name } of Deno.readDir(folder)) {
    if (name.endsWith(".json")) return { name };
  }
  return assert.fail("there is no login");
}

Deno.test("login reports an unusable folder in one sentence before the sign-in", (t) =>
  steps(t, Object.entries(SPOILT), async ([reason, spoil]) => {
    await using machine = await open();
    await spoil(machine.folder);
    assert.deepEqual(await machine.run({ isTyped: true }), {
      code: 1,
      out: "",
      error:
        `Cannot keep a login in ${machine.folder}/model-gateway/logins: ${reason}. Make it a folder of yours, or set XDG_STATE_HOME to another.\n`,
    });
    assert.deepEqual(machine.issuer.asked, []);
  }));

testNeeding(
  "login reports a folder without write permission in one sentence, and still prints a valid token",
  Deno.uid() === 0 && "root may write everywhere",
  async () => {
    await using machine = await open();
    const { run, pass, issuer, folder } = machine;
    await run({ isTyped: true });
    const before = issuer.asked.length;
    await Deno.chmod(`${folder}/model-gateway/logins`, 0o500);
    try {
      pass(59 * MINUTE_MS);
      assert.equal((await run({ isTyped: true })).out, token(1));
      pass(2 * MINUTE_MS);
      assert.match(
        (await run({ isTyped: true })).error,
        /^Cannot keep a login in \S+: Permission denied\. .+\n$/,
      );
      assert.equal(issuer.asked.length, before);
    } finally {
      await Deno.chmod(`${folder}/model-gateway/logins`, 0o700);
    }
  },
);

Deno.test("login treats an empty XDG_STATE_HOME or HOME as unset", () => {
  const folderOf = (values: Readonly<Record<string, string>>) =>
    loginFolder((name) => values[name]);
  assert.equal(
    folderOf({ XDG_STATE_HOME: "", HOME: "/home/a" }),
    "/home/a/.local/state/model-gateway/logins",
  );
  assert.equal(folderOf({ XDG_STATE_HOME: "", HOME: "" }), undefined);
});

Deno.test("login renews a token near its expiry once for all concurrent calls", async () => {
  await using machine = await open();
  const { run, pass, issuer } = machine;
  await run({ isTyped: true });
  pass(53 * MINUTE_MS);
  assert.equal((await run()).out, token(1));
  pass(2 * MINUTE_MS);
  const before = issuer.asked.length;
  const found = await Promise.all(Array.from({ length: 20 }, () => run()));
  for (const one of found) {
    assert.deepEqual(one, { code: 0, out: token(2), error: "" });
  }
  assert.deepEqual(issuer.asked.slice(before), ["/token"]);
});

Deno.test("login renews a token of five minutes after half of its lifetime", async () => {
  await using machine = await open({ lifeS: 300 });
  await machine.run({ isTyped: true });
  machine.pass(149_000);
  assert.equal((await machine.run()).out, token(1));
  machine.pass(2000);
  assert.equal((await machine.run()).out, token(2));
});

Deno.test("login prints the token until it expires while the issuer does not respond", async () => {
  await using machine = await open();
  const fetch = () => Promise.reject(new TypeError("connection refused"));
  await machine.run({ isTyped: true });
  machine.pass(59 * MINUTE_MS);
  assert.equal((await machine.run({ fetch })).out, token(1));
  machine.pass(2 * MINUTE_MS);
  assert.deepEqual(await machine.run({ fetch }), {
    code: 1,
    out: "",
    error: "login.example.com cannot be reached.\n",
  });
  assert.equal((await machine.run()).out, token(2));
});

Deno.test("login prints the command to run when a login has ended, and signs in again on a terminal", async () => {
  await using machine = await open();
  const { run, issuer } = machine;
  const ended = {
    code: 1,
    out: "",
    error:
      `You are no longer signed in. Run this in a terminal: model-gateway login --issuer ${ISSUER} --client people\n`,
  };
  assert.deepEqual(await run(), {
    ...ended,
    error: ended.error.replace("no longer signed in", "not signed in"),
  });
  await run({ isTyped: true });
  issuer.revoke();
  machine.pass(2 * 60 * MINUTE_MS);
  assert.deepEqual(await run(), ended);
  assert.equal((await run({ isTyped: true })).out, token(2));
});

const FAULTS:
  readonly (readonly [string, string, Record<string, unknown>, RegExp])[] = [
    [
      "a refusal",
      "/token",
      { error: "access_denied" },
      /^The issuer refuses the login: access_denied\.$/m,
    ],
    ["a client without the flow", "/device", {
      error: "unauthorized_client",
      error_description: "not \u001b[31mallowed",
    }, /refuses the login: unauthorized_client: not {2}\[31mallowed\.$/m],
    [
      "no device flow",
      "/.well-known/openid-configuration",
      {
        device_authorization_endpoint: undefined,
      },
      /^The issuer has no device flow\. Allow the device flow for this client at the issuer\.$/m,
    ],
    ["another issuer", "/.well-known/openid-configuration", {
      issuer: "https://evil.example",
    }, /does not describe this issuer/],
    ["an address without TLS", "/.well-known/openid-configuration", {
      token_endpoint: "http://evil.example/token",
    }, /names an address without TLS/],
    [
      "a token that is no JWT",
      "/token",
      { access_token: "opaque" },
      /is no JWT/,
    ],
  ];

Deno.test("login explains each fault of a sign-in in a sentence, and saves no login", (t) =>
  steps(t, FAULTS, async ([, path, fields, sentence]) => {
    await using machine = await open();
    machine.issuer.odd[path] = fields;
    const { code, out, error } = await machine.run({ isTyped: true });
    assert.deepEqual([code, out], [1, ""]);
    assert.match(error, sentence);
    const files = await Array.fromAsync(Deno.readDir(machine.folder));
    const kept = files.length === 0 ? [] : await Array.fromAsync(
      Deno.readDir(`${machine.folder}/model-gateway/logins`),
    );
    assert.ok(kept.every(({ name }) => name.endsWith(".lock")));
  }));

Deno.test("login ends when nobody confirms the code in time", async () => {
  await using machine = await open();
  machine.issuer.errors.push(...Array(200).fill("authorization_pending"));
  const { code, error } = await machine.run({ isTyped: true });
  assert.equal(code, 1);
  assert.match(
    error,
    /^Nobody entered the code in time\. Run the command again\.$/m,
  );
});

Deno.test("login prints the ID token if the access token is not a JWT, as with Google", async () => {
  await using machine = await open();
  machine.issuer.odd["/token"] = {
    access_token: "ya29.opaque",
    id_token: "a.b.c",
  };
  assert.equal((await machine.run({ isTyped: true })).out, "a.b.c\n");
});

Deno.test("login names bad arguments", async () => {
  await using machine = await open();
  const wrong = async (args: readonly string[]) =>
    (await machine.run({ args })).error;
  assert.match(await wrong([]), /it needs --issuer and --client/);
  assert.match(
    await wrong(["--issuer", "http://login.example.com", "--client", "a"]),
    /--issuer must be a URL with https:/,
  );
});
