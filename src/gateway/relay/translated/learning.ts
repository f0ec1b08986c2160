import {
  judgeRefusal,
  type Lesson,
  lessonText,
  merged,
  type RequestJob,
  type TranslatedBody,
  UpstreamFailure,
} from "@gateway/codecs";
import type { Attempt } from "../attempt.ts";
import type { Uses } from "../services.ts";
import type { Wanted } from "./open_request.ts";

/**
 * The lesson that the upstream refuses even the plainest body. The lesson is kept for a while, for one caller alone.
 */
const NO_PLAIN_TRY: Lesson = {
  ...{ move: "plain", field: "body", words: [], cause: "found" },
};

/** The most lessons that one request learns (docs/translation.md#a-refusal-teaches). */
const MAX_TAUGHT = 2;

/**
 * Learns from the refusals of one attempt's requests. If the upstream rejects earlier reasoning, or a field that the
 * gateway may change, the request is sent again without that part. The caller may not know of the part, and could not
 * fix it. A lesson is kept only after the upstream has accepted the changed request, so that no lesson is wrong.
 */
export class Learning {
  readonly #attempt: Attempt;
  readonly #services: Uses<"reasoningMemory" | "lessonBook" | "budget">;
  #isResent = false;
  #taught: readonly Lesson[] = [];
  #lasting: readonly Lesson[] = [];
  #refusal: RequestJob["refusal"];
  #refused: Error | undefined;

  constructor(
    attempt: Attempt,
    services: Uses<"reasoningMemory" | "lessonBook" | "budget">,
  ) {
    this.#attempt = attempt;
    this.#services = services;
  }

  /** The options with which the next request is translated. */
  get wanted(): Omit<Wanted, "protocol"> {
    return {
      taught: this.#taught,
      refusal: this.#refusal,
      probes: this.#refused === undefined,
    };
  }

  /**
   * Takes the lessons of a translated request before the request is sent.
   *
   * @throws The refusal of the previous request, if it taught nothing or the budget allows no other request.
   */
  begin({ learned }: Pick<TranslatedBody, "learned">): void {
    if (this.#refused === undefined || this.#refusal === undefined) return;
    if (learned.length === 0 || !this.#spend()) {
      throw asRequestError(this.#refused);
    }
    this.#teach(learned, !this.#refusal.isConditional);
  }

  /** Returns true when another request may follow if the upstream refuses this one. */
  mayFollow({ reasoning }: Pick<TranslatedBody, "reasoning">): boolean {
    return this.#mayResend(reasoning) || this.#mayLearn();
  }

  /** Keeps the lessons that the upstream has just confirmed. */
  accept({ lessons, probe }: Pick<TranslatedBody, "lessons" | "probe">): void {
    const { lessonBook } = this.#services;
    const { deployment, exchange: { caller } } = this.#attempt;
    lessonBook.forget(deployment, caller, probe);
    const applied = new Set(lessons.map(lessonText));
    const kept = this.#lasting.filter((one) => applied.has(lessonText(one)));
    lessonBook.keep(deployment, caller, kept);
  }

  /**
   * Learns from the refusal of a request.
   *
   * @throws The refusal, when no other request may follow.
   */
  refuse(
    refused: Error,
    { reasoning, probe }: Pick<TranslatedBody, "reasoning" | "probe">,
  ): void {
    const { reasoningMemory, lessonBook } = this.#services;
    const { deployment, exchange: { caller } } = this.#attempt;
    const judged = judge(refused);
    this.#refused = refused;
    if (this.#mayResend(reasoning) && judged?.isOfReasoning) {
      reasoningMemory.refuse(caller.sha256, reasoning);
      this.#isResent = true;
      this.#refusal = undefined;
      return;
    }
    const earlier = this.#refusal?.message;
    this.#refusal = judged?.field;
    const isPlain = this.#taught.some(({ cause }) => cause === "suspected");
    if (isPlain && this.#refusal?.message === earlier) {
      lessonBook.keep(deployment, caller, [NO_PLAIN_TRY]);
    }
    if (!this.#mayLearn() || this.#refusal === undefined) {
      throw asRequestError(refused);
    }
    if (probe.length > 0 && this.#spend()) {
      // The part that was sent again is the cause.
      this.#teach(probe.map((one) => ({ ...one, cause: "found" })), true);
      this.#refusal = undefined;
    }
  }

  #mayResend(reasoning: readonly string[]): boolean {
    return !this.#isResent && reasoning.length > 0;
  }

  #mayLearn(): boolean {
    const { deployment: { connection }, exchange: { record } } = this.#attempt;
    return !connection.strict && (record.facts.taught ?? 0) < MAX_TAUGHT;
  }

  #spend(): boolean {
    return this.#services.budget.spend(this.#attempt.deployment.connection.id);
  }

  #teach(lessons: readonly Lesson[], isLasting: boolean): void {
    const { facts } = this.#attempt.exchange.record;
    facts.taught = (facts.taught ?? 0) + 1;
    this.#taught = merged(this.#taught, lessons);
    if (isLasting) this.#lasting = merged(this.#lasting, lessons);
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
