import { createHash } from "node:crypto";
import type { Connection } from "../config/config.ts";
import { awsKeysOf } from "../config/credential.ts";
import { oncePer } from "@gateway/base/memo";
import type { Clock } from "@gateway/base/time/timers";
import type { LongBytes } from "@gateway/base/streams/bytes";

type Headers = [name: string, value: string][];

/** A complete request without its signature. */
interface Unsigned {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers: Headers;
  readonly body?: Uint8Array | LongBytes | undefined;
}

/** Returns the headers of a request with its signature. */
export type Sign = (request: Unsigned) => Promise<Headers>;

/** The signing keys derived for each day, by `auth` object. A new AWS key comes in a new `auth` object. */
const derivedKeysOf = oncePer((_auth: Connection["auth"]) =>
  new Map<string, ArrayBuffer>()
);

/**
 * Returns a function that signs a connection's requests with AWS Signature Version 4
 * (docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html); `undefined` for a connection
 * that sends its key. The signature covers the host, the path, the body and the `x-amz-` headers. Other headers are not
 * signed, because a proxy may change them.
 */
export function signatureOf(
  { auth }: Connection,
  clock: Pick<Clock, "now">,
): Sign | undefined {
  const keys = awsKeysOf(auth);
  if (keys === undefined) return undefined;
  return async ({ method, url, headers, body }) => {
    const { AwsV4Signer } = await import("aws4fetch");
    const signer = new AwsV4Signer({
      ...keys,
      method,
      url,
      headers: [
        ...headers.filter(([name]) => name.startsWith("x-amz-")),
        ["x-amz-content-sha256", sha256(body)],
      ],
      service: serviceAt(url),
      cache: derivedKeysOf(auth),
      datetime: new Date(clock.now()).toISOString()
        .replace(/[:-]|\.\d{3}/g, ""),
    });
    const signed = await signer.sign();
    return [
      ...headers.filter(([name]) => !signed.headers.has(name)),
      ...signed.headers,
    ];
  };
}

/** Services whose name in a signature is a label of their host. Sources: npm `@anthropic-ai/bedrock-sdk`, `aws-sdk`. */
const SERVICE_REGEXP = /(?:^|\.)(bedrock-mantle|aws-external-anthropic)\./;

/** Returns the name by which AWS knows the service of an address: `bedrock` for bedrock-runtime. */
function serviceAt(url: string): string {
  return SERVICE_REGEXP.exec(new URL(url).hostname)?.[1] ?? "bedrock";
}

function sha256(body: Unsigned["body"]): string {
  const hash = createHash("sha256");
  if (body instanceof Uint8Array) hash.update(body);
  else body?.pieces.forEach((piece) => hash.update(piece));
  return hash.digest("hex");
}
