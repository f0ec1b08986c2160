export { createGateway } from "./app.ts";
export { nativeProtocols, servedProtocols } from "./relay/routing/candidate.ts";
export type { Fetch } from "./upstream/call.ts";
export { secretsOf } from "./upstream/secrets.ts";
