export { type DearTurns, dearTurnsText } from "./dear_turns.js";
export {
  type FailureMeaning,
  failureMeaning,
  STATUS_MEANINGS,
} from "./failures.js";
export {
  amountOf,
  costMark,
  type Day,
  historyOf,
  historyText,
  type HolderHistory,
  unitOf,
} from "./history.js";
export { type Level, LEVEL_TEXTS, levelOf } from "./level.js";
export type { Model } from "./models.js";
export { type OwnLimits, ownLimits } from "./own_limits.js";
export { withOwnUse } from "./own_use.js";
export { type Probe, PROBES, PROMPT, TOOL, TOOL_PROMPT } from "./probes.js";
export { PROTOCOL_NAMES } from "./protocols.js";
export { serviceText } from "./services.js";
export { CLIENTS, modelsFor } from "./settings.js";
export {
  type Client,
  protocolFor,
  PROVIDER_ID,
  type Snippet,
  TOKEN_PLACEHOLDER,
  TOKEN_VARIABLE,
  tokenByCommand,
} from "./settings_text.js";
export {
  checkedText,
  failingText,
  localTime,
  resetText,
  waitingText,
} from "./times.js";
export {
  amountText,
  leftPercent,
  leftText,
  nameParts,
  usedText,
} from "./words.js";
