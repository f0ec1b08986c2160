import type { Config, Deployment } from "../../config/config.ts";
import { oncePer } from "../../core/memo.ts";
import {
  MAIN_OPERATIONS,
  operationPath,
  OPERATIONS,
  type Protocol,
} from "../../core/protocol.ts";
import type { Target } from "../../protocols/canonical/codec.ts";
import { parseErrorBody } from "../../protocols/canonical/failure/error_body.ts";
import { UpstreamFailure } from "../../protocols/canonical/failure/failure.ts";
import { refusesReasoning } from "../../protocols/canonical/failure/refusal.ts";
import { CODECS, protocolHeaderPrefixes } from "../../protocols/mod.ts";
import { discard } from "../../streams/byte_reader.ts";
import { callUpstream, type UpstreamAnswer } from "../../upstream/call.ts";
import { redirected } from "../../upstream/failure.ts";
import { readErrorBytes } from "../../upstream/read_answer.ts";
import { secretsOf } from "../../upstream/secrets.ts";
import { translatedHeaders } from "../../upstream/headers.ts";
import { answerFailure, noteAnswer } from "../answer_failure.ts";
import { type Attempt, firstAnswerMs } from "../attempt.ts";
import type { RelayServices } from "../services.ts";
import { translateAnswer } from "./translate_answer.ts";
import { callerCodec, type TranslatedBody } from "./request_job.ts";
import type { TranslatedBodyLoan } from "./translation.ts";

/**
 * Serves a request through an upstream of another protocol, with its request, answer and errors translated
 * (docs/design.md#native-and-translated).
 *
 * @param protocol The upstream's protocol.
 * @throws {GatewayError} When the request cannot be translated, or there is no response.
 * @throws {UpstreamFailure} When the upstream sends an error or fails before any output was sent.
 * @throws {CallerLeft} When the caller disconnected before that.
 */
export async function relayTranslated(
  attempt: Attempt,
  protocol: Protocol,
  services: RelayServices,
): Promise<Response> {
  const { answer, translated } = await exchange(attempt, protocol, services);
  return await translateAnswer(answer, {
    attempt,
    from: callerCodec(attempt),
    to: CODECS[protocol],
    translated,
    services,
  });
}

/** A successful response, and the request that it answers. */
interface Exchanged {
  readonly answer: UpstreamAnswer;
  readonly translated: Omit<TranslatedBody, "body">;
}

/**
 * Sends the request. If the upstream rejects the earlier reasoning, sends it again without that, because the caller may
 * not know of it and could not fix it.
 */
async function exchange(
  attempt: Attempt,
  protocol: Protocol,
  services: RelayServices,
): Promise<Exchanged> {
  const { reasoningStore } = services;
  const { sha256 } = attempt.exchange.caller;
  for (let isResent = false;; isResent = true) {
    const { body, release, ...translated } = await translate(
      attempt,
      protocol,
      services,
    );
    const { reasoning, stream } = translated;
    const mayResend = !isResent && reasoning.length > 0;
    if (!attempt.mayRepeat && !mayResend) attempt.body.release();
    let answer: UpstreamAnswer;
    try {
      answer = await sendRequest({ attempt, protocol, body, stream }, services);
    } finally {
      release();
    }
    const { connection } = attempt.deployment;
    noteAnswer(answer, attempt.exchange.record, secretsOf(connection));
    services.harvest.observe(connection, answer.headers);
    if (answer.ok) return { answer, translated };
    const failure = await failureOf(answer, { attempt, protocol }, services);
    if (!mayResend || !isReasoningRefused(failure)) throw failure;
    reasoningStore.refuse(sha256, reasoning);
  }
}

function isReasoningRefused(thrown: Error): boolean {
  return thrown instanceof UpstreamFailure && refusesReasoning(thrown.failure);
}

async function translate(
  attempt: Attempt,
  to: Protocol,
  { translation, reasoningStore }: RelayServices,
): Promise<TranslatedBodyLoan> {
  const { exchange, deployment, body, head } = attempt;
  const { connection } = deployment;
  const callerSha256 = exchange.caller.sha256;
  const translated = await translation.request(
    {
      body: body.get(),
      operation: attempt.operation,
      model: head.model,
      stream: head.stream,
      bodyProtocol: attempt.bodyProtocol,
      to,
      target: targetOf(deployment),
      strict: connection.strict,
      streamOnly: connection.streamOnly,
      force: connection.force,
      omit: connection.omit,
      recallable: reasoningStore.known(callerSha256),
      refused: reasoningStore.refused(callerSha256),
    },
    head.shape,
    {
      memory: attempt.memory,
      signal: attempt.controller.signal,
      recall: (callIds) =>
        new Map(callIds.flatMap((callId) => {
          const reasoning = reasoningStore.recall({ callerSha256, callId });
          return reasoning === undefined ? [] : [[callId, reasoning]];
        })),
    },
  );
  const { answer } = exchange.record.facts;
  const { dropped, reasoningDropped } = translated;
  if (dropped.size > 0) answer.dropped = [...dropped];
  if (reasoningDropped !== undefined) {
    answer.reasoningDropped = [reasoningDropped];
  }
  return translated;
}

/** The object is the same for all requests, because codecs use it as a key. */
const targetOf = oncePer(({ connection, model }: Deployment): Target => ({
  service: connection.service,
  connectionId: connection.id,
  endpoints: connection.endpoints,
  model: model.upstream,
  maxOutputTokens: model.maxOutputTokens,
}));

const protocolPrefixesOf = oncePer(({ messagesVendor }: Config) =>
  protocolHeaderPrefixes(messagesVendor)
);

/** The parts of a request to the upstream. */
interface Sending {
  readonly attempt: Attempt;
  readonly protocol: Protocol;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly stream: boolean;
}

async function sendRequest(
  sending: Sending,
  { client, deadlines }: RelayServices,
): Promise<UpstreamAnswer> {
  const { attempt, protocol, body, stream } = sending;
  const { exchange, deployment, controller } = attempt;
  const { connection, model } = deployment;
  const { messagesVendor } = exchange.config;
  const operation = OPERATIONS[MAIN_OPERATIONS[protocol]];
  return await callUpstream(client, {
    url: `${connection.endpoints[operation.endpoint]}${
      operationPath(operation, model.upstream, sending)
    }`,
    headers: translatedHeaders(exchange.headers, connection, {
      ownHeaders: CODECS[protocol].requestHeaders(
        messagesVendor,
        targetOf(deployment),
      ),
      protocolPrefixes: protocolPrefixesOf(exchange.config),
      stream,
    }),
    body,
    deadlines,
    connectMs: connection.timeouts.connectMs,
    firstByteMs: firstAnswerMs(attempt),
    controller,
  });
}

async function failureOf(
  answer: UpstreamAnswer,
  { attempt: { deployment, controller }, protocol }: {
    readonly attempt: Attempt;
    readonly protocol: Protocol;
  },
  { deadlines, clock }: RelayServices,
): Promise<Error> {
  if (answer.status < 400) {
    discard(answer);
    return redirected();
  }
  const bytes = await readErrorBytes(answer, {
    deadlines,
    idleMs: deployment.connection.timeouts.idleMs,
    controller,
  });
  const body = bytes && parseErrorBody(new TextDecoder().decode(bytes));
  const secrets = secretsOf(deployment.connection);
  return new UpstreamFailure(
    answerFailure(answer, body, { protocol, secrets, clock }),
  );
}
