/*
 * Claude on Google Cloud takes Messages in another form: the path names the model and the stream, the body has the
 * version. Source: npm `@anthropic-ai/vertex-sdk` 1.1.3, `client.mjs`.
 */

import type { Connection, Deployment } from "../config/config.ts";
import type { ByteEdit, FoundValue } from "@gateway/json_scan";
import {
  type Operation,
  operationPath,
  OPERATIONS,
} from "@gateway/base/protocol";

/** Returns true for a connection to Claude on Google Cloud. */
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
  // As in the SDK, the `@` before the date of a model is not encoded.
  const segment = encodeURIComponent(model).replaceAll("%40", "@");
  return `${base}/${segment}:${stream ? "streamRawPredict" : "rawPredict"}`;
}

const FIRST_VERSION = "2023-06-01";

/** Google's name of {@linkcode FIRST_VERSION}. */
const VERTEX_VERSION = "vertex-2023-10-16";

/** The members of a native body that hold the model and the version for Vertex. */
interface NamedMembers {
  /** The model that the caller requested. */
  readonly model: string;
  readonly modelMember: FoundValue | undefined;
  readonly versionMember: FoundValue | undefined;
}

/**
 * Returns the edits that replace the model in a native body by the upstream's name of the model.
 *
 * For Vertex, the version takes the place of the model. If the body has both members, the earlier member is replaced
 * and the later member is removed. The body's own version wins over `version`, as in the SDK. A body that counts tokens
 * keeps the model.
 *
 * @param version The caller's `anthropic-version`. Newer SDKs for Vertex send the version in the body instead.
 */
export function modelEdits(
  { connection, model }: Deployment,
  operation: Operation,
  { model: requested, modelMember, versionMember = modelMember }: NamedMembers,
  version = FIRST_VERSION,
): readonly ByteEdit[] {
  if (modelMember === undefined || versionMember === undefined) return [];
  const name = JSON.stringify(model.upstream);
  if (!isVertexClaude(connection)) {
    return model.upstream === requested
      ? []
      : [{ span: modelMember.span, text: name }];
  }
  const own = versionMember === modelMember ? undefined : versionMember.text;
  const sent = version === FIRST_VERSION ? VERTEX_VERSION : version;
  const kept = operation === "count_tokens" ? `"model":${name},` : "";
  const text = `${kept}"anthropic_version":${own ?? JSON.stringify(sent)}`;
  const [first, last] = modelMember.nameStart < versionMember.nameStart
    ? [modelMember, versionMember]
    : [versionMember, modelMember];
  const put = { span: { start: first.nameStart, end: first.span.end }, text };
  const { after: start, span: { end } } = last;
  return first === last ? [put] : [{ span: { start, end }, text: "" }, put];
}
