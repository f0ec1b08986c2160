import { GatewayError } from "../core/error.ts";
import { type JsonObject, pickFields } from "../core/json.ts";
import type { Block } from "./canonical/content/block.ts";
import {
  type Bound,
  sealDigest,
  type Sealed,
} from "./canonical/content/sealed.ts";
import type { CallerCodec, Codec, Target } from "./canonical/codec.ts";
import { loseInnerSettings } from "./canonical/request/inner_settings.ts";
import { createLosses, type Losses } from "./canonical/request/loss.ts";
import {
  type CanonicalRequest,
  REQUEST_FIELDS,
  type RequestField,
} from "./canonical/request/request.ts";
import {
  bridgeTools,
  type ToolAliases,
} from "./canonical/tools/bridge_tools.ts";

/** One translation of a request. */
export interface RequestTranslation {
  /** The caller's protocol. */
  readonly from: CallerCodec;
  /** The upstream's protocol. */
  readonly to: Codec;
  readonly target: Target;
  /** Whether every loss refuses the request. */
  readonly strict: boolean;
  /** Whether the upstream is asked for a stream even if the caller wants JSON. */
  readonly streamOnly: boolean;
  /** Fields of the upstream's body to set, after everything else. */
  readonly force: Readonly<JsonObject>;
  /** Fields of the upstream's body to remove. */
  readonly omit: readonly string[];
  /** Changes the request before it is written, such as by putting sealed reasoning back. */
  readonly prepare?:
    | ((request: CanonicalRequest) => CanonicalRequest)
    | undefined;
  /** The digests of sealed reasoning that an upstream has refused; default: none. */
  readonly refused?: ReadonlySet<string> | undefined;
}

/** A request in the upstream's protocol, and what its answer needs. */
export interface TranslatedRequest {
  readonly body: JsonObject;
  /** The caller's request, for the encoder of the answer. */
  readonly request: CanonicalRequest;
  /** For `restoreTools` and `restoreAnswer`. */
  readonly aliases: ToolAliases;
  /** The strings at which the answer must be cut, since the upstream was not told of them. */
  readonly cuts: readonly string[];
  /** What was dropped, in the caller's spelling. */
  readonly dropped: ReadonlySet<string>;
  /** The digests of the sealed reasoning in the body. */
  readonly reasoning: readonly string[];
  /** What the answer's reasoning is bound to; absent where the upstream binds it to nothing. */
  readonly bound?: Bound | undefined;
  /** Why earlier reasoning was left out, in a word for the log; absent where none was. */
  readonly reasoningDropped?: "refused" | "prefix_changed" | undefined;
}

/** A request that has been read, and is to be written. */
export interface ReadRequest {
  readonly request: CanonicalRequest;
  /** What the caller calls a canonical field. */
  readonly nameOf: (field: RequestField) => string;
}

/**
 * Translates a request.
 *
 * @throws {GatewayError} `invalid_request`: the request is wrong, or something that changes the answer cannot be
 * carried.
 */
export function translateRequest(
  body: JsonObject,
  translation: RequestTranslation,
): TranslatedRequest {
  return writeRequest(readRequest(body, translation.from), translation);
}

/**
 * The first half of {@linkcode translateRequest}, for whoever has to fetch something before the second.
 *
 * @throws {GatewayError} `invalid_request` when the request is wrong.
 */
export function readRequest(body: JsonObject, from: CallerCodec): ReadRequest {
  return refusingDepth(() => ({
    request: from.decodeRequest(body),
    nameOf: (field) => nameIn(body, field, from),
  }));
}

/**
 * The second half of {@linkcode translateRequest}.
 *
 * @throws {GatewayError} `invalid_request` when something that changes the answer cannot be carried.
 */
export function writeRequest(
  { request, nameOf }: ReadRequest,
  translation: Omit<RequestTranslation, "from">,
): TranslatedRequest {
  return refusingDepth(() => {
    const { to, target, strict, streamOnly, prepare } = translation;
    const losses = createLosses({ strict, nameOf });
    const prepared = prepare === undefined ? request : prepare(request);
    const allowed = withoutRefused(prepared, translation.refused);
    loseInnerSettings(allowed, to.protocol, losses);
    const bridged = bridgeTools(allowed, to.toolSupport(target));
    const encoded = to.encodeRequest(
      { ...bridged.request, stream: request.stream || streamOnly },
      { target, reportDropped: losses.reportDropped },
    );
    const sealed = sealedIn(allowed);
    const bounds = new Map(sealed.map(({ value, bound }) => [value, bound]));
    const adjusted = adjust(encoded, translation, losses);
    const settled = to.settleReasoning?.(adjusted, {
      target,
      boundOf: (value) => bounds.get(value),
    });
    const reasoningDropped = settled?.isCut
      ? "prefix_changed"
      : allowed === prepared
      ? undefined
      : "refused";
    // The caller cannot help it, so a strict connection refuses nothing for it.
    if (reasoningDropped !== undefined) losses.note("sealedReasoning");
    return {
      body: settled?.body ?? adjusted,
      request,
      aliases: bridged.aliases,
      cuts: to.takesStops(target) ? [] : request.stop ?? [],
      dropped: losses.dropped,
      reasoning: settled?.reasoning ?? sealed.map(sealDigest),
      bound: settled?.bound,
      reasoningDropped,
    };
  });
}

/** The request without reasoning that was refused before; itself where it has none. */
function withoutRefused(
  request: CanonicalRequest,
  refused: ReadonlySet<string> = new Set(),
): CanonicalRequest {
  const isRefused = (block: Block) =>
    block.kind === "reasoning" && block.sealed !== undefined &&
    refused.has(sealDigest(block.sealed));
  if (refused.size === 0) return request;
  if (!request.turns.some(({ blocks }) => blocks.some(isRefused))) {
    return request;
  }
  const turns = request.turns.map((turn) => ({
    ...turn,
    blocks: turn.blocks.filter((block) => !isRefused(block)),
  }));
  return { ...request, turns };
}

function sealedIn({ turns }: CanonicalRequest): readonly Sealed[] {
  return turns.flatMap(({ blocks }) => blocks).flatMap((block) =>
    block.kind === "reasoning" && block.sealed !== undefined
      ? [block.sealed]
      : []
  );
}

function refusingDepth<Value>(work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    throw error instanceof RangeError ? nestedTooDeep(error) : error;
  }
}

/** The connection's own wishes; what they take away from the caller is a loss. */
function adjust(
  body: JsonObject,
  { to, force, omit }: Omit<RequestTranslation, "from">,
  losses: Losses,
): JsonObject {
  for (const name of omit) {
    if (body[name] === undefined) continue;
    losses.reportDropped({
      field: fieldNamed(name, to) ?? { extra: name },
      weight: "report",
      reason: "this model's connection leaves it out",
    });
  }
  const kept = omit.length === 0
    ? body
    : pickFields(body, (name) => !omit.includes(name));
  return { ...kept, ...force };
}

function nestedTooDeep(cause: RangeError): GatewayError {
  return new GatewayError(
    "invalid_request",
    "Cannot read the request: it is nested too deep",
    {
      cause,
    },
  );
}

/** What a protocol calls the canonical fields. */
type FieldNames = Pick<CallerCodec, "fieldNames" | "otherNames">;

/**
 * What `body` calls a canonical field: where the protocol has several names for it, the one that stands in the body.
 */
function nameIn(
  body: JsonObject,
  field: RequestField,
  names: FieldNames,
): string {
  return namesOf(field, names).find((name) => holds(body, name)) ??
    names.fieldNames[field];
}

/** The canonical field that the protocol calls `name`. */
function fieldNamed(
  name: string,
  names: FieldNames,
): RequestField | undefined {
  return REQUEST_FIELDS.find((field) => namesOf(field, names).includes(name));
}

function namesOf(
  field: RequestField,
  { fieldNames, otherNames = {} }: FieldNames,
): readonly string[] {
  return [fieldNames[field], ...otherNames[field] ?? []];
}

/** Of a path such as `output_config.format`, only the first step is looked for. */
function holds(body: JsonObject, name: string): boolean {
  const [top = name] = name.split(".");
  return (body[top] ?? null) !== null;
}
