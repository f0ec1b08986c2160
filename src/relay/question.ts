import { GatewayError } from "../core/error.ts";
import {
  type ByteSpan,
  scanJsonObjectInTurns,
} from "../core/json_scan/scan.ts";
import { JsonScanError } from "../core/json_scan/scan_error.ts";

/** What a body asks for, found without parsing it. */
export interface Question {
  readonly model: string;
  /** Where the value of `model` stands in the body, quotes included. */
  readonly modelSpan: ByteSpan;
  readonly stream: boolean;
}

/**
 * Finds `model` and `stream` in a body in one pass over its bytes (design section 2). A body that could mean
 * different things to the gateway and to an upstream is refused: two values of either, or anything that is
 * not exactly one JSON object.
 *
 * @param pause Lets others have their turn while a long body is read; what it throws ends that.
 * @throws {GatewayError} `invalid_request`, with `param` where a field is at fault.
 */
export async function readQuestion(
  body: Uint8Array,
  pause: () => Promise<void>,
): Promise<Question> {
  const spans = await scan(body, pause);
  const modelSpan = spans.get("model");
  if (modelSpan === undefined) throw wrongModel("it is missing");
  const model = valueAt(body, modelSpan);
  if (typeof model !== "string" || model === "") {
    throw wrongModel("it is not a non-empty string");
  }
  const streamSpan = spans.get("stream");
  const stream = streamSpan === undefined ? null : valueAt(body, streamSpan);
  if (typeof stream !== "boolean" && stream !== null) throw wrongStream();
  return { model, modelSpan, stream: stream === true };
}

const WATCHED_KEYS = ["model", "stream"] as const;

async function scan(
  body: Uint8Array,
  pause: () => Promise<void>,
): Promise<ReadonlyMap<string, ByteSpan>> {
  try {
    return await scanJsonObjectInTurns(body, WATCHED_KEYS, { pause });
  } catch (error) {
    if (!(error instanceof JsonScanError)) throw error;
    throw new GatewayError("invalid_request", error.message, {
      ...(error.key === undefined ? {} : { param: error.key }),
      cause: error,
    });
  }
}

/** No model's name and no boolean is as long as this. */
const MAX_VALUE_BYTES = 4096;

const decoder = new TextDecoder();

function valueAt(body: Uint8Array, { start, end }: ByteSpan): unknown {
  if (end - start > MAX_VALUE_BYTES) return undefined;
  return JSON.parse(decoder.decode(body.subarray(start, end)));
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
