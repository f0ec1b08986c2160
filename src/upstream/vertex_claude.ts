/*
 * Claude on Google Cloud takes Messages in another form: the path names the model and the stream, the body has the
 * version. Source: npm `@anthropic-ai/vertex-sdk` 1.1.3, `client.mjs`.
 */

import type { Connection } from "../config/config.ts";
import { type Operation, operationPath, OPERATIONS } from "../core/protocol.ts";

/** Returns true for a connection that takes Messages in this form. */
export function isVertexClaude({ service }: Connection): boolean {
  return service === "vertex-claude";
}

/** Returns the URL of an operation at a connection. */
export function operationUrl(
  connection: Connection,
  name: Operation,
  { model, stream }: { readonly model: string; readonly stream: boolean },
): string {
  const operation = OPERATIONS[name];
  const base = connection.endpoints[operation.endpoint];
  if (!isVertexClaude(connection)) {
    return `${base}${operationPath(operation, model, { stream })}`;
  }
  if (name === "count_tokens") return `${base}/count-tokens:rawPredict`;
  // The SDK leaves `@` as it is, which precedes the date of a model.
  const segment = encodeURIComponent(model).replaceAll("%40", "@");
  return `${base}/${segment}:${stream ? "streamRawPredict" : "rawPredict"}`;
}

const FIRST_VERSION = "2023-06-01";

/** Google's name of that version. */
const VERTEX_VERSION = "vertex-2023-10-16";

/**
 * Returns the text that takes the place of the member `model` in a native body. To count tokens, the body keeps the
 * model.
 *
 * @param version The caller's `anthropic-version`. Newer SDKs send theirs in the body.
 */
export function vertexMembers(
  name: Operation,
  model: string,
  version = FIRST_VERSION,
): string {
  const sent = version === FIRST_VERSION ? VERTEX_VERSION : version;
  const kept = name === "count_tokens"
    ? `"model":${JSON.stringify(model)},`
    : "";
  return `${kept}"anthropic_version":${JSON.stringify(sent)}`;
}
