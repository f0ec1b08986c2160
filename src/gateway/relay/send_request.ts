import type { HttpResponse } from "@gateway/http1";
import { callUpstream, type Upload } from "../upstream/call.ts";
import type { Operation } from "@gateway/base/protocol";
import { discard } from "@gateway/base/streams/byte_reader";
import { signatureOf } from "../upstream/aws_signature.ts";
import { redirected } from "../upstream/failure.ts";
import { secretsOf } from "../upstream/secrets.ts";
import { operationUrl } from "../upstream/vertex_claude.ts";
import { type Attempt, firstAnswerMs } from "./attempt.ts";
import type { Uses } from "./services.ts";

/** The request of an attempt in the upstream's protocol. */
interface AttemptRequest {
  readonly operation: Operation;
  readonly stream: boolean;
  readonly headers: [string, string][];
  readonly body: Uint8Array<ArrayBuffer> | Upload;
}

/**
 * Sends the request of an attempt. Records when the response's headers arrive, and the quota in these headers.
 *
 * @throws {GatewayError} When no valid response arrives in time, or the response is a redirect. Redirects are never
 * followed.
 * @throws {CallerLeft} When the caller disconnected.
 */
export async function sendRequest(
  attempt: Attempt,
  { operation, stream, headers, body }: AttemptRequest,
  { client, clock, deadlines, harvest }: Uses<
    "client" | "clock" | "deadlines" | "harvest"
  >,
): Promise<HttpResponse> {
  const { connection, model } = attempt.deployment;
  const response = await callUpstream(client, {
    url: operationUrl(connection, operation, { model: model.upstream, stream }),
    headers,
    sign: signatureOf(connection, clock),
    body,
    deadlines,
    connectMs: connection.timeouts.connectMs,
    firstByteMs: firstAnswerMs(attempt),
    overNewConnection: attempt.overNewConnection,
    controller: attempt.controller,
  });
  noteResponse(response, attempt);
  harvest.observe(connection, response.headers);
  if (response.status >= 300 && response.status < 400) {
    discard(response);
    throw redirected();
  }
  return response;
}

/** Records the arrival of an upstream's response headers. */
function noteResponse(
  { headers, status }: HttpResponse,
  { exchange: { record }, deployment }: Attempt,
): void {
  const { answer } = record.facts;
  answer.firstByteMs = record.elapsedMs();
  answer.upstreamStatus = status;
  const id = headers.get("x-request-id") ?? headers.get("request-id") ??
    undefined;
  if (id === undefined || secretsOf(deployment.connection).areIn(id)) return;
  answer.upstreamRequestId = id;
}
