import { OPERATIONS } from "../../core/protocol.ts";
import type {
  AnswerContext,
  CallerCodec,
  Codec,
} from "../../protocols/canonical/codec.ts";
import { type Attempt, quotaHeaders, standInHeader } from "../attempt.ts";
import { idHeaders } from "../request_id.ts";
import type { RelayServices } from "../services.ts";
import type { TranslatedBody } from "./request_job.ts";

/** What an answer needs to get from the upstream's protocol to the caller's. */
export interface TranslateAnswerOptions {
  readonly attempt: Attempt;
  /** The caller's protocol. */
  readonly from: CallerCodec;
  /** The upstream's protocol. */
  readonly to: Codec;
  readonly translated: Omit<TranslatedBody, "body">;
  readonly services: Pick<
    RelayServices,
    "seals" | "deadlines" | "ids" | "clock" | "translation" | "codexQuota"
  >;
}

/** What the caller's codec may need to write an answer, as far as it is plain data. */
export function plainContextOf(
  { attempt: { deployment, exchange }, translated, services }:
    TranslateAnswerOptions,
): Omit<AnswerContext, "ids" | "drop" | "now"> {
  return {
    nowMs: services.clock.now(),
    model: deployment.model.id,
    request: translated.request,
    estimatedInputTokens: translated.estimatedInputTokens,
    requestId: exchange.record.requestId,
    connectionId: deployment.connection.id,
  };
}

/** All that the caller's codec may need to write an answer. */
export function contextOf(options: TranslateAnswerOptions): AnswerContext {
  const { facts } = options.attempt.exchange.record;
  return {
    ...plainContextOf(options),
    ids: options.services.ids,
    now: options.services.clock.now,
    drop(part) {
      facts.answer.droppedParts = [
        ...new Set([...facts.answer.droppedParts ?? [], part]),
      ];
    },
  };
}

/** Returns the headers of an answer of the content type `type`; what is known to be lost of the request is named there. */
export function headersOf(
  { attempt, translated, services }: TranslateAnswerOptions,
  type: string,
): Record<string, string> {
  const { record } = attempt.exchange;
  const dropped = new Set([
    ...translated.dropped,
    ...record.facts.answer.dropped ?? [],
  ]);
  return {
    "content-type": type,
    ...Object.fromEntries(
      idHeaders(OPERATIONS[attempt.operation].protocol, record.requestId),
    ),
    ...Object.fromEntries(standInHeader(attempt)),
    ...Object.fromEntries(quotaHeaders(attempt, services.codexQuota)),
    ...(type === "text/event-stream" ? { "cache-control": "no-cache" } : {}),
    ...(dropped.size === 0
      ? {}
      : { "x-gateway-dropped": [...dropped].map(headerSafe).join(",") }),
  };
}

/** A caller's own field name could hold anything. */
function headerSafe(name: string): string {
  return name.replace(/[^\x21-\x7e]|,/g, "?");
}
