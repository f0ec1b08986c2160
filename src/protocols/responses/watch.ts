import { isJsonObject } from "../../core/json.ts";
import type { AnswerWatch } from "../canonical/watch.ts";
import { decodeUsage } from "./usage.ts";

/** Watches Responses. */
export const responsesWatch: AnswerWatch = {
  isOutput(event) {
    return typeof event.type === "string" && OUTPUT_REGEXP.test(event.type);
  },
  usageOf(body) {
    const { response } = body;
    return decodeUsage(body.usage) ??
      (isJsonObject(response) ? decodeUsage(response.usage) : undefined);
  },
  isEnd(data) {
    return END_REGEXP.test(data);
  },
};

const OUTPUT_REGEXP = /\.delta$|^response\.output_item\.done$/;

const END_REGEXP = /"type"\s*:\s*"response\.(completed|incomplete|failed)"/;
