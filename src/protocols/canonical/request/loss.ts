import { GatewayError } from "../../../core/error.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { Protocol } from "../../../core/protocol.ts";
import { type HostedTool, isForce, type ToolChoice } from "../tools/tool.ts";
import type { Weight } from "../content/extras.ts";
import type { CanonicalRequest, RequestField } from "./request.ts";

/** Something of a request that the target protocol or upstream cannot carry. */
export interface Loss {
  /** What is lost: a canonical field, or an extra by its name. */
  readonly field: RequestField | { readonly extra: string };
  /** Why, as the second half of a sentence: "the target has no such setting". */
  readonly reason: string;
  /** `answer` refuses the request; `hint` drops the field and says so. */
  readonly weight: Exclude<Weight, "ignore">;
}

/** Takes the losses of one translated request. */
export interface Losses {
  /**
   * Reports a loss.
   *
   * @throws {GatewayError} `invalid_request` naming the field, when the loss changes the answer or the
   * connection is strict.
   */
  reportDropped(loss: Loss): void;
  /** Names a field as dropped, however strict the connection is. */
  note(field: RequestField): void;
  /**
   * The dropped fields in the caller's spelling, without repetition, in the order of loss. The names can be
   * any text of the caller's, so both their number and their length are bounded.
   */
  readonly dropped: ReadonlySet<string>;
}

/** How losses are named and judged. */
export interface LossesOptions {
  /** Whether every loss refuses the request. */
  readonly strict: boolean;
  /** The caller's spelling of a canonical field. */
  readonly nameOf: (field: RequestField) => string;
}

/** The most fields that are named as dropped: the list goes into a header and the log. */
const MAX_DROPPED = 64;

const MAX_NAME_LENGTH = 64;

/** An empty list of losses. */
export function createLosses(options: LossesOptions): Losses {
  const dropped = new Set<string>();
  function drop(name: string): void {
    if (dropped.size < MAX_DROPPED) dropped.add(name);
  }
  return {
    dropped,
    note: (field) => drop(options.nameOf(field)),
    reportDropped({ field, reason, weight }) {
      const name = typeof field === "string"
        ? options.nameOf(field)
        : field.extra.slice(0, MAX_NAME_LENGTH);
      if (weight === "reject" || options.strict) throw refusal(name, reason);
      drop(name);
    },
  };
}

/** Settings that few targets take: the encoders that write them say so, the others lose them. */
const RARE_SETTINGS = [
  "logprobs",
  "cacheOptions",
  "cacheRetention",
  "safetyIdentifier",
] as const satisfies readonly RequestField[];

/** Which of the settings that few targets take this one does; what is absent is lost. */
export type TakenSettings = Readonly<
  Partial<Record<typeof RARE_SETTINGS[number], boolean>>
>;

/**
 * Reports every extra that belongs to another protocol than `protocol`, by its weight, and the settings that few
 * targets take.
 *
 * @throws {GatewayError} As {@linkcode Losses.reportDropped} does.
 */
export function loseForeignExtras(
  request: CanonicalRequest,
  protocol: Protocol,
  losses: { reportDropped(loss: Loss): void },
  taken: TakenSettings = {},
): void {
  for (const field of RARE_SETTINGS) {
    if (taken[field] === true || !isGiven(field, request)) continue;
    losses.reportDropped({
      field,
      weight: field === "logprobs" ? "reject" : "report",
      reason: NO_SETTING,
    });
  }
  for (const [owner, extras] of Object.entries(request.extras)) {
    if (owner === protocol) continue;
    for (const [extra, { weight }] of Object.entries(extras)) {
      if (weight === "ignore") continue;
      losses.reportDropped({ field: { extra }, weight, reason: NO_SETTING });
    }
  }
}

const NO_SETTING = "this model's provider has no such setting";

/** An identifier that only repeats the user is carried with the user. */
function isGiven(
  field: typeof RARE_SETTINGS[number],
  request: CanonicalRequest,
): boolean {
  return field === "safetyIdentifier"
    ? isOwnIdentifier(request)
    : request[field] !== undefined;
}

/** Returns whether the identifier for safety systems names somebody else than `user`. */
export function isOwnIdentifier(
  { safetyIdentifier, user }: CanonicalRequest,
): boolean {
  return safetyIdentifier !== undefined && safetyIdentifier.value !== user;
}

/**
 * Reports that the model begins an answer of its own where the caller wants its last words continued.
 *
 * @throws {GatewayError} As {@linkcode Losses.reportDropped} does.
 */
export function loseContinuation(
  { continues }: CanonicalRequest,
  losses: { reportDropped(loss: Loss): void },
): void {
  if (continues !== true) return;
  losses.reportDropped({
    field: "messages",
    weight: "report",
    reason: "this model does not go on with an answer that it is given",
  });
}

function refusal(param: string, reason: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `Cannot pass \`${param}\` on to this model: ${reason}. Remove it, or choose another model`,
    { param },
  );
}

/** How many of a request's tools and blocks carry a cache mark. */
export function countCacheMarks({ tools, turns }: CanonicalRequest): number {
  const blocks = turns.flatMap((turn) => turn.blocks);
  const inner = blocks.flatMap((block) =>
    block.kind === "tool_result" ? block.content : []
  );
  return [...tools, ...blocks, ...inner].filter((holder) =>
    "cache" in holder && holder.cache !== undefined
  ).length;
}

/**
 * Reports the cache marks of a request to a provider that has none: it caches by itself or not at all.
 *
 * @throws {GatewayError} When the connection is strict.
 */
export function loseCacheMarks(
  request: CanonicalRequest,
  losses: { reportDropped(loss: Loss): void },
): void {
  if (request.cache === undefined && countCacheMarks(request) === 0) return;
  losses.reportDropped({
    field: "cache",
    weight: "report",
    reason: "this model's provider cannot be told what to cache",
  });
}

/** A tool that its own upstream runs, as `protocol` spells it; `undefined` in any other, which loses it. */
export function encodeHostedTool(
  tool: HostedTool,
  protocol: Protocol,
  losses: { reportDropped(loss: Loss): void },
): JsonObject | undefined {
  if (tool.protocol === protocol) return tool.value;
  losses.reportDropped({
    field: "tools",
    weight: "report",
    reason: `this model's provider cannot run the tool \`${tool.type}\``,
  });
  return undefined;
}

/**
 * Reports a choice of a tool that only the upstreams of another protocol than `protocol` run.
 *
 * @throws {GatewayError} When the connection is strict.
 */
export function loseForeignChoice(
  choice: ToolChoice | undefined,
  protocol: Protocol,
  losses: { reportDropped(loss: Loss): void },
): void {
  if (choice?.type !== "hosted" || choice.protocol === protocol) return;
  losses.reportDropped({
    field: "toolChoice",
    weight: "report",
    reason: "it demands a tool that this model's provider cannot run",
  });
}

/**
 * Reports a force to call a tool of which the target is offered none.
 *
 * @throws {GatewayError} When the connection is strict.
 */
export function loseForceOnNothing(
  choice: ToolChoice | undefined,
  losses: { reportDropped(loss: Loss): void },
): void {
  if (!isForce(choice)) return;
  losses.reportDropped({
    field: "toolChoice",
    weight: "report",
    reason: "this model is offered no tool that it could call",
  });
}
