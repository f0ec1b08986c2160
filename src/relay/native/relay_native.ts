import { operationPath, OPERATIONS } from "../../core/protocol.ts";
import { discard } from "../../streams/discard.ts";
import type { UpstreamAnswer } from "../../upstream/answer.ts";
import { answerHeaders } from "../../upstream/answer_headers.ts";
import { callUpstream } from "../../upstream/call.ts";
import {
  REFUSED_CREDENTIAL,
  UpstreamFailure,
} from "../../protocols/canonical/failure/failure.ts";
import { redirected } from "../../upstream/failure.ts";
import { upstreamHeaders } from "../../upstream/request_headers.ts";
import { secretsOf } from "../../upstream/secrets.ts";
import {
  type Attempt,
  firstAnswerMs,
  quotaHeaders,
  standInHeader,
} from "../attempt.ts";
import { nativeBody } from "./native_body.ts";
import { readNativeFailure } from "./native_failure.ts";
import { noteAnswer } from "../note_answer.ts";
import { passAnswer } from "./pass_answer.ts";
import { withRequestId } from "../request_id.ts";
import type { RelayServices } from "../services.ts";

/**
 * Forwards a request whose upstream speaks its protocol: the body byte for byte (the model's name replaced in
 * place where the upstream has another), the answer as it comes (docs/design.md#native-and-translated).
 *
 * @throws {NativeFailure} When the upstream refuses or fails before any output.
 * @throws {GatewayError} When there is no answer that could be passed on.
 * @throws {CallerLeft} When the caller left before there was one.
 */
export async function relayNative(
  attempt: Attempt,
  services: RelayServices,
): Promise<Response> {
  const { harvest, deadlines, clock, codexQuota } = services;
  const { exchange, head, controller, deployment } = attempt;
  const { connection, model } = deployment;
  const { protocol } = OPERATIONS[attempt.operation];
  const isRenamed = model.upstream !== head.model;
  const answer = await ask(attempt, services);
  const secrets = secretsOf(connection);
  noteAnswer(answer, exchange.record, secrets);
  harvest.observe(connection, answer.headers);
  refuseUnusable(answer);
  const headers = withRequestId(
    answerHeaders(answer.headers, { isRenamed, secrets, clock }),
    protocol,
    exchange.record.requestId,
  );
  const { idleMs } = connection.timeouts;
  if (!answer.ok) {
    throw await readNativeFailure(answer, {
      protocol,
      headers,
      secrets,
      deadlines,
      clock,
      idleMs,
      controller,
    });
  }
  headers.push(
    ...standInHeader(attempt),
    ...quotaHeaders(attempt, codexQuota, answer.headers),
  );
  return await passAnswer(answer, {
    attempt,
    protocol,
    headers,
    secrets,
    deadlines,
    clock,
  });
}

function ask(
  attempt: Attempt,
  { fetch, deadlines, connects }: RelayServices,
): Promise<UpstreamAnswer> {
  const { exchange, head, controller, deployment } = attempt;
  const { connection, model } = deployment;
  const operation = OPERATIONS[attempt.operation];
  return callUpstream(fetch, {
    url: `${connection.endpoints[operation.endpoint]}${
      operationPath(operation, model.upstream, head)
    }`,
    headers: upstreamHeaders(exchange.headers, connection),
    body: nativeBody({
      body: attempt.body,
      modelSpan: head.modelSpan,
      renamedTo: model.upstream === head.model ? undefined : model.upstream,
    }),
    deadlines,
    connects,
    connectMs: connection.timeouts.connectMs,
    firstByteMs: firstAnswerMs(attempt),
    controller,
  });
}

/**
 * Holds back what is not the caller's to see: a refusal of the gateway's own credential, and a redirect,
 * which is never followed.
 */
function refuseUnusable(answer: UpstreamAnswer): void {
  const { status } = answer;
  const isRefusal = status === 401;
  const isRedirect = status >= 300 && status < 400;
  if (!isRefusal && !isRedirect) return;
  discard(answer);
  throw isRedirect ? redirected() : new UpstreamFailure({
    kind: "authentication",
    status,
    message: REFUSED_CREDENTIAL,
  });
}
