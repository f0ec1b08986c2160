/**
 * HTTP/1.1, client and server, over a duplex of bytes. Needs no platform: `@gateway/http1/deno` has the sockets.
 */
export { type AnyResponse, DirectResponse } from "./direct_response.ts";
export { Http1Failure, MalformedMessage } from "./failure.ts";
export type { HttpClient, HttpResponse, IncomingRequest } from "./message.ts";
export type { RequestTracing } from "./server/served_socket.ts";
