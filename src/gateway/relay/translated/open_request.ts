import type { ConnectionModel } from "../../config/config.ts";
import { oncePer } from "@gateway/base/memo";
import type { Protocol } from "@gateway/base/protocol";
import {
  type Lesson,
  lessonText,
  merged,
  readLesson,
  type RequestJob,
  strictest,
} from "@gateway/codecs";
import type { Attempt } from "../attempt.ts";
import { targetOf } from "../routing/candidate.ts";
import type { Uses } from "../services.ts";
import type { TranslatedBodyLoan } from "./translation.ts";

/** The services that translate a request. */
export type RequestServices = Uses<
  "translation" | "reasoningMemory" | "lessonBook"
>;

/** The protocol of a translated request, the lessons of its earlier refusals, and the latest refusal. */
export interface Wanted {
  readonly protocol: Protocol;
  readonly taught: readonly Lesson[];
  readonly refusal?: RequestJob["refusal"];
  /** True to send a suspected part again. */
  readonly probes?: boolean | undefined;
}

/**
 * Translates a request and records what was left out.
 *
 * @throws {GatewayError} When the request cannot be translated.
 */
export async function openRequest(
  attempt: Attempt,
  wanted: Wanted,
  services: RequestServices,
): Promise<TranslatedBodyLoan> {
  const translated = await translate(attempt, wanted, services);
  const { answer } = attempt.exchange.record.facts;
  const { dropped, lessons, reasoningDropped } = translated;
  if (lessons.length > 0) answer.lessons = lessons.map(lessonText);
  if (dropped.size > 0) answer.dropped = [...dropped];
  if (reasoningDropped !== undefined) {
    answer.reasoningDropped = [reasoningDropped];
  }
  return translated;
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
  const { release } = await translate(attempt, wanted, services);
  release();
}

function translate(
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
