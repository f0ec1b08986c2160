import type { RequestContext } from "../codec.ts";
import type { ReasoningBlock } from "../content/block.ts";
import { createStrictRoom } from "../schema/enforceable_schema.ts";
import { fitFormat, type SchemaScope } from "../schema/fit_schemas.ts";
import { type FittedTools, fitTools } from "../tools/fit_tools.ts";
import type { Ability } from "./ability.ts";
import { fitOutputLimit, fitStops, highestOutput } from "./fit_limits.ts";
import { fitReasoning, type FittedReasoning } from "./fit_reasoning.ts";
import { fitSettings } from "./fit_settings.ts";
import {
  lacksLoopReasoning,
  openForeignBlocks,
  settleHistory,
} from "./history.ts";
import { reportRest } from "./fit_rest.ts";
import type { CanonicalRequest, OutputFormat } from "./request.ts";

/** A request with only the parts that its target takes. The encoder of the target's protocol writes the request. */
export interface FittedRequest {
  /** The request with fitted settings, limits and turns. Its tools, format and reasoning are still the caller's. */
  readonly request: CanonicalRequest;
  readonly reasoning: FittedReasoning;
  readonly tooling: FittedTools;
  readonly format?: OutputFormat | undefined;
  /** The instruction that replaces a format. */
  readonly instruction?: string | undefined;
  /** The scope in which the encoder fits the schema of each tool. */
  readonly schemas: SchemaScope;
}

/**
 * Fits a request to its target: tools, reasoning, settings, limits, marks, turns, format. The closest setting
 * that the target takes replaces each setting that it does not take. Each such loss is reported.
 *
 * @param takesReasoning Returns true for earlier reasoning that the target takes; absent: it takes all reasoning.
 * @throws {GatewayError} `invalid_request`, as {@linkcode LossReport.reportDropped} does.
 */
export function fit(
  given: CanonicalRequest,
  ability: Ability,
  context: RequestContext,
  takesReasoning: (block: ReasoningBlock) => boolean = () => true,
): FittedRequest {
  const { limits } = ability;
  const turns = openForeignBlocks(
    settleHistory(given.turns),
    ability.protocol,
  );
  const configured = context.target.maxOutputTokens;
  const tooling = fitTools(given, ability, context);
  const hasTools = tooling.tools.length > 0;
  const requested = fitOutputLimit(
    ability.settings.maxOutputTokens ? given.maxOutputTokens : undefined,
    limits,
    configured,
    context,
  );
  const reasoning = fitReasoning(
    {
      settings: given.reasoning,
      isForced: tooling.isForced,
      hasTools,
      lacksReasoning: lacksLoopReasoning(turns, takesReasoning),
      limits: limits.usualOutputTokens === undefined || requested === undefined
        ? undefined
        : { requested, highest: highestOutput(limits, configured) },
    },
    ability.reasoning,
    context,
  );
  const settled = fitSettings(given, ability, reasoning.isOn, context);
  const request: CanonicalRequest = {
    ...settled,
    maxOutputTokens: settled.maxOutputTokens === undefined &&
        limits.usualOutputTokens === undefined
      ? undefined
      : reasoning.maxOutputTokens ?? requested,
    stop: fitStops(given.stop, limits, context),
    turns,
  };
  reportRest(given, ability, context);
  const schemas: SchemaScope = {
    ability: ability.schemas,
    room: createStrictRoom(),
    losses: context,
  };
  // The format takes room for strict schemas before the tools do, because the caller parses the answer.
  const format = fitFormat(given.format, hasTools, schemas);
  return { request, reasoning, tooling, ...format, schemas };
}
