import type { Fetch } from "../../../src/gateway/upstream/call.ts";
import { randomIds } from "../../../src/base/ids.ts";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { systemClock } from "../../../src/base/time/timers.ts";
import { createStrictProvider } from "./strict_provider/mod.ts";

/** The token that Vertex accepts. */
export const VERTEX_TOKEN = "token-of-google";

const URL_REGEXP =
  /^https:\/\/europe-west1-aiplatform\.googleapis\.com\/v1\/projects\/my-project\/locations\/europe-west1\/publishers\/anthropic\/models\/([^/]+):(rawPredict|streamRawPredict)$/;

/** The accepted versions: of Google's documentation, and of npm `@anthropic-ai/vertex-sdk` 1.x. */
const VERSIONS = ["vertex-2023-10-16", "2026-10-21"];

const INFERENCES = new Set(["demo-b@20260101", "demo-b-think@20260101"]);

/** A request as Vertex gets it. */
export interface VertexRequest {
  readonly path: string;
  readonly text: string;
  readonly headers: Headers;
}

/**
 * Creates Claude on Vertex with its real rules. Errors of the path have Google's form, errors of the model Anthropic's.
 */
export function createStrictVertex(): {
  readonly fetch: Fetch;
  readonly received: readonly VertexRequest[];
} {
  const claude = createStrictProvider({
    clock: systemClock,
    ids: randomIds,
    wordMs: 0,
  });
  const received: VertexRequest[] = [];
  const fetch: Fetch = async (url, init) => {
    const request = new Request(url, init);
    const { headers } = request;
    const text = await request.text();
    const { pathname: path } = new URL(url);
    received.push({ path, text, headers });
    if (request.method !== "POST") return googleError(404, "NOT_FOUND");
    const [, segment, method] = URL_REGEXP.exec(url) ?? [];
    if (segment === undefined) return googleError(404, "NOT_FOUND");
    if (headers.get("authorization") !== `Bearer ${VERTEX_TOKEN}`) {
      return googleError(401, "UNAUTHENTICATED");
    }
    // JSON.parse() keeps the last of two members with one name.
    if (text.split(/"anthropic(?:_|\\u005f)version"\s*:/).length > 2) {
      return googleError(400, "INVALID_ARGUMENT");
    }
    const body: unknown = JSON.parse(text);
    if (!isJsonObject(body)) return googleError(400, "INVALID_ARGUMENT");
    const isCount = segment === "count-tokens";
    const fault = faultOf(body, headers, {
      isCount,
      isStream: method === "streamRawPredict",
    });
    if (fault !== undefined) return claudeError(fault);
    const { anthropic_version: _, ...rest } = body;
    const model = isCount ? body.model : segment;
    if (!INFERENCES.has(String(model))) return googleError(404, "NOT_FOUND");
    return await claude(
      `https://demo-b.invalid/v1/messages${isCount ? "/count_tokens" : ""}`,
      {
        method: "POST",
        headers: {
          "authorization": "Bearer demo-key-b",
          "content-type": "application/json",
          "anthropic-version": "2023-06-01",
        },
        body: JSON.stringify({
          ...rest,
          model: String(model).replace("@20260101", ""),
        }),
      },
    );
  };
  return { fetch, received };
}

/** Returns the error for a malformed request; `undefined` for a well-formed one. */
function faultOf(
  body: JsonObject,
  headers: Headers,
  { isCount, isStream }: {
    readonly isCount: boolean;
    readonly isStream: boolean;
  },
): string | undefined {
  const { anthropic_version: version, stream = false, model } = body;
  if (version === undefined) return "anthropic_version: Field required";
  if (!VERSIONS.includes(String(version))) {
    return `anthropic_version: "${version}" is not a valid version`;
  }
  if (headers.has("anthropic-version") || headers.has("x-api-key")) {
    return "the version and the key of Anthropic's own API arrived";
  }
  if (!isCount && model !== undefined) {
    return "model: Extra inputs are not permitted";
  }
  return stream === isStream ? undefined : "stream: not that of the method";
}

function claudeError(message: string): Response {
  const error = { type: "invalid_request_error", message };
  return Response.json({ type: "error", error }, { status: 400 });
}

function googleError(code: number, status: string): Response {
  const error = { code, message: `The request has the fault ${code}`, status };
  return Response.json([{ error }], { status: code });
}
