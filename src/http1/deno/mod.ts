/** The sockets of Deno: TCP, TLS, proxies, and the race of a host's addresses. */
export { countFree } from "./descriptors.ts";
export { type LastingListener, ListenError, serve, tryTls } from "./listen.ts";
export { openNetworkClient } from "./network_client.ts";
