export type {
  Caller,
  Config,
  Connection,
  ConnectionModel,
  Deployment,
} from "./config.ts";
export { describeAdmin, describeConfig } from "./describe.ts";
export { readFault } from "./environment.ts";
export { createLiveConfig } from "./live_config.ts";
export { loadConfig, type LoadResult, readYaml } from "./load.ts";
export { configJsonSchema, includedJsonSchema } from "./schema/json_schema.ts";
export { validate } from "./schema/problems.ts";
export { tokenSchema } from "./schema/token.ts";
export { limitsOn, type Prices } from "./usage_limits.ts";
