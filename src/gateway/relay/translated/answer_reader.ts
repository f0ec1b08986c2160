import type { HttpResponse } from "@gateway/http1";
import { LoopTurns } from "@gateway/base/time/turns";
import type { Protocol } from "@gateway/base/protocol";
import { type AnswerJob, openFold, type TranslatedBody } from "@gateway/codecs";
import {
  abandon,
  type ByteReader,
  type ByteSource,
  createByteReader,
  createLookAhead,
  type LookAhead,
  readAll,
} from "@gateway/base/streams/byte_reader";
import {
  bodyKind,
  isEventStream,
  isJson,
} from "@gateway/base/streams/media_type";
import { failedReading, oversized } from "../../upstream/failure.ts";
import { readResponseBytes } from "../../upstream/read_response.ts";
import { secretsOf } from "../../upstream/secrets.ts";
import { holdBack, openBody, TRANSLATED_BYTES } from "../answer_body.ts";
import { type Attempt, firstOutputRestMs } from "../attempt.ts";
import type { Uses } from "../services.ts";

/** The maximum length of a whole answer, in bytes; images in base64 fit. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** An upstream's answer, as bytes or decoded from its stream, and its length in bytes. */
export interface WholeAnswer {
  readonly answer: AnswerJob["answer"];
  readonly length: number;
}

interface AnswerReaderOptions {
  readonly attempt: Attempt;
  /** The upstream's protocol. */
  readonly to: Protocol;
  /** Whether the caller and the gateway have requested a stream. */
  readonly translated: Pick<TranslatedBody, "request" | "stream">;
  readonly services: Uses<"deadlines" | "ids">;
}

/** Reads an upstream's answer in the upstream's protocol. */
export class AnswerReader {
  readonly #response: HttpResponse;
  readonly #options: AnswerReaderOptions;

  constructor(response: HttpResponse, options: AnswerReaderOptions) {
    this.#response = response;
    this.#options = options;
  }

  /**
   * Reads a whole answer. If the answer consists of events and the caller wants a stream, opens the events instead.
   *
   * @throws {UpstreamFailure} When the upstream's stream is not an answer.
   * @throws {GatewayError} When the answer breaks off, exceeds a timeout or is too long.
   */
  async read(): Promise<WholeAnswer | { readonly events: ByteReader }> {
    const { request, stream } = this.#options.translated;
    const { body, headers } = this.#response;
    const type = headers.get("content-type") ?? "";
    if (body === null) return await this.#readBytes();
    if (!request.stream) {
      // Some upstreams stream without declaring it.
      return isEventStream(type) || stream && !isJson(type)
        ? await this.#fold(this.#open(body))
        : await this.#readBytes();
    }
    const events = this.#open(body);
    if (!isJson(type)) return { events };
    const source = createLookAhead(events);
    if (await this.#holdsEvents(source)) return { events: source };
    return await this.#failing(async () =>
      await this.#wholeOf(await readAll(source, MAX_ANSWER_BYTES))
    );
  }

  #open(body: ByteSource): ByteReader {
    const { attempt, services: { deadlines } } = this.#options;
    const maxChunkBytes = TRANSLATED_BYTES;
    return openBody(body, attempt, { deadlines, maxChunkBytes });
  }

  /**
   * Returns true when a body with a JSON content type begins with events. If no byte arrives in time, the content type
   * decides.
   */
  async #holdsEvents(source: LookAhead): Promise<boolean> {
    const { attempt, services: { deadlines } } = this.#options;
    try {
      const seen = await holdBack(source, {
        judge: {
          push(chunk) {
            const kind = bodyKind(chunk);
            return kind && { kind };
          },
          end: () => ({ kind: "json" }),
        },
        deadlines,
        outputMs: firstOutputRestMs(attempt, deadlines),
      });
      return seen?.kind === "events";
    } catch (cause) {
      abandon(source);
      throw failedReading(cause, attempt.controller.signal);
    }
  }

  /** Reads an answer that is one object. */
  async #readBytes(): Promise<WholeAnswer> {
    const { attempt, services: { deadlines } } = this.#options;
    const { controller, deployment: { connection } } = attempt;
    const turns = new LoopTurns();
    const bytes = await readResponseBytes(this.#response, {
      maxBytes: MAX_ANSWER_BYTES,
      deadlines,
      idleMs: connection.timeouts.idleMs,
      controller,
    });
    if (bytes === undefined) throw oversized();
    // Joining, masking and scanning 64 MiB takes some 50 ms each.
    turns.count(bytes.length);
    await turns.next();
    secretsOf(connection).coverIn(bytes);
    turns.count(bytes.length);
    await turns.next();
    return await this.#wholeOf(bytes);
  }

  /** Reads a complete body. Only the bytes decide whether the body holds events; the content type does not count. */
  async #wholeOf(
    bytes: Uint8Array<ArrayBuffer> | undefined,
  ): Promise<WholeAnswer> {
    if (bytes === undefined) throw oversized();
    const { length } = bytes;
    if (bodyKind(bytes) !== "events") return { answer: bytes, length };
    const events = ReadableStream.from([bytes]);
    const maxChunkBytes = TRANSLATED_BYTES;
    return await this.#fold(createByteReader(events, { maxChunkBytes }));
  }

  /** Reads a streamed answer for a caller who wants one object. */
  async #fold(reader: ByteReader): Promise<WholeAnswer> {
    const { to, services } = this.#options;
    const fold = openFold(to, services.ids);
    let length = 0;
    return await this.#failing(async () => {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return { answer: fold.end(), length };
        length += value.length;
        if (length > MAX_ANSWER_BYTES) throw oversized();
        fold.push(value);
      }
    });
  }

  /** Aborts the attempt when the reading fails. */
  async #failing<Read>(read: () => Promise<Read>): Promise<Read> {
    const { controller } = this.#options.attempt;
    try {
      return await read();
    } catch (cause) {
      const failure = failedReading(cause, controller.signal);
      controller.abort(failure);
      throw failure;
    }
  }
}
