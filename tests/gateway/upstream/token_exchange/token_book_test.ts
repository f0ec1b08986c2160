import assert from "node:assert/strict";
import type { TokenExchangeSettings } from "../../../../src/gateway/config/token_exchange.ts";
import { createFetchClient } from "../../../../src/gateway/upstream/fetch_client.ts";
import { createTokenBook } from "../../../../src/gateway/upstream/token_exchange/token_book.ts";
import { createFakeTimers } from "../../../support/fakes/fake_timers.ts";
import { createMemoryLog } from "../../../support/fakes/memory_log.ts";
import { NOW_MS } from "../../../support/gateway/config.ts";
import { settle } from "../../../support/settle.ts";
import { openIssuers, SUBJECT } from "./strict_issuers.ts";
import { steps } from "../../../support/steps.ts";

const MINUTE_MS = 60_000;

const file = { file: "/var/run/token" };

const OPENAI: TokenExchangeSettings = {
  kind: "openai",
  subject: file,
  identity_provider: "idp_1",
  service_account: "sa_1",
};

function open(readFile = () => Promise.resolve(`${SUBJECT}\n`)) {
  const issuers = openIssuers();
  const timers = createFakeTimers();
  const log = createMemoryLog();
  const changes: number[] = [];
  let skewMs = 0;
  const client = createFetchClient(issuers.fetch);
  const book = createTokenBook({
    client,
    local: client,
    readFile,
    clock: {
      now: () => NOW_MS + skewMs + timers.elapsedMs(),
      elapsedMs: timers.elapsedMs,
    },
    timers,
    log,
    random: () => 0.5,
    onChange: () => void changes.push(timers.elapsedMs()),
  });
  const pass = async (ms: number) => {
    timers.advance(ms);
    await settle();
  };
  const skew = (ms: number) => void (skewMs = ms);
  return { book, issuers, timers, log, changes, pass, skew };
}

const EXCHANGES: Readonly<Record<string, TokenExchangeSettings>> = {
  "Anthropic, with a token in a file": {
    kind: "anthropic",
    subject: file,
    federation_rule: "fdrl_1",
    organization: "org",
    service_account: "svac_1",
  },
  "Anthropic, with a token of Azure's metadata service": {
    kind: "anthropic",
    subject: { azure_metadata: "api://claude" },
    federation_rule: "fdrl_1",
    organization: "org",
    service_account: "svac_1",
  },
  "OpenAI": OPENAI,
  "OpenAI, with a token of Google's metadata service": {
    ...OPENAI,
    subject: { google_metadata: "https://api.openai.com/v1" },
  },
  "Codex": { kind: "codex", subject: file, federation_rule: "rule-one" },
  "Google, federated": {
    kind: "google",
    subject: file,
    audience: "//iam.googleapis.com/providers/p",
  },
  "Google, as a service account": {
    kind: "google",
    subject: file,
    audience: "//iam.googleapis.com/providers/p",
    service_account: "gw@p.iam.gserviceaccount.com",
  },
  "Google's metadata service": {
    kind: "google_metadata",
    service_account: "default",
  },
  "Entra ID": {
    kind: "azure",
    subject: file,
    tenant: "tenant",
    client: "client",
  },
  "Azure's managed identity": { kind: "azure_metadata" },
  "AWS, with a web identity": {
    kind: "aws",
    subject: file,
    region: "eu-central-1",
    role: "arn:aws:iam::123456789012:role/gateway",
  },
  "AWS, in a pod of EKS": {
    kind: "aws_container",
    region: "eu-central-1",
    url: "http://169.254.170.23/v1/credentials",
    token_file: "/var/run/token",
  },
  "AWS, in a task of ECS": {
    kind: "aws_container",
    region: "eu-central-1",
    url: "http://169.254.170.2/v2/credentials/id",
  },
  "AWS, on an instance of EC2": { kind: "aws_instance", region: "us-east-1" },
};

Deno.test("each exchange sends its documented request, and gets a token for an hour", (t) =>
  steps(t, Object.entries(EXCHANGES), async ([, exchange]) => {
    const { book, log } = open();
    const found = await book.tokenFor(exchange, "main");
    assert.ok("token" in found, JSON.stringify(found));
    assert.match(
      found.token,
      /^(ASgeIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI\/K7MDENG\/bPxRfiCYzEXAMPLEKEY:)?token-\d-secret$/,
    );
    assert.ok(Math.abs(found.expiresAtMs - NOW_MS - 60 * MINUTE_MS) <= 1000);
    assert.deepEqual(log.entries, []);
  }));

Deno.test("connections with the same exchange share one token, even while the token is fetched", async () => {
  const { book, issuers } = open();
  const found = await Promise.all(
    Array.from({ length: 20 }, () => book.tokenFor(OPENAI, "main")),
  );
  assert.equal(new Set(found).size, 1);
  await book.tokenFor({ ...OPENAI }, "other");
  assert.equal(issuers.requests, 1);
});

Deno.test("a token is renewed before its expiry, and the old token is used until the renewal", async () => {
  const { book, issuers, changes, pass } = open();
  const before = await book.tokenFor(OPENAI, "main");
  assert.deepEqual(changes, [], "the first one is awaited");
  await pass(40 * MINUTE_MS);
  assert.deepEqual(await book.tokenFor(OPENAI, "main"), before);
  await pass(5 * MINUTE_MS);
  const after = await book.tokenFor(OPENAI, "main");
  assert.ok("token" in after && after.token === "token-2-secret");
  assert.deepEqual([issuers.requests, changes], [2, [45 * MINUTE_MS]]);
});

Deno.test("a failed renewal is repeated, and the old token is used until its expiry", async () => {
  const { book, issuers, log, changes, pass } = open();
  const before = await book.tokenFor(OPENAI, "main");
  const refuse = () =>
    Response.json(
      { error: "invalid_grant", error_description: SUBJECT },
      { status: 401 },
    );
  for (let refused = 0; refused < 100; refused++) issuers.next.push(refuse);
  await pass(45 * MINUTE_MS);
  assert.deepEqual(await book.tokenFor(OPENAI, "main"), before);
  assert.deepEqual(changes, []);
  assert.deepEqual(log.entries[0], {
    level: "warn",
    event: "token_not_renewed",
    fields: {
      connection: "main",
      reason: "auth.openai.com answered with status 401, invalid_grant",
      retry_ms: 1500,
    },
  });
  for (let minutes = 0; minutes < 30; minutes++) {
    await pass(MINUTE_MS);
    if (minutes === 13) {
      assert.deepEqual(await book.tokenFor(OPENAI, "main"), before);
    }
  }
  assert.deepEqual(await book.tokenFor(OPENAI, "main"), {
    reason: "auth.openai.com answered with status 401, invalid_grant",
  });
  assert.equal(changes.length, 1, "its end is a change");
  issuers.next.length = 0;
  await pass(2 * MINUTE_MS);
  assert.ok("token" in await book.tokenFor(OPENAI, "main"));
  assert.equal(changes.length, 2);
  const logged = JSON.stringify(log.entries);
  assert.ok(!logged.includes(SUBJECT) && !logged.includes("-secret"), logged);
});

Deno.test("a refused token is exchanged once, however many requests report it", async () => {
  const { book, issuers, changes, pass } = open();
  await book.tokenFor(OPENAI, "main");
  await pass(1000);
  for (let reports = 0; reports < 20; reports++) book.renew(OPENAI);
  await settle();
  book.renew(OPENAI);
  await settle();
  assert.deepEqual([issuers.requests, changes], [2, [1000]]);
  await pass(10_000);
  book.renew(OPENAI);
  await settle();
  assert.equal(issuers.requests, 3);
});

Deno.test("a very short token is renewed after growing pauses, and sooner when a provider refuses it", async () => {
  const { book, issuers, timers, pass } = open();
  const short = () =>
    Response.json({ access_token: "token-short", expires_in: 0.05 });
  for (let count = 0; count < 200; count++) issuers.next.push(short);
  await book.tokenFor(OPENAI, "main");
  const pausesMs: number[] = [];
  for (let renewals = 0; renewals < 14; renewals++) {
    pausesMs.push(timers.untilNextMs ?? 0);
    await pass(timers.untilNextMs ?? 0);
  }
  const doubling = Array.from({ length: 12 }, (_, count) => 1000 * 2 ** count);
  assert.deepEqual(pausesMs, [...doubling, 3_600_000, 3_600_000]);
  assert.equal(issuers.requests, 15);
  for (let refused = 0; refused < 100; refused++) {
    book.renew(OPENAI);
    await settle();
    await pass(50);
  }
  const asked = issuers.requests - 15;
  assert.ok(asked >= 5, `a request gets a new one: ${asked} in 5 s`);
  assert.ok(asked <= 11, `${asked} in 5 s`);
});

Deno.test("a token of one minute is always renewed in time", async () => {
  const { book, issuers, pass } = open();
  const minute = () =>
    Response.json({
      access_token: `token-${issuers.requests}`,
      expires_in: 60,
    });
  for (let count = 0; count < 200; count++) issuers.next.push(minute);
  await book.tokenFor(OPENAI, "main");
  for (let seconds = 0; seconds < 3600; seconds += 5) {
    await pass(5000);
    const found = await book.tokenFor(OPENAI, "main");
    assert.ok("token" in found && found.expiresAtMs > NOW_MS + 1000 * seconds);
  }
});

Deno.test("an exchange that the configuration no longer has is not renewed", async () => {
  const { book, issuers, timers, pass } = open();
  await book.tokenFor(OPENAI, "main");
  book.retain([OPENAI]);
  assert.equal(timers.running, 1);
  book.retain([]);
  assert.equal(timers.running, 0);
  await pass(120 * MINUTE_MS);
  assert.equal(issuers.requests, 1);
});

Deno.test("an exchange that ends after its removal schedules no renewal", async () => {
  const { book, timers, pass } = open();
  const asked = book.tokenFor(OPENAI, "main");
  book.retain([]);
  await asked;
  await pass(0);
  assert.equal(timers.running, 0);
});

Deno.test("the reason of AWS's refusal of a web identity has only its code", async () => {
  const { book, issuers } = open();
  issuers.next.push(() =>
    new Response(
      `<ErrorResponse><Error><Type>Sender</Type><Code>ExpiredTokenException</Code><Message>Token ${SUBJECT} expired</Message></Error></ErrorResponse>`,
      { status: 400 },
    )
  );
  const { "AWS, with a web identity": exchange = assert.fail() } = EXCHANGES;
  assert.deepEqual(await book.tokenFor(exchange, "main"), {
    reason:
      "sts.eu-central-1.amazonaws.com answered with status 400, ExpiredTokenException",
  });
});

const BAD: Readonly<Record<string, [() => Response, string]>> = {
  "a rate limit": [
    () => Response.json({}, { status: 429 }),
    "auth.openai.com answered with status 429",
  ],
  "the wrong audience": [
    () =>
      Response.json({ error: "invalid_target", message: SUBJECT }, {
        status: 400,
      }),
    "auth.openai.com answered with status 400, invalid_target",
  ],
  "an expired token of the platform": [
    () =>
      Response.json({
        error: "invalid_grant",
        error_description: `${SUBJECT} has expired`,
      }, { status: 400 }),
    "auth.openai.com answered with status 400, invalid_grant",
  ],
  "a redirect": [
    () => new Response(null, { status: 302, headers: { location: "/" } }),
    "auth.openai.com answered with status 302",
  ],
  "no JSON": [() => new Response("<html>"), "the response is not JSON"],
  "no token": [() => Response.json({}), "the response has no token"],
  "a token that no header can hold": [
    () => Response.json({ access_token: "a\nb", expires_in: 60 }),
    "the response has no usable token",
  ],
  "no connection": [
    () => {
      throw new TypeError("secret address");
    },
    "auth.openai.com cannot be reached",
  ],
};

Deno.test("the reason for a failed token exchange contains no secret", (t) =>
  steps(t, Object.entries(BAD), async ([, [answer, reason]]) => {
    const { book, issuers } = open();
    issuers.next.push(answer);
    assert.deepEqual(await book.tokenFor(OPENAI, "main"), { reason });
  }));

Deno.test("a wrong clock does not change a lifetime in seconds, and rejects an expiry that has passed", async () => {
  const { "Google, as a service account": account = assert.fail() } = EXCHANGES;
  for (const [aheadMs, expected] of [[-30, 90], [30, 30]] as const) {
    const { book, skew } = open();
    skew(aheadMs * MINUTE_MS);
    const relative = await book.tokenFor(OPENAI, "main");
    assert.ok("token" in relative);
    const nowMs = NOW_MS + aheadMs * MINUTE_MS;
    assert.equal(relative.expiresAtMs - nowMs, 60 * MINUTE_MS);
    const absolute = await book.tokenFor(account, "main");
    assert.ok("token" in absolute);
    assert.equal(absolute.expiresAtMs - nowMs, expected * MINUTE_MS);
  }
  const { book, skew } = open();
  skew(2 * 60 * MINUTE_MS);
  assert.deepEqual(await book.tokenFor(account, "main"), {
    reason: "the response has no usable token",
  });
});

Deno.test("an exchange without a response in 10 s fails, and a later exchange succeeds", async () => {
  const { book, issuers, pass } = open();
  issuers.next.push(() => new Promise(() => {}));
  const found = book.tokenFor(OPENAI, "main");
  await settle();
  await pass(10_000);
  assert.deepEqual(await found, {
    reason: "auth.openai.com did not answer within 10 s",
  });
  await pass(2000);
  assert.ok("token" in await book.tokenFor(OPENAI, "main"));
});

Deno.test("a missing or invalid token of the platform is not sent", async () => {
  const missing = open(() => Promise.reject(new Deno.errors.NotFound()));
  assert.deepEqual(await missing.book.tokenFor(OPENAI, "main"), {
    reason: "the file of the platform's token does not exist",
  });
  const broken = open(() => Promise.resolve("two words"));
  assert.deepEqual(await broken.book.tokenFor(OPENAI, "main"), {
    reason: "the platform's token is not one word",
  });
  assert.equal(missing.issuers.requests + broken.issuers.requests, 0);
});
