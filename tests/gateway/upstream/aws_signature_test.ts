import assert from "node:assert/strict";
import { AwsV4Signer } from "aws4fetch";
import { LongBytes } from "../../../src/base/streams/bytes.ts";
import { signatureOf } from "../../../src/gateway/upstream/aws_signature.ts";
import { secretsOf } from "../../../src/gateway/upstream/secrets.ts";
import SUITE from "../../fixtures/aws_signatures.json" with { type: "json" };
import { connectionFile, minimalConfig } from "../../support/gateway/config.ts";
import { testNeeding } from "../../support/ignored.ts";

/** The keys of AWS's test suite. */
const SUITE_KEYS = {
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  service: "service",
  region: "us-east-1",
};

/** Vectors that the gateway never sends: a duplicate name, a value of several lines, a path outside ASCII. */
const NEVER_SENT = new Set([
  "get-header-key-duplicate",
  "get-header-value-order",
  "get-utf8",
  "get-header-value-multiline",
  "get-vanilla-empty-query-key",
  "normalize-path/get-space",
]);

Deno.test("the library's signatures equal those of AWS's test suite", async (t) => {
  let held = 0;
  for (const [name, vector] of Object.entries(SUITE.vectors)) {
    if (NEVER_SENT.has(name)) continue;
    held += 1;
    await t.step(name, async () => {
      const [head = "", body = ""] = vector.request.split("\n\n");
      const [line = "", ...fields] = head.trim().split("\n");
      const [, method = "", target = ""] = /^(\S+) (.+) HTTP/.exec(line) ?? [];
      const headers = fields.map((field): [string, string] => {
        const colon = field.indexOf(":");
        return [field.slice(0, colon), field.slice(colon + 1)];
      });
      const isOutside = name.endsWith("post-sts-header-after");
      const signer = new AwsV4Signer({
        ...SUITE_KEYS,
        method,
        url: new URL(`https://example.amazonaws.com${target}`).href,
        headers: headers.filter(([field]) => field.toLowerCase() !== "host"),
        body,
        datetime: "20150830T123600Z",
        allHeaders: true,
        appendSessionToken: isOutside,
        ...(name === "get-vanilla-with-session-token"
          ? {
            sessionToken:
              "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267",
          }
          : {}),
      });
      const signed = await signer.sign();
      assert.equal(signed.headers.get("authorization"), vector.authorization);
    });
  }
  assert.equal(held, 28);
});

const NOW_MS = Date.UTC(2026, 10, 26, 12, 30, 5);

const SECRET = "c2VjcmV0/key+of+40+characters/c2VjcmV0ke";
const SESSION = "IQoJb3JpZ2luX2VjEHsession/token+of=some==length";

const { connections: [CONNECTION = assert.fail()] } = await minimalConfig({
  connections: [connectionFile({
    auth: { exchange: { kind: "aws_instance", region: "eu-central-1" } },
  })],
}, {
  tokenFor: () =>
    Promise.resolve({
      token: `ASIAEXAMPLE:${SECRET}:${SESSION}`,
      expiresAtMs: NOW_MS + 3_600_000,
    }),
});

const REQUESTS = [
  {
    url:
      "https://bedrock-runtime.eu-central-1.amazonaws.com/openai/v1/chat/completions",
    service: "bedrock",
    body: `{"model":"openai.gpt-oss-120b","messages":[]} ünï🙂`,
  },
  {
    url: "https://bedrock-mantle.eu-central-1.api.aws/anthropic/v1/messages",
    service: "bedrock-mantle",
    body: "{}",
  },
  {
    url:
      "https://aws-external-anthropic.eu-central-1.api.aws/v1/messages?beta=true&a=b%20c",
    service: "aws-external-anthropic",
    body: "x".repeat(300_000),
  },
  {
    url:
      "https://vpce-1.bedrock-mantle.eu-central-1.vpce.amazonaws.com/v1/models/us.anthropic.claude-v1%3A0",
    service: "bedrock-mantle",
    body: "",
  },
];

/** Signs a request with its body in pieces, like a long body. */
async function signed(
  { url, body }: { readonly url: string; readonly body: string },
): Promise<Readonly<Record<string, string>>> {
  const bytes = new TextEncoder().encode(body);
  const pieces = [bytes.slice(0, 7), bytes.slice(7)];
  const sign = signatureOf(CONNECTION, { now: () => NOW_MS });
  assert.ok(sign);
  const headers = await sign({
    method: "POST",
    url,
    headers: [
      ["content-type", "application/json"],
      ["x-amz-meta", "a  b"],
      ["x-amz-date", "20000101T000000Z"],
      ["x-amzn-bedrock-guardrailversion", "1"],
    ],
    body: new LongBytes(pieces),
  });
  const names = headers.map(([name]) => name);
  assert.equal(new Set(names).size, names.length);
  return Object.fromEntries(headers);
}

const BOTOCORE = `
import datetime, json, sys
import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
now = datetime.datetime(2026, 11, 26, 12, 30, 5, tzinfo=datetime.timezone.utc)
class Clock(datetime.datetime):
    @classmethod
    def utcnow(cls): return now.replace(tzinfo=None)
botocore.auth.datetime.datetime = Clock
if hasattr(botocore.auth, 'get_current_datetime'):
    botocore.auth.get_current_datetime = lambda remove_tzinfo=True: now.replace(tzinfo=None)
key, secret, session, requests = json.load(sys.stdin)
for one in requests:
    request = AWSRequest('POST', one['url'].split('?')[0], data=one['body'].encode(), headers={'x-amz-meta': 'a b', 'x-amz-content-sha256': one['sha256']})
    if '?' in one['url']:
        request.url = one['url']
    botocore.auth.SigV4Auth(Credentials(key, secret, session), one['service'], 'eu-central-1').add_auth(request)
    print(request.headers['Authorization'])
`;

async function runPython(code: string, input = ""): Promise<string> {
  const child = new Deno.Command("python3", {
    args: ["-c", code],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  const { success, stdout, stderr } = await child.output();
  assert.ok(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

const hasBotocore = await runPython("import botocore.auth")
  .then(() => true, () => false);

testNeeding(
  "a signature equals that of botocore",
  !hasBotocore && "there is no botocore here",
  async () => {
    const ours = await Promise.all(REQUESTS.map(signed));
    const input = JSON.stringify([
      "ASIAEXAMPLE",
      SECRET,
      SESSION,
      REQUESTS.map((request, index) => ({
        ...request,
        sha256: ours[index]?.["x-amz-content-sha256"],
      })),
    ]);
    assert.deepEqual(
      ours.map(({ authorization }) => authorization),
      (await runPython(BOTOCORE, input)).trim().split("\n"),
    );
  },
);

Deno.test("only host and x-amz- headers are signed, the session token among them", async () => {
  const [request = assert.fail()] = REQUESTS;
  const headers = await signed(request);
  assert.equal(headers["content-type"], "application/json");
  assert.equal(headers["x-amzn-bedrock-guardrailversion"], "1");
  assert.equal(headers["x-amz-date"], "20261126T123005Z");
  assert.equal(headers["x-amz-security-token"], SESSION);
  assert.match(
    headers.authorization ?? "",
    /^AWS4-HMAC-SHA256 Credential=ASIAEXAMPLE\/20261126\/eu-central-1\/bedrock\/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-meta;x-amz-security-token, Signature=[0-9a-f]{64}$/,
  );
});

Deno.test("a connection with a key signs no request, and AWS's keys count as secrets", async () => {
  const { connections: [plain = assert.fail()] } = await minimalConfig();
  assert.equal(signatureOf(plain, { now: () => NOW_MS }), undefined);
  const secrets = secretsOf(CONNECTION);
  assert.ok(secrets.areIn(`the key ${SECRET}`));
  assert.ok(secrets.areIn(`the session ${SESSION}`));
  assert.ok(!secrets.areIn("ASIAEXAMPLE is not authorized"));
});
