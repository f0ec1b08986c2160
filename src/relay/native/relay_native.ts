import { OPERATIONS } from "../../core/protocol.ts";
import type { ByteEdit, ByteSpan } from "../../json_scan/key.ts";
import { discard } from "../../streams/byte_reader.ts";
import { LongBytes } from "../../streams/bytes.ts";
import {
  callUpstream,
  Upload,
  type UpstreamResponse,
} from "../../upstream/call.ts";
import { signatureOf } from "../../upstream/aws_signature.ts";
import { responseHeaders, upstreamHeaders } from "../../upstream/headers.ts";
import { redirected } from "../../upstream/failure.ts";
import { secretsOf } from "../../upstream/secrets.ts";
import {
  isVertexClaude,
  operationUrl,
  vertexEdits,
} from "../../upstream/vertex_claude.ts";
import { noteResponse } from "../answer_failure.ts";
import {
  type Attempt,
  fallbackHeader,
  firstAnswerMs,
  quotaHeaders,
} from "../attempt.ts";
import type { HeldBody, KeptBody } from "../request/held_body.ts";
import { withRequestId } from "../request_id.ts";
import type { Uses } from "../services.ts";
import { readNativeFailure } from "./native_failure.ts";
import { passAnswer } from "./pass_answer.ts";
import { reasonOfRefusedBetas } from "./refused_betas.ts";

/**
 * Forwards a request to an upstream that speaks its protocol (docs/design.md#native-and-translated). The body is sent
 * byte for byte; only the model's name is replaced if the upstream has another. The response passes as it arrives.
 *
 * @throws {NativeFailure} When the upstream sends an error before any output.
 * @throws {GatewayError} When there is no response to forward.
 * @throws {CallerLeft} When the caller disconnects before there is a response.
 */
export async function relayNative(
  attempt: Attempt,
  services: Uses<
    "client" | "clock" | "deadlines" | "harvest" | "codexQuota"
  >,
): Promise<Response> {
  const { harvest, deadlines, clock, codexQuota } = services;
  const { exchange, head, controller, deployment } = attempt;
  const { connection, model } = deployment;
  const { protocol } = OPERATIONS[attempt.operation];
  const isRenamed = model.upstream !== head.model;
  const response = await sendRequest(attempt, services);
  const secrets = secretsOf(connection);
  noteResponse(response, exchange.record, secrets);
  harvest.observe(connection, response.headers);
  if (!response.ok && response.status < 400) {
    // Redirects are never followed.
    discard(response);
    throw redirected();
  }
  const headers = withRequestId(
    responseHeaders(response.headers, { isRenamed, secrets, clock }),
    protocol,
    exchange.record.requestId,
  );
  if (!response.ok) {
    const { idleMs } = connection.timeouts;
    throw await readNativeFailure(response, {
      protocol,
      headers,
      reasonOf: (failure) =>
        reasonOfRefusedBetas(
          failure,
          upstreamHeaders(exchange.headers, connection),
          connection,
        ),
      secrets,
      deadlines,
      clock,
      idleMs,
      controller,
    });
  }
  headers.push(
    ...fallbackHeader(attempt),
    ...quotaHeaders(attempt, codexQuota, response.headers),
  );
  return await passAnswer(response, {
    attempt,
    protocol,
    headers,
    secrets,
    deadlines,
    clock,
  });
}

function sendRequest(
  attempt: Attempt,
  { client, clock, deadlines }: Uses<"client" | "clock" | "deadlines">,
): Promise<UpstreamResponse> {
  const { exchange, head, controller, deployment } = attempt;
  const { connection, model } = deployment;
  return callUpstream(client, {
    url: operationUrl(connection, attempt.operation, {
      model: model.upstream,
      stream: head.stream,
    }),
    headers: upstreamHeaders(exchange.headers, connection),
    sign: signatureOf(connection, clock),
    body: nativeBody(attempt.body, editsOf(attempt)),
    deadlines,
    connectMs: connection.timeouts.connectMs,
    firstByteMs: firstAnswerMs(attempt),
    overNewConnection: attempt.overNewConnection,
    controller,
  });
}

/** Returns the edits by which the upstream finds the model under its own name, the last one of the body first. */
function editsOf(
  { head, deployment: { connection, model }, operation, exchange }: Attempt,
): readonly ByteEdit[] {
  const { modelMember, versionMember } = head;
  if (modelMember === undefined) return [];
  if (isVertexClaude(connection)) {
    const version = exchange.headers.get("anthropic-version") ?? undefined;
    const members = { modelMember, versionMember };
    return vertexEdits(members, operation, model.upstream, version);
  }
  return model.upstream === head.model
    ? []
    : [{ span: modelMember.span, text: JSON.stringify(model.upstream) }];
}

/**
 * Returns the caller's bytes with edits, the last one of the body first. A long body becomes an upload, which borrows the
 * body. Both have a known length.
 */
export function nativeBody(
  body: KeptBody,
  edits: readonly ByteEdit[],
): Uint8Array<ArrayBuffer> | Upload {
  const sent = edits.reduce(edited, body.get());
  if (sent instanceof Uint8Array) return sent;
  const upload = new Upload(sent);
  body.lendTo(upload);
  return upload;
}

function edited(body: HeldBody, { span, text }: ByteEdit): HeldBody {
  const put = new TextEncoder().encode(text);
  if (body instanceof Uint8Array) return spliceBytes(body, span, put);
  const head = body.slice(0, span.start);
  const tail = body.slice(span.end);
  return new LongBytes([...head.pieces, put, ...tail.pieces]);
}

/**
 * Returns a copy of `bytes` with `replacement` in place of `span`.
 *
 * @throws {RangeError} When `span` is outside `bytes`.
 */
export function spliceBytes(
  bytes: Uint8Array,
  span: ByteSpan,
  replacement: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const { start, end } = span;
  if (start < 0 || start > end || end > bytes.length) {
    throw new RangeError(
      `Cannot splice bytes ${start} to ${end}: there are ${bytes.length}.`,
    );
  }
  const spliced = new Uint8Array(
    bytes.length - (end - start) + replacement.length,
  );
  spliced.set(bytes.subarray(0, start));
  spliced.set(replacement, start);
  spliced.set(bytes.subarray(end), start + replacement.length);
  return spliced;
}
