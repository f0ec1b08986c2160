import { wordSet } from "@gateway/base/collections";
import {
  isJsonObject,
  type JsonObject,
  nonEmptyText,
} from "@gateway/base/json";
import { isErrorBody, mayBeFailure } from "../canonical/failure/error_body.ts";
import { droppedIn } from "../canonical/answer/reasoning.ts";
import type { AnswerWatch } from "../canonical/codec.ts";
import { laterUsage } from "../canonical/answer/answer.ts";
import { usageIn } from "./answer/usage.ts";

export const responsesWatch: AnswerWatch = {
  usageMark: 'usage"',
  mayCount: (text) => USAGE_REGEXP.test(text),
  mayBeFailure,
  isOutput(event) {
    return typeof event.type === "string" && OUTPUT_REGEXP.test(event.type);
  },
  writtenKeys: wordSet("arguments delta refusal text"),
  failureOf(body) {
    const answer = isJsonObject(body.response) ? body.response : body;
    const isFailed = answer.status === "failed" ||
      body.type === "response.failed" || isErrorBody(answer);
    return isFailed ? failureOf(answer) : undefined;
  },
  modelOf({ model, response }) {
    return nonEmptyText(isJsonObject(response) ? response.model : model);
  },
  usageOf(body, before) {
    const { response } = body;
    const counted = usageIn(body) ??
      (isJsonObject(response) ? usageIn(response) : undefined);
    return counted && laterUsage(before, counted);
  },
  droppedOf: (body) => droppedIn(body, body.response),
  isEnd(data) {
    return END_REGEXP.test(data);
  },
  isFailure(data) {
    return FAILURE_REGEXP.test(data);
  },
};

/** Matches a usage that is an object. Some streams have a `null` usage on every chunk. */
const USAGE_REGEXP = /"usage"\s*:\s*\{/;

/** Returns a failed answer. If the answer gives no reason, returns it with a `null` error. */
function failureOf(answer: JsonObject): JsonObject {
  return answer.error === undefined && !isErrorBody(answer)
    ? { error: null }
    : answer;
}

const OUTPUT_REGEXP = /\.delta$|^response\.output_item\.done$/;

const END_REGEXP =
  /"type"\s*:\s*"response\.(completed|done|incomplete|failed)"/;

const FAILURE_REGEXP = /"type"\s*:\s*"error"/;
