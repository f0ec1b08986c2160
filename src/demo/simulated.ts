import type { Family } from "../core/protocol.ts";
import { OPERATIONS } from "../core/protocol_tables.ts";

/** The families that have a simulated provider; the gateway may know others. */
export type SimulatedFamily = Extract<Family, "A" | "B" | "C">;

/** What the simulated providers serve. */
export type SimulatedOperation = Extract<
  keyof typeof OPERATIONS,
  | "chat_completions"
  | "completions"
  | "messages"
  | "count_tokens"
  | "responses"
  | "compact"
>;

/** What they speak. */
export type SimulatedProtocol =
  (typeof OPERATIONS)[SimulatedOperation]["protocol"];

/** The protocol of an operation. */
export function protocolOf(operation: SimulatedOperation): SimulatedProtocol {
  return OPERATIONS[operation].protocol;
}
