import type { Candidate } from "../config/config.ts";
import { type Operation, OPERATIONS } from "../core/protocol.ts";
import { WATCHES } from "../protocols/watch.ts";
import { answerHeaders } from "../upstream/answer_headers.ts";
import { callUpstream } from "../upstream/call.ts";
import { brokenUpstream, upstreamAuthentication } from "../upstream/failure.ts";
import { upstreamHeaders } from "../upstream/request_headers.ts";
import type { Exchange } from "./exchange.ts";
import { nativeBody } from "./native_body.ts";
import { noteAnswer } from "./note_answer.ts";
import { passAnswer } from "./pass_answer.ts";
import type { Question } from "./question.ts";
import type { RelayTools } from "./tools.ts";

/** What is to be forwarded, and where. */
export interface NativeCall {
  readonly operation: Operation;
  readonly candidate: Candidate;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly question: Question;
}

/**
 * Forwards a request whose upstream speaks its protocol: the body byte for byte (the model's name replaced in
 * place where the upstream has another), the answer as it comes (design sections 2 and 5).
 *
 * @throws {GatewayError} When there is no answer that could be passed on.
 * @throws {CallerLeft} When the caller left before there was one.
 */
export async function relayNative(
  exchange: Exchange,
  call: NativeCall,
  { fetch, harvest, deadlines }: RelayTools,
): Promise<Response> {
  const { connection, model } = call.candidate;
  const { endpoint, path, protocol } = OPERATIONS[call.operation];
  const isRenamed = model.upstream !== model.id;
  const answer = await callUpstream(fetch, {
    url: `${connection.endpoints[endpoint]}${path}`,
    headers: upstreamHeaders(exchange.request.headers, connection),
    body: nativeBody({
      body: call.body,
      modelSpan: call.question.modelSpan,
      renamedTo: isRenamed ? model.upstream : undefined,
    }),
    deadlines,
    firstByteMs: connection.timeouts.firstByteMs,
    controller: exchange.controller,
  });
  noteAnswer(answer, exchange.record);
  harvest.observe(connection, answer.headers);
  await refuseUnusable(answer);
  return await passAnswer(answer, {
    exchange,
    watch: WATCHES[protocol],
    headers: answerHeaders(answer.headers, isRenamed),
    deadlines,
    idleMs: connection.timeouts.idleMs,
  });
}

/**
 * Holds back what is not the caller's to see: a refusal of the gateway's own credential, and a redirect,
 * which is never followed.
 */
async function refuseUnusable(answer: Response): Promise<void> {
  const { status } = answer;
  const isRefusal = status === 401 || status === 403;
  const isRedirect = status >= 300 && status < 400;
  if (!isRefusal && !isRedirect) return;
  await answer.body?.cancel();
  throw isRefusal
    ? upstreamAuthentication()
    : brokenUpstream("it redirects to another place");
}
