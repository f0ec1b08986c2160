export { createLog } from "./log.ts";
export {
  fromTime,
  type LoggedRequest,
  type LoggedUse,
} from "./logged_request.ts";
export { type LogLineCounts, noLines, readLog } from "./read_log.ts";
