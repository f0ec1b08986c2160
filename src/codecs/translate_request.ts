import { GatewayError } from "@gateway/base/error";
import type { JsonObject } from "@gateway/base/json";
import type { Block } from "./canonical/content/block.ts";
import { sealDigest, type Sealed } from "./canonical/content/sealed.ts";
import { watchableStops } from "./canonical/answer/stop_strings.ts";
import type {
  CallerCodec,
  Codec,
  Target,
  ToolSupport,
} from "./canonical/codec.ts";
import { invalidField } from "./canonical/request/invalid_request.ts";
import {
  createLosses,
  type Losses,
  type LostField,
} from "./canonical/request/loss.ts";
import {
  type CanonicalRequest,
  REQUEST_FIELDS,
  type RequestField,
} from "./canonical/request/request.ts";
import { bridgeTools, tooManyTools } from "./canonical/tools/bridge_tools.ts";
import {
  omitField,
  teachBody,
  teachContent,
} from "./dialects/apply_lessons.ts";
import { type Lesson, lessonText, PREFILL } from "./dialects/lessons.ts";
import { writesTags } from "./dialects/thinking_models.ts";
import type { AnswerEdits } from "./canonical/tools/restore_tools.ts";

interface RequestTranslation {
  /** The upstream's protocol. */
  readonly to: Codec;
  readonly target: Target;
  /** True to reject the request instead of dropping a field. */
  readonly strict: boolean;
  /** True when the upstream must stream even if the caller wants JSON. */
  readonly streamOnly: boolean;
  /** Fields to set in the upstream's body after all other fields. */
  readonly force: Readonly<JsonObject>;
  /** Fields to remove from the upstream's body. For example, `messages[].name` removes the name of each message. */
  readonly omit: readonly string[];
  /** What earlier refusals have taught about the target; default: nothing. A strict request gets no lessons. */
  readonly lessons?: readonly Lesson[] | undefined;
  /** Changes the request before it is encoded, for example to restore sealed reasoning. */
  readonly prepare?:
    | ((request: CanonicalRequest) => CanonicalRequest)
    | undefined;
  /** The digests of sealed reasoning that an upstream has rejected; default: none. */
  readonly refused?: ReadonlySet<string> | undefined;
}

/** A request in the upstream's protocol, with the data that is needed to decode the answer. */
interface TranslatedRequest extends AnswerEdits {
  readonly body: JsonObject;
  /** The caller's request, for the encoder of the answer. */
  readonly request: CanonicalRequest;
  readonly dropped: ReadonlySet<string>;
  /** The lessons that changed the request. */
  readonly lessons: readonly Lesson[];
  /** The digests of the sealed reasoning in the body. */
  readonly reasoning: readonly string[];
  /** A word for the log that says why earlier reasoning was dropped; absent when no reasoning was dropped. */
  readonly reasoningDropped?: "refused" | "prefix_changed" | undefined;
}

/** A decoded request that is not encoded yet. */
export interface ReadRequest {
  readonly request: CanonicalRequest;
  /** Returns the caller's name for a canonical field. */
  readonly nameOf: (field: RequestField) => string;
}

/** Decodes a request. This is the first half of a translation. Throws `invalid_request` for an invalid request. */
export function readRequest(body: JsonObject, from: CallerCodec): ReadRequest {
  return withDepthCheck(() => ({
    request: from.decodeRequest(body),
    nameOf: (field) => nameIn(body, field, from),
  }));
}

/**
 * Encodes a decoded request. This is the second half of a translation. Throws `invalid_request` if the target cannot
 * take a field that changes the answer.
 */
export function writeRequest(
  { request, nameOf }: ReadRequest,
  translation: RequestTranslation,
): TranslatedRequest {
  return withDepthCheck(() => {
    const { to, target, strict, streamOnly, prepare, lessons = [] } =
      translation;
    const losses = createLosses({ strict, nameOf });
    const prepared = prepare === undefined ? request : prepare(request);
    const allowed = withoutRefused(prepared, translation.refused);
    const content = teachContent(allowed, lessons);
    const renames = lessons.filter(({ move }) => move === "rename");
    const support = renames.reduce<ToolSupport>((all, { words }) => ({
      ...all,
      maxNameLength: Math.min(all.maxNameLength, Number(words[0])),
      hasPlainNames: true,
    }), to.toolSupport(target));
    const bridged = bridgeTools(
      content.value,
      support,
      // Wrapped arguments lose nothing, so even a strict connection accepts them.
      losses.note,
    );
    const streamed = request.stream || streamOnly
      ? []
      : lessons.filter(({ move }) => move === "stream");
    const stream = request.stream || streamOnly || streamed.length > 0;
    const refusal = tooManyTools(
      bridged.request.tools.filter((tool) =>
        tool.kind !== "hosted" || tool.protocol === to.protocol
      ).length,
      support,
      target,
    );
    if (refusal !== undefined) throw refusal;
    const encoded = to.encodeRequest(
      { ...bridged.request, stream },
      { target, reportDropped: losses.reportDropped },
    );
    const isReadable = (block: Block) =>
      block.kind === "opaque"
        ? block.protocol === to.protocol ||
          (block.text ?? block.content) !== undefined
        : block.kind !== "reasoning";
    if (!bridged.request.turns.some(({ blocks }) => blocks.some(isReadable))) {
      throw invalidField(
        nameOf("messages"),
        "has no content that this model can read",
      );
    }
    const fields = teachBody(encoded, lessons);
    const taught = [
      ...content.lessons,
      ...(bridged.aliases.size > 0 ? renames : []),
      ...fields.lessons,
      ...streamed,
    ];
    const isOurLimit = request.maxOutputTokens === undefined;
    for (const lesson of taught) {
      if (lesson.move !== "clamp" || !isOurLimit) {
        reportTaught(lesson, to, losses);
      }
    }
    const sealed = sealedIn(allowed);
    const bounds = new Map(sealed.map(({ value, bound }) => [value, bound]));
    const adjusted = adjust(fields.value, translation, losses);
    const settled = to.settleReasoning?.(adjusted, {
      target,
      boundOf: (value) => bounds.get(value),
    });
    const reasoningDropped = settled?.isCut
      ? "prefix_changed"
      : allowed === prepared
      ? undefined
      : "refused";
    // The caller did not cause the loss of reasoning, so even a strict connection does not reject the request.
    if (reasoningDropped !== undefined) losses.note("sealedReasoning");
    return {
      body: settled?.body ?? adjusted,
      request,
      aliases: bridged.aliases,
      cuts: watchableStops(
        request.stop?.slice(
          holdsStops(adjusted) ? to.ability(target).limits.mostStops : 0,
        ) ??
          [],
        nameOf("stop"),
      ),
      isTagged: writesTags(target.model),
      dropped: losses.dropped,
      lessons: taught,
      reasoning: settled?.reasoning ?? sealed.map(sealDigest),
      bound: settled?.bound,
      reasoningDropped,
    };
  });
}

/**
 * Returns the request without the reasoning that an upstream has rejected. If there is no such reasoning, returns the
 * same object.
 */
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

function withDepthCheck<Value>(work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    throw error instanceof RangeError ? nestedTooDeep(error) : error;
  }
}

/** Applies the connection's `omit` and `force`, and reports each omitted field as dropped. */
function adjust(
  body: JsonObject,
  { to, force, omit }: RequestTranslation,
  losses: Losses,
): JsonObject {
  let kept = body;
  for (const name of omit) {
    const before = kept;
    kept = omitField(before, name);
    if (kept === before) continue;
    losses.reportDropped(
      fieldOf(name, to),
      "the configuration of this model's connection omits it",
    );
  }
  return { ...kept, ...force };
}

/**
 * Reports the loss that a lesson causes. Nothing is lost by another spelling, another name, or a stream that the
 * gateway gathers.
 */
function reportTaught(lesson: Lesson, to: Codec, losses: Losses): void {
  const { move, field } = lesson;
  if (["respell", "rename", "stream"].includes(move)) return;
  losses.reportDropped(
    move === "mention" || field === PREFILL ? "messages" : fieldOf(field, to),
    `this model's provider refused it before (${lessonText(lesson)})`,
  );
}

/** Returns true when the body still has stop strings. If it has none, the gateway cuts the answer at them. */
function holdsStops({ stop, stop_sequences }: JsonObject): boolean {
  return stop !== undefined || stop_sequences !== undefined;
}

/**
 * Returns the canonical field for a name or path in the protocol `to`. If there is no such field, returns the name as
 * an extra.
 */
function fieldOf(name: string, to: FieldNames): LostField {
  const [top = name] = name.split(".");
  return fieldNamed(name, to) ?? fieldNamed(top, to) ?? { extra: name };
}

function nestedTooDeep(cause: RangeError): GatewayError {
  return new GatewayError(
    "invalid_request",
    "Cannot read the request: it is nested too deeply. Send it with fewer levels.",
    { cause },
  );
}

/** A protocol's names for the canonical fields. */
type FieldNames = Pick<CallerCodec, "fieldNames" | "otherNames">;

/**
 * Returns the name of a canonical field in `body`. Some fields have several names, and the first name that `body` has
 * is returned.
 */
function nameIn(
  body: JsonObject,
  field: RequestField,
  names: FieldNames,
): string {
  return namesOf(field, names).find((name) => holds(body, name)) ??
    names.fieldNames[field];
}

/** Returns the canonical field that has this name in a protocol. */
function fieldNamed(name: string, names: FieldNames): RequestField | undefined {
  return REQUEST_FIELDS.find((field) => namesOf(field, names).includes(name));
}

function namesOf(
  field: RequestField,
  { fieldNames, otherNames = {} }: FieldNames,
): readonly string[] {
  return [fieldNames[field], ...otherNames[field] ?? []];
}

/**
 * Returns true when the body has the field `name`. If `name` is a path such as `output_config.format`, only the first
 * step of the path counts.
 */
function holds(body: JsonObject, name: string): boolean {
  const [top = name] = name.split(".");
  return (body[top] ?? null) !== null;
}
