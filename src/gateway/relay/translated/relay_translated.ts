import { callUpstream, Upload } from "../../upstream/call.ts";
import type { AnyResponse, HttpResponse } from "@gateway/http1";
import { setImmediate } from "node:timers";
import type { Config, ConnectionModel } from "../../config/config.ts";
import { oncePer } from "@gateway/base/memo";
import { MAIN_OPERATIONS, type Protocol } from "@gateway/base/protocol";
import {
  callerCodec,
  CODECS,
  judgeRefusal,
  type Lesson,
  lessonText,
  merged,
  parseErrorBody,
  readLesson,
  type RequestJob,
  restoreNames,
  strictest,
  type TranslatedBody,
  UpstreamFailure,
} from "@gateway/codecs";
import { discard } from "@gateway/base/streams/byte_reader";
import { LongBytes } from "@gateway/base/streams/bytes";
import { redirected } from "../../upstream/failure.ts";
import { readErrorBytes } from "../../upstream/read_response.ts";
import { secretsOf } from "../../upstream/secrets.ts";
import { signatureOf } from "../../upstream/aws_signature.ts";
import { translatedHeaders } from "../../upstream/headers.ts";
import { operationUrl } from "../../upstream/vertex_claude.ts";
import { answerFailure } from "../answer_failure.ts";
import { type Attempt, firstAnswerMs, noteResponse } from "../attempt.ts";
import { MIN_CACHED_TOKENS } from "../cache_misses.ts";
import { targetOf } from "../routing/candidate.ts";
import type { Uses } from "../services.ts";
import { promptPartsOf } from "../request/prompt_scan.ts";
import type { TranslateAnswerOptions } from "./answer_watch.ts";
import { translateAnswer } from "./translate_answer.ts";
import { isLent, type TranslatedBodyLoan } from "./translation.ts";

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
  services: TranslatedServices,
): Promise<AnyResponse> {
  const { response, translated } = await sendAndLearn(
    attempt,
    protocol,
    services,
  );
  return await translateAnswer(response, {
    attempt,
    from: callerCodec(attempt),
    to: protocol,
    translated,
    services,
  });
}

/** For translating a request. */
type RequestServices = Uses<"translation" | "reasoningMemory" | "lessonBook">;

/** For sending it, too, and again after a refusal. */
type SendingServices =
  & RequestServices
  & Uses<"client" | "clock" | "deadlines" | "budget" | "harvest">;

/** For translating the answer, too. */
type TranslatedServices = SendingServices & TranslateAnswerOptions["services"];

/** A successful response, and the request that it answers. */
interface SentRequest {
  readonly response: HttpResponse;
  readonly translated: Omit<TranslatedBody, "body" | "learned" | "probe">;
}

/** Kept for a while after the plainest body was refused like the whole one. It stays with its caller. */
const NO_PLAIN_TRY: Lesson = {
  ...{ move: "plain", field: "body", words: [], cause: "found" },
};

/** The most lessons that one request learns (docs/translation.md#a-refusal-teaches). */
const MAX_TAUGHT = 2;

/**
 * Sends the request. If the upstream rejects the earlier reasoning, or a field that the gateway may change, sends it
 * again without that, because the caller may not know of it and could not fix it. A lesson is kept once the upstream
 * has accepted the changed request, so that no error teaches anything untrue.
 */
async function sendAndLearn(
  attempt: Attempt,
  protocol: Protocol,
  services: SendingServices,
): Promise<SentRequest> {
  const { reasoningMemory, lessonBook, budget } = services;
  const { deployment, exchange: { caller, record } } = attempt;
  const { connection } = deployment;
  let isResent = false;
  let taught: readonly Lesson[] = [];
  let lasting: readonly Lesson[] = [];
  let refusal: RequestJob["refusal"];
  let refused: Error | undefined;
  const teach = (lessons: readonly Lesson[], isLasting: boolean) => {
    record.facts.taught = (record.facts.taught ?? 0) + 1;
    taught = merged(taught, lessons);
    if (isLasting) lasting = merged(lasting, lessons);
  };
  for (;;) {
    const probes = refused === undefined;
    const { body, release, learned, probe, ...translated } = await translate(
      attempt,
      { protocol, taught, refusal, probes },
      services,
    );
    if (refused !== undefined && refusal !== undefined) {
      if (learned.length === 0 || !budget.spend(connection.id)) {
        release();
        throw asRequestError(refused);
      }
      teach(learned, !refusal.isConditional);
    }
    const { reasoning, stream, lessons, aliases } = translated;
    const mayResend = !isResent && reasoning.length > 0;
    const mayLearn = !connection.strict &&
      (record.facts.taught ?? 0) < MAX_TAUGHT;
    if (!attempt.mayRepeat && !mayResend && !mayLearn) attempt.body.release();
    const sent = isLent(body) ? new Upload(new LongBytes([body])) : body;
    const reading = [
      sendRequest({ attempt, protocol, body: sent, stream }, services),
      noteSent(attempt, body),
    ] as const;
    // A response may come before the upload ends.
    Promise.allSettled(reading).then(() =>
      sent instanceof Upload ? sent.whenThrough(release) : release()
    );
    const [response] = await Promise.all(reading);
    noteResponse(response, record, secretsOf(connection));
    services.harvest.observe(connection, response.headers);
    if (response.status < 300) {
      lessonBook.forget(deployment, caller, probe);
      const applied = new Set(lessons.map(lessonText));
      const kept = lasting.filter((one) => applied.has(lessonText(one)));
      lessonBook.keep(deployment, caller, kept);
      return { response, translated };
    }
    const failing = { attempt, protocol, aliases };
    refused = await failureOf(response, failing, services);
    const judged = judge(refused);
    if (mayResend && judged?.isOfReasoning) {
      reasoningMemory.refuse(caller.sha256, reasoning);
      [isResent, refusal] = [true, undefined];
      continue;
    }
    const earlier = refusal?.message;
    refusal = judged?.field;
    const isPlain = taught.some(({ cause }) => cause === "suspected");
    if (isPlain && refusal?.message === earlier) {
      lessonBook.keep(deployment, caller, [NO_PLAIN_TRY]);
    }
    if (!mayLearn || refusal === undefined) throw asRequestError(refused);
    if (probe.length > 0 && budget.spend(connection.id)) {
      // What was sent again is the cause.
      teach(probe.map((one) => ({ ...one, cause: "found" })), true);
      refusal = undefined;
    }
  }
}

/** Returns a provider's refusal of a picture as an error of the request, whatever its status. */
function asRequestError(thrown: Error): Error {
  if (!(thrown instanceof UpstreamFailure)) return thrown;
  const { failure } = thrown;
  return failure.kind === "server" &&
      judge(thrown)?.field?.isConditional === false
    ? new UpstreamFailure({ ...failure, kind: "invalid_request", status: 400 })
    : thrown;
}

function judge(thrown: Error) {
  return thrown instanceof UpstreamFailure
    ? judgeRefusal(thrown.failure)
    : undefined;
}

/**
 * Translates a request and sends nothing.
 *
 * @throws {GatewayError} When the request cannot be translated.
 */
export async function checkTranslation(
  attempt: Attempt,
  protocol: Protocol,
  services: RequestServices,
): Promise<void> {
  const wanted = { protocol, taught: [] };
  const { release } = await translateFor(attempt, wanted, services);
  release();
}

async function translate(
  attempt: Attempt,
  wanted: Wanted,
  services: RequestServices,
): Promise<TranslatedBodyLoan> {
  const translated = await translateFor(attempt, wanted, services);
  const { answer } = attempt.exchange.record.facts;
  const { dropped, lessons, reasoningDropped } = translated;
  if (lessons.length > 0) answer.lessons = lessons.map(lessonText);
  if (dropped.size > 0) answer.dropped = [...dropped];
  if (reasoningDropped !== undefined) {
    answer.reasoningDropped = [reasoningDropped];
  }
  return translated;
}

/** Takes the parts of the prompt in a body while the upstream works on it. A shorter prompt is in no cache. */
async function noteSent(
  { head: { prompt } }: Attempt,
  body: TranslatedBody["body"],
): Promise<void> {
  if (body.length < MIN_CACHED_TOKENS) return;
  await new Promise(setImmediate);
  prompt.sent = await promptPartsOf(body);
}

/** The protocol of a translated request, what earlier refusals of it taught, and the latest one. */
interface Wanted {
  readonly protocol: Protocol;
  readonly taught: readonly Lesson[];
  readonly refusal?: RequestJob["refusal"];
  /** True to send a suspected part again. */
  readonly probes?: boolean;
}

function translateFor(
  attempt: Attempt,
  { protocol: to, taught, refusal, probes }: Wanted,
  { translation, reasoningMemory, lessonBook }: RequestServices,
): Promise<TranslatedBodyLoan> {
  const { exchange, deployment, body, head } = attempt;
  const { connection, model } = deployment;
  const known = lessonBook.known(deployment, exchange.caller);
  const callerSha256 = exchange.caller.sha256;
  return translation.request(
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
      omit: [...connection.omit, ...model.omit],
      lessons: merged(
        connection.strict
          ? lessonsOf(model)
          : strictest(lessonsOf(model), known),
        taught,
      ),
      refusal,
      probes,
      recallable: reasoningMemory.known(callerSha256),
      refused: reasoningMemory.refused(callerSha256),
    },
    head.shape,
    {
      memory: attempt.memory,
      signal: attempt.controller.signal,
      recall: (callIds) =>
        new Map(callIds.flatMap((callId) => {
          const reasoning = reasoningMemory.recall({ callerSha256, callId });
          return reasoning === undefined ? [] : [[callId, reasoning]];
        })),
    },
  );
}

const lessonsOf = oncePer(({ lessons = [] }: ConnectionModel) =>
  lessons.flatMap((text) => readLesson(text) ?? [])
);

/** The prefixes of all headers that belong to one of the protocols. */
const protocolPrefixesOf = oncePer(({ messagesVendor }: Config) =>
  Object.values(CODECS).flatMap(({ headerPrefixes }) =>
    headerPrefixes(messagesVendor)
  )
);

/** The parts of a request to the upstream. */
interface Sending {
  readonly attempt: Attempt;
  readonly protocol: Protocol;
  readonly body: Uint8Array<ArrayBuffer> | Upload;
  readonly stream: boolean;
}

async function sendRequest(
  sending: Sending,
  { client, clock, deadlines }: Uses<"client" | "clock" | "deadlines">,
): Promise<HttpResponse> {
  const { attempt, protocol, body, stream } = sending;
  const { exchange, deployment, controller } = attempt;
  const { connection, model } = deployment;
  const { messagesVendor } = exchange.config;
  return await callUpstream(client, {
    url: operationUrl(connection, MAIN_OPERATIONS[protocol], {
      model: model.upstream,
      stream,
    }),
    headers: translatedHeaders(exchange.headers, connection, {
      ownHeaders: CODECS[protocol].requestHeaders(
        messagesVendor,
        targetOf(deployment),
      ),
      protocolPrefixes: protocolPrefixesOf(exchange.config),
      stream,
    }),
    sign: signatureOf(connection, clock),
    body,
    deadlines,
    connectMs: connection.timeouts.connectMs,
    firstByteMs: firstAnswerMs(attempt),
    overNewConnection: attempt.overNewConnection,
    controller,
  });
}

async function failureOf(
  response: HttpResponse,
  { attempt: { deployment, controller }, protocol, aliases }: {
    readonly attempt: Attempt;
    readonly protocol: Protocol;
    readonly aliases: TranslatedBody["aliases"];
  },
  { deadlines, clock }: Uses<"deadlines" | "clock">,
): Promise<Error> {
  if (response.status < 400) {
    discard(response);
    return redirected();
  }
  const bytes = await readErrorBytes(response, {
    deadlines,
    idleMs: deployment.connection.timeouts.idleMs,
    controller,
  });
  const body = bytes && parseErrorBody(new TextDecoder().decode(bytes));
  const secrets = secretsOf(deployment.connection);
  const failure = answerFailure(response, body, { protocol, secrets, clock });
  return new UpstreamFailure(restoreNames(failure, aliases));
}
