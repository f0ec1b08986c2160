import { GatewayError } from "@gateway/base/error";
import type { JsonObject } from "@gateway/base/json";
import type { Protocol } from "@gateway/base/protocol";
import type { Weight } from "../content/extras.ts";
import type { Block } from "../content/block.ts";
import type { CanonicalRequest, RequestField } from "./request.ts";

/** A part of a request that the target cannot take: a canonical field, or the name of an extra. */
export type LostField = RequestField | { readonly extra: string };

/** `reject` rejects the request; `report` drops the field and names it in `x-gateway-dropped`. */
export type LossWeight = Exclude<Weight, "ignore">;

/** The receiver of losses. */
export interface LossReport {
  /**
   * Reports a loss.
   *
   * @param reason The second half of a sentence: "the target has no such setting".
   * @param weight Default: `report`.
   * @throws {GatewayError} `invalid_request` with the field's name, when the loss changes the answer or the
   * connection is strict.
   */
  reportDropped(field: LostField, reason: string, weight?: LossWeight): void;
}

/** Collects the losses of one translated request. */
export interface Losses extends LossReport {
  /** Records a field as dropped, even on a strict connection. */
  note(field: RequestField): void;
  /**
   * The dropped fields in the caller's spelling, each once, in the order of their reports. The caller chooses the
   * names, so their number and length are limited.
   */
  readonly dropped: ReadonlySet<string>;
}

interface LossesOptions {
  /** True to reject the request in place of dropping a field. */
  readonly strict: boolean;
  /** Returns the caller's name for a canonical field. */
  readonly nameOf: (field: RequestField) => string;
}

/** The most fields that are reported as dropped, because the list goes into a header and the log. */
const MAX_DROPPED = 64;

const MAX_NAME_LENGTH = 64;

/** Returns an empty list of losses. */
export function createLosses(options: LossesOptions): Losses {
  const dropped = new Set<string>();
  function drop(name: string): void {
    if (dropped.size < MAX_DROPPED) dropped.add(name);
  }
  return {
    dropped,
    note: (field) => drop(options.nameOf(field)),
    reportDropped(field, reason, weight) {
      const name = typeof field === "string"
        ? options.nameOf(field)
        : field.extra.slice(0, MAX_NAME_LENGTH);
      if (weight === "reject" || options.strict) throw refusal(name, reason);
      drop(name);
    },
  };
}

/** The reason for a setting that the target does not have. */
export const NO_SETTING = "this model's provider has no such setting";

/** Returns true when the safety identifier is not the same as `user`. */
export function isOwnIdentifier(
  { safetyIdentifier, user }: CanonicalRequest,
): boolean {
  return safetyIdentifier !== undefined && safetyIdentifier.value !== user;
}

/**
 * Reports a block that a message of its role cannot hold. An opaque block is reported with the weight in the block.
 *
 * @param protocol The target's protocol, as the error message names it.
 * @param weight The weight of all other blocks. Losing the model's content weighs less than losing the caller's.
 * @throws {GatewayError} As {@linkcode Losses.reportDropped} does.
 */
export function dropBlock(
  block: Block,
  protocol: "Chat Completions" | "Messages" | "Responses",
  losses: LossReport,
  weight: LossWeight = "reject",
): undefined {
  const isOpaque = block.kind === "opaque";
  const actual = isOpaque ? block.weight : weight;
  if (actual === "ignore") return;
  losses.reportDropped(
    "messages",
    `in ${protocol}, a message of this role cannot hold \`${
      isOpaque ? block.type : block.kind
    }\``,
    actual,
  );
}

/** Reports sealed reasoning that another provider issued. */
export function dropSealed(losses: LossReport): undefined {
  losses.reportDropped(
    "sealedReasoning",
    "only the provider that sealed this reasoning can read it",
  );
}

/** Returns the extras of the target's own protocol as fields of its body. */
export function ownExtras(
  { extras }: CanonicalRequest,
  protocol: Protocol,
): JsonObject {
  return Object.fromEntries(
    Object.entries(extras[protocol] ?? {})
      .map(([name, { value }]) => [name, value]),
  );
}

function refusal(param: string, reason: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `Cannot pass \`${param}\` on to this model: ${reason}. Remove it, or choose another model.`,
    { param },
  );
}

/** Returns how many tools and blocks of a request have a cache mark. */
export function countCacheMarks({ tools, turns }: CanonicalRequest): number {
  const blocks = turns.flatMap((turn) => turn.blocks);
  const inner = blocks.flatMap((block) =>
    block.kind === "tool_result" ? block.content : []
  );
  return [...tools, ...blocks, ...inner].filter((holder) =>
    "cache" in holder && holder.cache !== undefined
  ).length;
}
