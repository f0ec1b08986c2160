import assert from "node:assert/strict";
import { AwsV4Signer } from "aws4fetch";
import {
  AWS_SECRET,
  openIssuers,
  SUBJECT,
} from "../../gateway/upstream/token_exchange/strict_issuers.ts";
import {
  createSigner,
  GOOD_CLAIMS,
  identityFile,
} from "../../support/gateway/identity_scene.ts";
import { type ServedGateway, serveFile } from "../../support/gateway/serve.ts";
import { fromFileUrl } from "../../support/program/paths.ts";
import { startScriptedProxy } from "../../support/upstream/scripted_proxy.ts";
import { testCertificate } from "../../support/upstream/test_certificate.ts";

const CERTIFICATE = fromFileUrl(
  new URL("../../fixtures/tls/cert.pem", import.meta.url),
);

/** The documented address of each issuer, by its path here. */
const ISSUERS: Readonly<Record<string, string>> = {
  "/anthropic/token": "https://api.anthropic.com/v1/oauth/token",
  "/openai/token": "https://auth.openai.com/oauth/token",
  "/google/token": "https://sts.googleapis.com/v1/token",
  "/azure/token": "https://login.microsoftonline.com/tenant/oauth2/v2.0/token",
  "/aws/token": "https://sts.eu-central-1.amazonaws.com/",
};

/** The request for each cloud: the path at the gateway, and the end of the path at the cloud. */
const CLOUDS: Readonly<Record<string, readonly [string, string]>> = {
  anthropic: ["/v1/messages", "/messages"],
  openai: ["/v1/responses", "/responses"],
  google: ["/v1/chat/completions", "/chat/completions"],
  azure: ["/v1/responses", "/responses"],
  aws: ["/v1/chat/completions", "/chat/completions"],
  vertex: ["/v1/messages", "/model-vertex:rawPredict"],
};

/** Answers a request of a model: its body, already parsed, and its path. */
type Answer = (
  body: { readonly stream?: boolean },
  path: string,
) => Response | undefined;

/** Five clouds at one address with TLS. Each accepts only the tokens of its issuer. */
function openClouds(answerFirst: Answer) {
  const issuers = openIssuers(new Date(Date.now() + 3_600_000).toISOString());
  const given = new Set<string>();
  const streams: ReadableStreamDefaultController<Uint8Array>[] = [];
  const served: string[] = [];
  const encoder = new TextEncoder();

  async function exchange(request: Request, address: string) {
    const { method, headers } = request;
    const body = await request.text();
    const response = await issuers.fetch(address, { method, headers, body });
    const text = await response.text();
    for (const [token] of text.matchAll(/token-\d+-secret/g)) given.add(token);
    return new Response(text, response);
  }

  async function isGood(request: Request, body: string): Promise<boolean> {
    const { headers, method, url } = request;
    const session = headers.get("x-amz-security-token");
    const signature = headers.get("authorization") ?? "";
    if (session === null) return given.has(signature.replace("Bearer ", ""));
    const signer = new AwsV4Signer({
      ...{ method, url, body, region: "eu-central-1", service: "bedrock" },
      accessKeyId: "ASgeIAIOSFODNN7EXAMPLE",
      secretAccessKey: AWS_SECRET,
      sessionToken: session,
      datetime: headers.get("x-amz-date") ?? "",
      headers: {
        "x-amz-content-sha256": headers.get("x-amz-content-sha256") ?? "",
      },
    });
    const own = await signer.sign();
    const digest = await crypto.subtle.digest("SHA-256", encoder.encode(body));
    return given.has(session) &&
      new Uint8Array(digest).toHex() === headers.get("x-amz-content-sha256") &&
      own.headers.get("authorization") === signature;
  }

  function answer(body: { readonly stream?: boolean }): Response {
    if (!body.stream) return Response.json({ id: "1" });
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        streams.push(controller);
        controller.enqueue(
          encoder.encode(
            'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n',
          ),
        );
      },
    });
    const headers = { "content-type": "text/event-stream" };
    return new Response(stream, { headers });
  }

  const server = Deno.serve({
    ...testCertificate,
    hostname: "127.0.0.1",
    port: 0,
    onListen() {},
  }, async (request) => {
    const path = new URL(request.url).pathname;
    const address = ISSUERS[path];
    if (address !== undefined) return await exchange(request, address);
    const body = await request.text();
    if (request.method === "GET") return Response.json({ data: [] });
    if (!await isGood(request, body)) {
      return Response.json({ message: "no" }, { status: 401 });
    }
    served.push(path);
    const parsed = JSON.parse(body);
    return answerFirst(parsed, path) ?? answer(parsed);
  });
  return {
    ...{ issuers, given, streams, served },
    url: `https://localhost:${server.addr.port}`,
    port: server.addr.port,
    end() {
      for (const stream of streams) {
        stream.enqueue(encoder.encode("data: [DONE]\n\n"));
        stream.close();
      }
      streams.length = 0;
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** A configuration of five clouds without a secret. */
function keylessFile(
  cloud: string,
  { files, issuers }: {
    readonly files: { readonly token: string; readonly keys: string };
    readonly issuers: readonly object[];
  },
) {
  const exchange = (kind: string, fields: Record<string, unknown>) => ({
    auth: {
      exchange: {
        ...{ kind, subject: { file: files.token } },
        token_url: `${cloud}/${kind}/token`,
        ...fields,
      },
    },
    endpoints: {
      [
        { anthropic: "messages", openai: "responses", azure: "responses" }[
          kind
        ] ?? "chat"
      ]: `${cloud}/${kind}/v1`,
    },
    models: [`model-${kind}`],
  });
  return {
    server: { port: 0, workers: 2, max_concurrent_requests: 2000 },
    connections: [
      {
        ...{ name: "Anthropic", service: "anthropic" },
        ...exchange("anthropic", {
          federation_rule: "fdrl_1",
          organization: "org",
          service_account: "svac_1",
        }),
      },
      {
        ...{ name: "OpenAI", service: "openai" },
        ...exchange("openai", {
          identity_provider: "idp_1",
          service_account: "sa_1",
        }),
      },
      {
        ...{ name: "Google", service: "vertex" },
        ...exchange("google", { audience: "//iam.googleapis.com/providers/p" }),
      },
      {
        ...{ name: "Claude on Vertex", service: "vertex-claude" },
        ...exchange("google", { audience: "//iam.googleapis.com/providers/p" }),
        endpoints: { messages: `${cloud}/vertex/v1` },
        models: ["model-vertex"],
      },
      {
        ...{ name: "Azure", service: "azure" },
        ...exchange("azure", { tenant: "tenant", client: "client" }),
      },
      {
        ...{ name: "AWS", service: "bedrock" },
        ...exchange("aws", {
          region: "eu-central-1",
          role: "arn:aws:iam::123456789012:role/gateway",
        }),
      },
    ],
    identity: [
      identityFile({ jwks_url: undefined, jwks_file: files.keys }),
      ...issuers,
    ],
  };
}

/** The options of {@linkcode openKeyless}. */
interface KeylessOptions {
  /** Further entries of `identity`. */
  readonly issuers?: readonly object[];
  /** Answers requests in place of the clouds; `undefined` leaves one to them. */
  readonly answer?: Answer;
}

/** Five clouds behind a proxy, and a gateway that has no secret of its own. */
interface KeylessScene extends AsyncDisposable {
  readonly clouds: ReturnType<typeof openClouds>;
  readonly proxy: ReturnType<typeof startScriptedProxy>;
  /** The folder of the platform's token. */
  readonly folder: string;
  readonly gateway: ServedGateway;
  /** The token of a caller. */
  readonly caller: string;
  /** Sends a request for the model of a cloud. */
  ask(cloud: string, stream?: boolean): Promise<Response>;
}

/** Opens the clouds and the gateway. */
export async function openKeyless(
  { issuers = [], answer = () => undefined }: KeylessOptions = {},
): Promise<KeylessScene> {
  const clouds = openClouds(answer);
  const proxy = startScriptedProxy(
    "HTTP/1.1 200 Connection established\r\n\r\n",
    clouds.port,
  );
  const folder = await Deno.makeTempDir();
  const files = { token: `${folder}/token`, keys: `${folder}/keys.json` };
  const signer = await createSigner();
  await Deno.writeTextFile(files.token, SUBJECT);
  await Deno.writeTextFile(files.keys, JSON.stringify({ keys: [signer.jwk] }));
  const gateway = await serveFile(keylessFile(clouds.url, { files, issuers }), {
    env: {
      DENO_CERT: CERTIFICATE,
      HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`,
      DENO_NO_UPDATE_CHECK: "1",
      NO_PROXY: "",
      no_proxy: "",
    },
  });
  const nowS = Math.floor(Date.now() / 1000);
  const caller = await signer.sign({
    ...GOOD_CLAIMS,
    iat: nowS,
    exp: nowS + 900,
  });
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 300 });
  return {
    ...{ clouds, proxy, folder, gateway, caller },
    ask: (cloud: string, stream = false) =>
      fetch(gateway.url + CLOUDS[cloud]?.[0], {
        client,
        method: "POST",
        headers: {
          authorization: `Bearer ${caller}`,
          "content-type": "application/json",
          "anthropic-version": "2023-06-01",
        },
        body: JSON.stringify({
          ...{ model: `model-${cloud}`, max_tokens: 5, stream },
          ...cloud === "openai" || cloud === "azure"
            ? { input: "hi" }
            : { messages: [{ role: "user", content: "hi" }] },
        }),
      }),
    async [Symbol.asyncDispose]() {
      client.close();
      await gateway[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
      await clouds[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Texts that look like credentials: JWTs, and keys by the prefixes of providers. */
const CREDENTIAL_REGEXP =
  /[\w-]{10,}\.[\w-]{10,}\.[\w-]{2,}|\b(sk-|AKIA|ASIA|AIza|mg_)[\w-]{8,}/g;

/** Returns the texts of a process and its folders, by their location. */
async function textsOf(
  gateway: ServedGateway,
  folders: readonly string[],
): Promise<Record<string, string>> {
  const texts: Record<string, string> = { log: gateway.output() };
  for (const folder of folders) {
    for await (const { name } of Deno.readDir(folder)) {
      texts[name] = await Deno.readTextFile(`${folder}/${name}`);
    }
  }
  const { pid } = gateway;
  const environment = await ofProcess(pid, "environ");
  // The variables of the machine that runs the test do not belong to the gateway.
  const others = Object.entries(Deno.env.toObject()).map((pair) =>
    pair.join("=")
  );
  texts.environment = environment.split("\0")
    .filter((variable) => !others.includes(variable)).join("\n");
  texts.arguments = await ofProcess(pid, "cmdline");
  return texts;
}

/** Reads a file of `/proc` by another program, because Deno itself demands all permissions for it. */
async function ofProcess(pid: number, name: string): Promise<string> {
  const path = `/proc/${pid}/${name}`;
  const { stdout } = await new Deno.Command("cat", { args: [path] }).output();
  return new TextDecoder().decode(stdout);
}

/** The end of a JWT, in seconds since 1970; `undefined` for any other text. */
function endOf(credential: string): number | undefined {
  const [, claims] = credential.split(".");
  try {
    return JSON.parse(atob(claims ?? "")).exp;
  } catch {
    return undefined;
  }
}

/**
 * Serves a request of each cloud, and searches the disk, the environment and the log of the gateway for the tokens that
 * were given, and for any credential that lives for over an hour.
 */
export async function assertKeyless(scene: KeylessScene): Promise<void> {
  const { clouds, gateway, ask } = scene;
  for (const [cloud, [, path]] of Object.entries(CLOUDS)) {
    const response = await ask(cloud);
    assert.equal(response.status, 200, await response.clone().text());
    await response.body?.cancel();
    assert.equal(clouds.served.at(-1), `/${cloud}/v1${path}`);
  }
  assert.equal(
    clouds.issuers.requests,
    5,
    "one exchange for two threads, and for two connections",
  );
  const folder = gateway.path.slice(0, gateway.path.lastIndexOf("/"));
  const texts = await textsOf(gateway, [scene.folder, folder]);
  const secrets = [...clouds.given, AWS_SECRET, scene.caller];
  for (const [place, text] of Object.entries(texts)) {
    for (const secret of secrets) {
      assert.ok(!text.includes(secret), `${place} holds ${secret}`);
    }
  }
  assert.ok(texts.token?.includes(SUBJECT), "the search sees the token");
  assert.deepEqual(lastingSecrets(texts), []);
}

/** Lists the credentials in texts that live for over an hour, with their places. */
export function lastingSecrets(
  texts: Readonly<Record<string, string>>,
): readonly string[] {
  return Object.entries(texts).flatMap(([place, text]) =>
    Array.from(text.matchAll(CREDENTIAL_REGEXP), ([found]) => found)
      .filter((found) => (endOf(found) ?? Infinity) - Date.now() / 1000 > 3600)
      .map((found) => `${place}: ${found}`)
  );
}
