import { Upload } from "../../upstream/call.ts";
import {
  type AnyResponse,
  DirectResponse,
  type HttpResponse,
} from "@gateway/http1";
import { setImmediate } from "node:timers";
import type { Config } from "../../config/config.ts";
import { oncePer } from "@gateway/base/memo";
import {
  MAIN_OPERATIONS,
  OPERATIONS,
  type Protocol,
} from "@gateway/base/protocol";
import {
  type AnswerContext,
  callerCodec,
  CODECS,
  openTranslator,
  parseErrorBody,
  restoreNames,
  type TranslatedBody,
  UpstreamFailure,
} from "@gateway/codecs";
import {
  type ByteReader,
  createLookAhead,
} from "@gateway/base/streams/byte_reader";
import { LongBytes } from "@gateway/base/streams/bytes";
import { readErrorBytes } from "../../upstream/read_response.ts";
import { secretsOf } from "../../upstream/secrets.ts";
import { translatedHeaders } from "../../upstream/headers.ts";
import { passOn } from "../answer_body.ts";
import { answerFailure } from "../answer_failure.ts";
import type { Attempt } from "../attempt.ts";
import { MIN_CACHED_TOKENS } from "../cache_misses.ts";
import {
  answerHeaders,
  idHeaders,
  NOT_STORED,
  streamHeaders,
} from "../answer_headers.ts";
import { sendRequest } from "../send_request.ts";
import { targetOf } from "../routing/candidate.ts";
import type { Uses } from "../services.ts";
import { promptPartsOf } from "../request/prompt_scan.ts";
import { AnswerReader, type WholeAnswer } from "./answer_reader.ts";
import { createTranslatedWatch, type TranslatedWatch } from "./answer_watch.ts";
import { Learning } from "./learning.ts";
import { openRequest, type RequestServices } from "./open_request.ts";
import {
  createTranslatingReader,
  failureOfBreak,
} from "./translating_reader.ts";
import { isLent } from "./translation.ts";

/** The services for a translated request and its answer. */
type TranslatedServices =
  & RequestServices
  & Uses<"client" | "clock" | "deadlines" | "budget">
  & Uses<"harvest" | "ids" | "codexQuota">;

/** The facts of an accepted request that its answer needs. */
type Accepted = Omit<TranslatedBody, "body" | "learned" | "probe">;

/**
 * Serves a request through an upstream of another protocol. Translates the request, the answer and the errors
 * (docs/design.md#native-and-translated). The methods are in the order of their steps.
 */
export class TranslatedAttempt {
  readonly #attempt: Attempt;
  /** The caller's protocol. */
  readonly #from: ReturnType<typeof callerCodec>;
  /** The upstream's protocol. */
  readonly #to: Protocol;
  readonly #services: TranslatedServices;

  constructor(attempt: Attempt, to: Protocol, services: TranslatedServices) {
    this.#attempt = attempt;
    this.#from = callerCodec(attempt);
    this.#to = to;
    this.#services = services;
  }

  /**
   * Sends the request and answers the caller.
   *
   * @throws {GatewayError} When the request cannot be translated, or there is no response.
   * @throws {UpstreamFailure} When the upstream sends an error or fails before any output was sent.
   * @throws {CallerLeft} When the caller disconnected before any output was sent.
   */
  async relay(): Promise<AnyResponse> {
    const { response, translated } = await this.#sendAndLearn();
    return await this.answer(response, translated);
  }

  /** Sends the request, changed after each refusal, until the upstream accepts it or a refusal teaches nothing. */
  async #sendAndLearn(): Promise<
    { readonly response: HttpResponse; readonly translated: Accepted }
  > {
    const { mayRepeat, body: kept } = this.#attempt;
    const learning = new Learning(this.#attempt, this.#services);
    for (;;) {
      const { body, release, ...translated } = await openRequest(
        this.#attempt,
        { protocol: this.#to, ...learning.wanted },
        this.#services,
      );
      try {
        learning.begin(translated);
      } catch (error) {
        release();
        throw error;
      }
      if (!mayRepeat && !learning.mayFollow(translated)) kept.release();
      const response = await this.#send(body, translated.stream, release);
      if (response.status < 300) {
        learning.accept(translated);
        return { response, translated };
      }
      learning.refuse(await this.#failureOf(response, translated), translated);
    }
  }

  /** Sends a body, and records the parts of its prompt while the upstream works on it. */
  async #send(
    body: TranslatedBody["body"],
    stream: boolean,
    release: () => void,
  ): Promise<HttpResponse> {
    const sent = isLent(body) ? new Upload(new LongBytes([body])) : body;
    const reading = [
      this.#call(sent, stream),
      notePrompt(this.#attempt, body),
    ] as const;
    // A response may come before the upload ends.
    Promise.allSettled(reading).then(() =>
      sent instanceof Upload ? sent.whenThrough(release) : release()
    );
    const [response] = await Promise.all(reading);
    return response;
  }

  async #call(
    body: Upload | TranslatedBody["body"],
    stream: boolean,
  ): Promise<HttpResponse> {
    const { exchange: { config, headers }, deployment } = this.#attempt;
    const ownHeaders = CODECS[this.#to].requestHeaders(
      config.messagesVendor,
      targetOf(deployment),
    );
    const protocolPrefixes = protocolPrefixesOf(config);
    return await sendRequest(this.#attempt, {
      operation: MAIN_OPERATIONS[this.#to],
      stream,
      headers: translatedHeaders(headers, deployment.connection, {
        ownHeaders,
        protocolPrefixes,
        stream,
      }),
      body,
    }, this.#services);
  }

  async #failureOf(
    response: HttpResponse,
    { aliases }: Accepted,
  ): Promise<Error> {
    const { deadlines, clock } = this.#services;
    const { controller, deployment: { connection } } = this.#attempt;
    const { idleMs } = connection.timeouts;
    const reading = { deadlines, idleMs, controller };
    const bytes = await readErrorBytes(response, reading);
    const body = bytes && parseErrorBody(new TextDecoder().decode(bytes));
    const failure = answerFailure(response, body, {
      protocol: this.#to,
      secrets: secretsOf(connection),
      clock,
    });
    return new UpstreamFailure(restoreNames(failure, aliases));
  }

  /**
   * Sends an upstream's answer to the caller in the caller's protocol. The caller's request decides between a stream
   * and one object, independently of the upstream's form. A stream's status and headers are sent with its first output,
   * so that an earlier failure gets a normal error response.
   *
   * @throws {UpstreamFailure} When the upstream fails before anything was sent.
   * @throws {GatewayError} When the upstream's answer breaks off, exceeds a timeout or is too long before anything was
   * sent, or when no thread can translate the answer now.
   */
  async answer(
    response: HttpResponse,
    translated: Accepted,
  ): Promise<AnyResponse> {
    const read = await new AnswerReader(response, {
      attempt: this.#attempt,
      to: this.#to,
      translated,
      services: this.#services,
    }).read();
    const watch = createTranslatedWatch({
      exchange: this.#attempt.exchange,
      reasoningMemory: this.#services.reasoningMemory,
      translated,
      reasoningField: this.#from.fieldNames.sealedReasoning,
    });
    return "events" in read
      ? await this.#stream(read.events, translated, watch)
      : await this.#sendWhole(read, translated, watch);
  }

  /** Sends a whole answer: one object, or a short stream if the caller requested a stream. */
  async #sendWhole(
    { answer, length }: WholeAnswer,
    translated: Accepted,
    watch: TranslatedWatch,
  ): Promise<AnyResponse> {
    const { operation, bodyProtocol, memory, controller, exchange } =
      this.#attempt;
    const { request, aliases, cuts, isTagged, bound } = translated;
    const { facts } = exchange.record;
    const written = await this.#services.translation.answer(
      {
        ...this.#contextOf(translated),
        ...{ answer, operation, bodyProtocol, to: this.#to },
        ...{ aliases, cuts, isTagged, bound },
      },
      length,
      { memory, signal: controller.signal },
    );
    watch.seeWhole(written);
    facts.status = 200;
    facts.bytesOut = written.bytes.length;
    return new DirectResponse(written.bytes, {
      headers: this.#headersOf(translated, request.stream),
    });
  }

  /** Sends an answer as a stream. The end of the stream ends the request. */
  async #stream(
    upstream: ByteReader,
    translated: Accepted,
    watch: TranslatedWatch,
  ): Promise<AnyResponse> {
    const { deadlines, ids, clock, reasoningMemory } = this.#services;
    const { controller, exchange: { caller, record } } = this.#attempt;
    const { facts } = record;
    const translator = openTranslator({
      ...{ from: this.#from, to: this.#to },
      edits: translated,
      context: {
        ...this.#contextOf(translated),
        ids,
        now: clock.now,
        drop: watch.drop,
      },
      observe: watch.see,
      remember: (reasoning) => reasoningMemory.keep(caller.sha256, reasoning),
    });
    const source = createLookAhead(
      createTranslatingReader(upstream, {
        translator,
        failureOf: (cause) => failureOfBreak(cause, controller.signal),
        deadlines,
      }),
    );
    await watch.holdBeginning(source, this.#attempt, deadlines);
    facts.status = 200;
    const noteChunk = record.watchChunks();
    const encoder = new TextEncoder();
    const body = passOn(source, this.#attempt, {
      deadlines,
      keepAlive: () => encoder.encode(translator.keepAlive()),
      onChunk(chunk) {
        facts.bytesOut += chunk.length;
        noteChunk?.();
      },
      onEnd() {
        facts.answer.outputCharacters = watch.outputCharacters();
        return { answerEnd: watch.end(), failure: watch.failure() };
      },
    });
    return new DirectResponse(body, {
      headers: this.#headersOf(translated, true),
    });
  }

  /** Returns the plain data that the caller's codec may need to write an answer. */
  #contextOf(
    { request, estimatedInputTokens }: Accepted,
  ): Omit<AnswerContext, "ids" | "drop" | "now"> {
    const { deployment, exchange } = this.#attempt;
    return {
      nowMs: this.#services.clock.now(),
      model: deployment.model.id,
      request,
      estimatedInputTokens,
      requestId: exchange.record.requestId,
      connectionId: deployment.connection.id,
    };
  }

  /** Returns the headers of an answer. The headers name the request's dropped fields that are known so far. */
  #headersOf({ dropped }: Accepted, isStream: boolean): [string, string][] {
    const { exchange: { record }, operation } = this.#attempt;
    const names = new Set([...dropped, ...record.facts.answer.dropped ?? []]);
    const headers: [string, string][] = [
      ["content-type", isStream ? "text/event-stream" : "application/json"],
      ...idHeaders(OPERATIONS[operation].protocol, record.requestId),
      ...answerHeaders(this.#attempt, this.#services.codexQuota),
    ];
    if (names.size > 0) {
      headers.push(["x-gateway-dropped", [...names].map(headerSafe).join(",")]);
    }
    return isStream ? streamHeaders(headers) : [...headers, NOT_STORED];
  }
}

/** Records the parts of the prompt in a body while the upstream works on it. No provider caches a very short prompt. */
async function notePrompt(
  attempt: Attempt,
  body: TranslatedBody["body"],
): Promise<void> {
  if (body.length < MIN_CACHED_TOKENS) return;
  await new Promise(setImmediate);
  attempt.noteSent(await promptPartsOf(body));
}

/** The prefixes of all headers that belong to one of the protocols. */
const protocolPrefixesOf = oncePer(({ messagesVendor }: Config) =>
  Object.values(CODECS).flatMap(({ headerPrefixes }) =>
    headerPrefixes(messagesVendor)
  )
);

/** Replaces characters that a header cannot hold. A caller's field name may contain any character. */
function headerSafe(name: string): string {
  return name.replace(/[^\x21-\x7e]|,/g, "?");
}
