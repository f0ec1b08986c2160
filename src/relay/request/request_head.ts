import { GatewayError } from "../../core/error.ts";
import type { ByteSpan } from "../../json_scan/byte_span.ts";
import { type FoundValue, JsonObjectScan } from "../../json_scan/scan.ts";
import { JsonScanError } from "../../json_scan/scan_error.ts";
import {
  createNamedModels,
  type NamedModel,
  type NamedModels,
  NAMING_FIELDS,
} from "./named_models.ts";

/** What a body asks for, found without parsing it. */
export interface RequestHead {
  readonly model: string;
  /** Where the value of `model` stands in the body, quotes included. */
  readonly modelSpan: ByteSpan;
  readonly stream: boolean;
  /** What it names in fields by which an upstream could choose another model. */
  readonly namedModels: readonly NamedModel[];
  /** How much the body is made of. */
  readonly shape: BodyShape;
}

/** What tells how much work and memory a body takes that is parsed. */
export interface BodyShape {
  /** How many objects, arrays and members it holds. */
  readonly values: number;
  /** How many levels of objects and arrays it has. */
  readonly depth: number;
}

/** Finds out what a body asks for while it is read. */
export interface RequestHeadReader {
  /** Sees the next piece and keeps nothing of it; never throws for what it holds. */
  push(piece: Uint8Array): void;
  /**
   * Told that the body is whole.
   *
   * @throws {GatewayError} `invalid_request`, with `param` where a field is at fault.
   */
  end(): RequestHead;
}

/**
 * Finds `model`, `stream` and the names of other models in a body in one pass over its bytes (docs/design.md#native-and-translated). A body that could mean
 * different things to the gateway and to an upstream is refused: two values of a field that matters, or anything that is
 * not exactly one JSON object. That is told when the body is whole: many clients read no answer before.
 */
export function createRequestHeadReader(): RequestHeadReader {
  const named = createNamedModels();
  const scan = new JsonObjectScan(WATCHED_KEYS, named.sinkOf);
  let fault: unknown;
  return {
    push(piece) {
      if (fault !== undefined) return;
      try {
        scan.push(piece);
      } catch (thrown) {
        fault = thrown;
      }
    },
    end() {
      if (fault !== undefined) throw refusal(fault);
      try {
        return questionOf(scan.end(), { named, shape: scan });
      } catch (thrown) {
        throw refusal(thrown);
      }
    },
  };
}

const WATCHED_KEYS = ["model", "stream", ...NAMING_FIELDS];

function refusal(thrown: unknown): unknown {
  if (!(thrown instanceof JsonScanError)) return thrown;
  return new GatewayError("invalid_request", thrown.message, {
    ...(thrown.key === undefined ? {} : { param: thrown.key }),
    cause: thrown,
  });
}

function questionOf(
  found: ReadonlyMap<string, FoundValue>,
  { named, shape: { values, depth } }: {
    readonly named: NamedModels;
    readonly shape: BodyShape;
  },
): RequestHead {
  const modelValue = found.get("model");
  if (modelValue === undefined) throw wrongModel("it is missing");
  const model = valueOf(modelValue);
  if (typeof model !== "string" || model === "") {
    throw wrongModel("it is not a non-empty string");
  }
  const streamValue = found.get("stream");
  const stream = streamValue === undefined ? null : valueOf(streamValue);
  if (typeof stream !== "boolean" && stream !== null) throw wrongStream();
  return {
    model,
    modelSpan: modelValue.span,
    stream: stream === true,
    namedModels: named.end(),
    shape: { values, depth },
  };
}

const decoder = new TextDecoder();

/** No model's name and no truth value is so long that it is not kept. */
function valueOf({ bytes }: FoundValue): unknown {
  return bytes === undefined ? undefined : JSON.parse(decoder.decode(bytes));
}

function wrongModel(what: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `Cannot tell which model is asked for: the field \`model\` is wrong, ${what}`,
    { param: "model" },
  );
}

function wrongStream(): GatewayError {
  return new GatewayError(
    "invalid_request",
    "Cannot tell whether to stream: the field `stream` is wrong, send true or false",
    { param: "stream" },
  );
}
