import { GatewayError } from "../../core/error.ts";
import type { Ids } from "../../core/ids.ts";
import type { MemoryLoan, MemoryShare } from "../request/body_memory.ts";
import { bodyBytes, type HeldBody } from "../request/held_body.ts";
import type { BodyShape } from "../request/request_head.ts";
import {
  type AnswerJob,
  translateWhole,
  type WrittenAnswer,
} from "./answer_job.ts";
import {
  type Recall,
  type RequestJob,
  translateBody,
  type TranslatedBody,
} from "./request_job.ts";
import type { PoolPlace, TranslationPool } from "./translation_pool.ts";
import {
  brokenThread,
  receivedError,
  type ThreadReport,
} from "./translation_thread.ts";

/** Translates bodies where that holds nobody up: a short one at once, a long one in a thread of its own. */
export interface Translation {
  /**
   * Translates a request.
   *
   * @param shape Of its body.
   * @throws What `translateBody` throws, and as {@linkcode Translation.answer} does.
   */
  request(
    job: RequestToTranslate,
    shape: BodyShape,
    options: RequestOptions,
  ): Promise<TranslatedBodyLoan>;
  /**
   * Translates a whole answer.
   *
   * @param length How many bytes the upstream sent.
   * @throws What `translateWhole` throws.
   * @throws {GatewayError} `overloaded` when there is neither memory nor a thread for it; `internal` when the thread
   * fails.
   * @throws The reason of the signal when that aborts.
   */
  answer(
    job: AnswerJob,
    length: number,
    options: TranslationOptions,
  ): Promise<WrittenAnswer>;
}

/** A request to translate, wherever its body is. */
interface RequestToTranslate extends Omit<RequestJob, "body"> {
  readonly body: HeldBody;
}

/** Who wants a translation. */
interface TranslationOptions {
  readonly memory: MemoryShare;
  /** Gives it up. */
  readonly signal: AbortSignal;
}

/** Who wants a request translated. */
export interface RequestOptions extends TranslationOptions {
  /** Fetches the reasoning that the request needs back. */
  readonly recall: Recall;
}

/** A translated request, which takes memory until it is let go. */
export interface TranslatedBodyLoan extends TranslatedBody {
  letGo(): void;
}

/** A longer body is translated in another thread: this much takes no more than some 30 ms, whatever it holds. */
export const LONG_BYTES = 256 * 1024;

/**
 * What translating takes of memory, in bytes. Measured as the peak of a process with bodies of 8 and 31 MiB: one text
 * or image takes 3 to 5 times its length (as bytes, as text, parsed, written, encoded), long histories 5 to 11 times;
 * 250,000 tiny messages take 1.1 KB each beside that, 860,000 keys 0.6 KB each.
 */
const COST = { perByte: 5, perValue: 1100 };

/** The same for an answer, whose values nobody has counted. */
const ANSWER_COST_PER_BYTE = 8;

/**
 * More objects, arrays and members than this are in no request of a client: in a history that fills a window of a
 * million tokens with messages of fifty tokens each there are about as many.
 */
const MAX_VALUES = 250_000;

/** No client nests deeper, and few upstreams read that. */
const MAX_DEPTH = 1000;

/**
 * @param pool Absent where there are no threads; then everything is translated at once.
 * @param ids For what an upstream gives no id.
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
      return await elsewhere(pool, {
        ...options,
        bytes: COST.perByte * length + COST.perValue * shape.values,
        async work(place, loan) {
          // The thread gets these bytes themselves, and the body may have to be sent again.
          const bytes = await bodyBytes(job.body);
          const body = bytes === job.body ? bytes.slice() : bytes;
          const order = { kind: "request", job: { ...job, body } } as const;
          const report = await place.run(order, recall);
          if (report.kind !== "request_done") throw failureIn(report);
          const { result } = report;
          loan.keep(result.body.length);
          return { ...result, letGo: loan.end };
        },
      });
    },
    async answer(job, length, options) {
      if (pool === undefined || length <= LONG_BYTES) {
        return translateWhole(job, ids);
      }
      return await elsewhere(pool, {
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

/** Work in another thread. */
interface Elsewhere<Result> extends TranslationOptions {
  /** What it takes of memory while it runs. */
  readonly bytes: number;
  work(place: PoolPlace, loan: MemoryLoan): Promise<Result>;
}

async function elsewhere<Result>(
  pool: TranslationPool,
  { memory, signal, bytes, work }: Elsewhere<Result>,
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

/** What would take another thread seconds, and is in no request of a client. */
function refuseUnlikely({ values, depth }: BodyShape): void {
  if (values > MAX_VALUES) {
    throw unlikely(
      "it holds more than 250,000 objects, arrays and members, shorten the conversation or send fewer tools",
    );
  }
  if (depth > MAX_DEPTH) {
    throw unlikely("it is nested more than 1,000 levels deep, send less depth");
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
  let isKept = true;
  return {
    ...translated,
    letGo() {
      if (isKept) memory.give(length);
      isKept = false;
    },
  };
}
