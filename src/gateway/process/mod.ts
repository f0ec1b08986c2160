export {
  findConfigPath,
  loadConfigFile,
  missingFileHint,
  problemLines,
  readText,
} from "./config_file.ts";
export { identifyLog, openLog } from "./log/log_files.ts";
export { loadWithTokens, probeProviders } from "./probe_providers.ts";
export {
  serveConfig,
  type ServeEnding,
  serveFile,
  type ServeOptions,
} from "./serve.ts";
export { readWrittenNames, type WrittenNames } from "./written_names.ts";
