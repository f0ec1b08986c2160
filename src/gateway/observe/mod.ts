export { createLog } from "./log.ts";
export {
  COUNTS,
  fromTime,
  type LoggedRequest,
  type LoggedUse,
  NO_TOKENS,
} from "./logged_request.ts";
export { type LogLineCounts, noLines, readLog } from "./read_log.ts";
