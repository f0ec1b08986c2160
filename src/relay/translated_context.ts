import type {
  AnswerContext,
  CallerCodec,
  Codec,
} from "../protocols/canonical/codec.ts";
import type { TranslatedRequest } from "../protocols/translate_request.ts";
import { type Attempt, standInHeader } from "./attempt.ts";
import type { RelayTools } from "./tools.ts";

/** What an answer needs to get from the upstream's protocol to the caller's. */
export interface TranslateAnswerOptions {
  readonly attempt: Attempt;
  /** The caller's protocol. */
  readonly from: CallerCodec;
  /** The upstream's protocol. */
  readonly to: Codec;
  readonly translated: TranslatedRequest;
  readonly tools: Pick<RelayTools, "seals" | "deadlines" | "ids" | "clock">;
}

/** What the caller's codec may need to write an answer. */
export function contextOf(
  { attempt: { exchange, candidate }, translated, tools }:
    TranslateAnswerOptions,
): AnswerContext {
  const { facts } = exchange.record;
  return {
    ids: tools.ids,
    nowMs: tools.clock.now(),
    model: candidate.model.id,
    request: translated.request,
    estimatedInputTokens: Math.ceil(facts.bytesIn / BYTES_PER_TOKEN),
    connectionId: candidate.connection.id,
    drop(part) {
      facts.droppedParts = [...new Set([...facts.droppedParts ?? [], part])];
    },
  };
}

/** A rough figure for text in English; good enough for a number that the upstream corrects later. */
const BYTES_PER_TOKEN = 4;

/** The headers of an answer of the content type `type`; what the request lost is named there. */
export function headersOf(
  { attempt, translated: { dropped } }: TranslateAnswerOptions,
  type: string,
): Record<string, string> {
  return {
    "content-type": type,
    ...Object.fromEntries(standInHeader(attempt)),
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
