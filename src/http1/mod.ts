/**
 * HTTP/1.1, client and server, over a duplex of bytes. Needs no platform: `@gateway/http1/deno` has the sockets.
 */
export { createHttp1Client } from "./client/client.ts";
export type { Duplex } from "./duplex.ts";
export { type AnyResponse, DirectResponse } from "./direct_response.ts";
export { Http1Failure, MalformedMessage } from "./failure.ts";
export type {
  HttpClient,
  HttpRequest,
  HttpResponse,
  IncomingRequest,
} from "./message.ts";
export type { RequestTracing } from "./server/served_socket.ts";
export { createHttp1Server } from "./server/server.ts";
