import { GatewayError } from "../core/error.ts";
import { isJsonObject, parseJson } from "../core/json.ts";
import { type Operation, OPERATIONS, type Protocol } from "../core/protocol.ts";
import { retryAfterMs } from "../core/retry_after.ts";
import type { CallerCodec, Codec } from "../protocols/canonical/codec.ts";
import { parseErrorBody } from "../protocols/canonical/error_words.ts";
import {
  type Failure,
  UpstreamFailure,
} from "../protocols/canonical/failure.ts";
import { recallThoughts } from "../protocols/canonical/thoughts.ts";
import { completionsCodec } from "../protocols/completions/mod.ts";
import { CODECS } from "../protocols/mod.ts";
import {
  type TranslatedRequest,
  translateRequest,
} from "../protocols/translate_request.ts";
import { discard } from "../streams/discard.ts";
import { callUpstream } from "../upstream/call.ts";
import { redirected } from "../upstream/failure.ts";
import { readErrorBytes } from "../upstream/read_answer.ts";
import { translatedHeaders } from "../upstream/translated_headers.ts";
import { type Attempt, firstAnswerMs } from "./attempt.ts";
import { bodyBytes } from "./held_body.ts";
import { noteAnswer } from "./note_answer.ts";
import type { RelayTools } from "./tools.ts";
import { translateAnswer } from "./translated_answer.ts";

/** Where each protocol takes requests. */
const OPERATION_BY_PROTOCOL = {
  chat: "chat_completions",
  messages: "messages",
  responses: "responses",
} as const satisfies Record<Protocol, Operation>;

/**
 * Serves a request through an upstream of another protocol: the request, the answer and its errors are
 * translated (docs/design.md#native-and-translated).
 *
 * @param protocol Of the upstream.
 * @throws {GatewayError} When the request cannot be translated, or there is no answer.
 * @throws {UpstreamFailure} When the upstream refuses or fails before anything of an answer went out.
 * @throws {CallerLeft} When the caller left before.
 */
export async function relayTranslated(
  attempt: Attempt,
  protocol: Protocol,
  tools: RelayTools,
): Promise<Response> {
  const { exchange, candidate: { connection }, controller } = attempt;
  const from = callerCodec(attempt.operation);
  const to = CODECS[protocol];
  const translated = await translate(attempt, { from, to }, tools);
  const { endpoint, path } = OPERATIONS[OPERATION_BY_PROTOCOL[protocol]];
  const answer = await callUpstream(tools.fetch, {
    url: `${connection.endpoints[endpoint]}${path}`,
    headers: translatedHeaders(exchange.request.headers, connection, {
      protocol,
      stream: translated.body.stream === true,
      messagesVendor: exchange.config.messagesVendor,
    }),
    body: JSON.stringify(translated.body),
    deadlines: tools.deadlines,
    connects: tools.connects,
    connectMs: connection.timeouts.connectMs,
    firstByteMs: firstAnswerMs(attempt),
    controller,
  });
  noteAnswer(answer, exchange.record);
  tools.harvest.observe(connection, answer.headers);
  if (!answer.ok) throw await failureOf(answer, { attempt, to }, tools);
  return await translateAnswer(answer, {
    attempt,
    from,
    to,
    translated,
    tools,
  });
}

function callerCodec(operation: Operation): CallerCodec {
  return operation === "completions"
    ? completionsCodec
    : CODECS[OPERATIONS[operation].protocol];
}

async function translate(
  { exchange, candidate, body }: Attempt,
  { from, to }: { readonly from: CallerCodec; readonly to: Codec },
  { seals }: RelayTools,
): Promise<TranslatedRequest> {
  const { connection, model } = candidate;
  const parsed = parseJson(new TextDecoder().decode(await bodyBytes(body)));
  if (!isJsonObject(parsed)) {
    throw new GatewayError(
      "invalid_request",
      "Cannot read the body: it is not one JSON object",
    );
  }
  const translated = translateRequest(parsed, {
    from,
    to,
    target: {
      service: connection.service,
      connectionId: connection.id,
      model: model.upstream,
      maxOutputTokens: model.maxOutputTokens,
    },
    strict: connection.strict,
    streamOnly: connection.streamOnly,
    force: connection.force,
    omit: connection.omit,
    prepare: (request) => ({
      ...request,
      turns: recallThoughts(
        request.turns,
        (callId) =>
          seals.recall({ callerSha256: exchange.caller.sha256, callId }),
      ),
    }),
  });
  if (translated.dropped.size > 0) {
    exchange.record.facts.dropped = [...translated.dropped];
  }
  return translated;
}

async function failureOf(
  answer: Response,
  { attempt: { candidate, controller }, to }: {
    readonly attempt: Attempt;
    readonly to: Codec;
  },
  { deadlines, clock }: RelayTools,
): Promise<Error> {
  const { status, headers } = answer;
  if (status < 400) {
    discard(answer);
    return redirected();
  }
  const bytes = await readErrorBytes(answer, {
    deadlines,
    idleMs: candidate.connection.timeouts.idleMs,
    controller,
  });
  const body = bytes && parseErrorBody(new TextDecoder().decode(bytes));
  const failure: Failure = to.decodeFailure(status, body);
  return new UpstreamFailure({
    ...failure,
    retryAfterMs: failure.retryAfterMs ?? retryAfterMs(headers, clock.now()),
  });
}
