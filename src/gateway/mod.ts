export { createGateway } from "./app.ts";
export { nativeProtocols, servedProtocols } from "./relay/routing/candidate.ts";
export { configLine, strictest } from "./relay/translated/lesson_book.ts";
export type { Fetch } from "./upstream/call.ts";
export { secretsOf } from "./upstream/secrets.ts";
