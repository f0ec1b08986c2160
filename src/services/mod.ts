export {
  AUTH_SCHEMES,
  type AuthScheme,
  fillVariables,
  type Variable,
  VARIABLES,
  variablesOf,
} from "./preset.ts";
export { QUOTA_KINDS, type QuotaKind } from "./quota_kinds.ts";
export {
  SERVICE_NAMES,
  type ServiceName,
  SERVICES,
  SERVICES_BY_KIND,
} from "./services.ts";
export { starterFile } from "./starter.ts";
