import { GatewayError } from "@gateway/base/error";
import type { Ids } from "@gateway/base/ids";
import {
  type AnswerJob,
  MAX_DEPTH,
  type Recall,
  type RequestJob,
  translateBody,
  type TranslatedBody,
  translateWhole,
  type WrittenAnswer,
} from "@gateway/codecs";
import { LongBytes } from "@gateway/base/streams/bytes";
import { once } from "../request/admission.ts";
import type { MemoryLoan, MemoryShare } from "../request/body_memory.ts";
import { bodyBytes, type HeldBody } from "../request/held_body.ts";
import type { BodyShape } from "../request/request_head.ts";
import type { ReservedThread, TranslationPool } from "./translation_pool.ts";
import {
  brokenThread,
  receivedError,
  type ThreadReport,
} from "./translation_thread.ts";

/** Translates bodies without blocking the event loop: a short body at once, a long body on a thread. */
export interface Translation {
  /**
   * Translates a request.
   *
   * @param shape The shape of the request's body.
   * @throws The errors of `translateBody` and of {@linkcode Translation.answer}.
   */
  request(
    job: RequestToTranslate,
    shape: BodyShape,
    options: RequestOptions,
  ): Promise<TranslatedBodyLoan>;
  /**
   * Translates a whole answer.
   *
   * @param length The number of bytes that the upstream sent.
   * @throws The errors of `translateWhole`.
   * @throws {GatewayError} `overloaded` when there is no memory or no thread for the translation; `internal` when the
   * thread fails.
   * @throws The reason of the signal when the signal aborts.
   */
  answer(
    job: AnswerJob,
    length: number,
    options: TranslationOptions,
  ): Promise<WrittenAnswer>;
}

/** A request to translate, with its body in one array or in pieces. */
interface RequestToTranslate extends Omit<RequestJob, "body"> {
  readonly body: HeldBody;
}

/** The options of a translation. */
interface TranslationOptions {
  readonly memory: MemoryShare;
  /** Aborts the translation. */
  readonly signal: AbortSignal;
}

/** The options for translating a request. */
interface RequestOptions extends TranslationOptions {
  /** Returns the kept reasoning that the request needs. */
  readonly recall: Recall;
}

/** A translated request. It uses memory until `release` is called. */
export interface TranslatedBodyLoan extends TranslatedBody {
  /** Releases the memory, called once. The bytes of a borrowed body must not be read afterwards. */
  release(): void;
}

/** The longest translated body that is left to the garbage collector, in bytes. */
const SHORT_BYTES = 64 * 1024;

/** Returns true for a translated body that its upload only borrows. Releasing such a body frees the bytes at once. */
export function isLent({ length }: Uint8Array): boolean {
  return length > SHORT_BYTES;
}

/** The longest body that is translated on this thread, in bytes. Translating such a body takes at most some 30 ms. */
const LONG_BYTES = 256 * 1024;

/**
 * The memory that a translation needs, in bytes. Measured as the peak of a process with bodies of 8 and 31 MiB:
 *
 * - One text or image takes 3 to 5 times its length (as bytes, as text, parsed, written, encoded), long histories 5 to
 *   11 times.
 * - 250,000 tiny messages take 1.1 KB each beside that, 860,000 keys 0.6 KB each.
 */
const COST = { perByte: 5, perValue: 1100 };

/** The memory for each byte of an answer, in bytes. An answer's objects, arrays and members are not counted. */
const ANSWER_COST_PER_BYTE = 8;

/**
 * The maximum number of objects, arrays and members. A history that fills a window of a million tokens with messages of
 * fifty tokens reaches about this number. No client sends more.
 */
const MAX_VALUES = 250_000;

/**
 * Creates a translation.
 *
 * @param pool The threads; if there is no pool, everything is translated on this thread.
 * @param ids Creates the ids that an upstream leaves out.
 */
export function createTranslation(
  pool: TranslationPool | undefined,
  ids: Ids,
): Translation {
  return {
    async request(job, shape, { recall, ...options }) {
      refuseUnlikely(shape);
      const { length } = job.body;
      if (pool === undefined || length <= LONG_BYTES) {
        const body = await bodyBytes(job.body);
        const translated = await translateBody({ ...job, body }, recall);
        return keepIn(options.memory, translated);
      }
      return await onThread(pool, {
        ...options,
        bytes: COST.perByte * length + COST.perValue * shape.values,
        async work(place, loan) {
          // The array is transferred to the thread, but another attempt may need the body.
          const bytes = await bodyBytes(job.body);
          const body = bytes === job.body ? bytes.slice() : bytes;
          const order = { kind: "request", job: { ...job, body } } as const;
          const report = await place.run(order, recall);
          if (report.kind !== "request_done") throw failureIn(report);
          const { result } = report;
          loan.keep(result.body.length);
          return {
            ...result,
            release() {
              if (isLent(result.body)) new LongBytes([result.body]).free();
              loan.end();
            },
          };
        },
      });
    },
    async answer(job, length, options) {
      if (pool === undefined || length <= LONG_BYTES) {
        return translateWhole(job, ids);
      }
      return await onThread(pool, {
        ...options,
        bytes: ANSWER_COST_PER_BYTE * length,
        async work(place, loan) {
          const report = await place.run({ kind: "answer", job });
          if (report.kind !== "answer_done") throw failureIn(report);
          loan.end();
          return report.result;
        },
      });
    },
  };
}

/** Work for another thread. */
interface ThreadWork<Result> extends TranslationOptions {
  /** The memory that the work needs while it runs, in bytes. */
  readonly bytes: number;
  work(place: ReservedThread, loan: MemoryLoan): Promise<Result>;
}

async function onThread<Result>(
  pool: TranslationPool,
  { memory, signal, bytes, work }: ThreadWork<Result>,
): Promise<Result> {
  const place = await pool.enter(signal);
  try {
    const loan = await memory.borrow(bytes, signal);
    try {
      return await work(place, loan);
    } catch (error) {
      loan.end();
      throw error;
    }
  } finally {
    place.leave();
  }
}

/** Rejects a body that would keep a thread busy for seconds. No real client sends such a body. */
function refuseUnlikely({ values, depth }: BodyShape): void {
  if (values > MAX_VALUES) {
    throw unlikely(
      "it holds more than 250,000 objects, arrays and members. Shorten the conversation or send fewer tools.",
    );
  }
  if (depth > MAX_DEPTH) {
    throw unlikely(
      "it is nested more than 1,000 levels deep. Send fewer levels.",
    );
  }
}

function unlikely(why: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `Cannot translate the request: ${why}`,
  );
}

function failureIn(report: ThreadReport): Error {
  return report.kind === "failed"
    ? receivedError(report.error)
    : brokenThread(`it reported ${report.kind}`);
}

function keepIn(
  memory: MemoryShare,
  translated: TranslatedBody,
): TranslatedBodyLoan {
  const { length } = translated.body;
  memory.take(length);
  return { ...translated, release: once(() => memory.give(length)) };
}
