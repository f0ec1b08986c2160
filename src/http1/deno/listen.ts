import type { ServerConfig } from "../../gateway/config/config.ts";
import { formatProblem, type Problem } from "@gateway/base/problems";
import { backoffMs } from "@gateway/base/time/backoff";
import { createDeadlines } from "@gateway/base/time/deadlines";
import { systemTimers, type Timers } from "@gateway/base/time/timers";
import type { Respond } from "../../gateway/http/gateway.ts";
import type { RequestTracing } from "../server/served_socket.ts";
import { createHttp1Server } from "../server/server.ts";
import type { Log } from "../../gateway/observe/log.ts";
import { eventLoopCrowd } from "../crowd.ts";
import { reasonOf } from "@gateway/base/write_whole";
import { acceptAll } from "./accept_all.ts";
import { listenTls } from "./tls_listener.ts";
import { endSentence } from "@gateway/base/text";

/** A listener that accepts requests. */
export interface Listener {
  /** Its address, such as `http://127.0.0.1:8787`. */
  readonly url: string;
  /** Stops accepting, and waits until all running requests have ended. */
  close(): Promise<void>;
}

/** A listener at a port. */
interface OpenListener extends Listener {
  readonly port: number;
}

/** The error of a listener that cannot listen; its message gives the reason and an instruction. */
export class ListenError extends Error {
  override readonly name = "ListenError";
}

/** The address of a listener, and the settings that its errors name. */
interface ListenPlace extends Pick<ServerConfig, "host" | "port"> {
  readonly tls?: ServerConfig["tls"];
  /** True when other threads of this program listen on the same port. */
  readonly isShared?: boolean;
  /** The names of the settings for the host and the port. */
  readonly settings?: { readonly host: string; readonly port: string };
}

const COMMAND_LINE = { host: "--host", port: "--port" };

interface ListenOptions {
  /** The timers of its deadlines; default: this machine's. */
  readonly timers?: Timers;
  /** Receives when the platform accepts no connection, and when it does again; default: nothing does. */
  readonly log?: Log | undefined;
  /** Absent when traces are disabled. */
  readonly tracing?: RequestTracing | undefined;
}

/** A connection that was idle for less is spared when descriptors are short, in milliseconds: its caller may go on. */
const SPARED_MS = 1_000;

/**
 * Listens as the configuration says.
 *
 * @throws {ListenError} When the address is taken, not this machine's, or not allowed. Also when the TLS files hold no
 * usable certificate and key.
 */
export function listen(
  place: ListenPlace,
  respond: Respond,
  { timers = systemTimers, tracing, log }: ListenOptions = {},
): OpenListener {
  const { host, port, tls, isShared = false, settings = COMMAND_LINE } = place;
  try {
    const address = { hostname: host, port, reusePort: isShared };
    const scheme = tls === undefined ? "http" : "https";
    const server = createHttp1Server({
      handler: respond,
      scheme,
      deadlines: createDeadlines(timers),
      crowd: eventLoopCrowd,
      tracing,
    });
    const terms = {
      onSocket: server.serve,
      onShortage: () => server.closeIdle(SPARED_MS),
      timers,
      log,
    };
    const listener = tls === undefined
      ? acceptAll(Deno.listen(address), terms)
      : listenTls({ ...address, ...tls }, terms);
    return {
      url: `${scheme}://${urlHost(host)}:${listener.addr.port}`,
      port: listener.addr.port,
      async close() {
        await Promise.all([listener.close(), server.close()]);
      },
    };
  } catch (error) {
    throw listenError(error, { host, port, tls, settings });
  }
}

function listenError(
  cause: unknown,
  { host, port, tls, settings = COMMAND_LINE }: ListenPlace,
): ListenError {
  const reason = addressFault(cause, settings) ??
    (tls === undefined ? reasonOf(cause) : formatProblem(tlsFault(cause)));
  return new ListenError(
    `Cannot listen on ${host}:${port}: ${endSentence(reason)}`,
    { cause },
  );
}

/**
 * Checks that a port which threads will share is free. A second program on a shared port would cause no error.
 *
 * @throws {ListenError} As {@linkcode listen} does.
 */
export function requireFree(
  { host, port, settings = COMMAND_LINE }: ListenPlace,
): void {
  try {
    Deno.listen({ hostname: host, port }).close();
  } catch (error) {
    throw listenError(error, { host, port, settings });
  }
}

/** Returns the port in the address of a listener; an address with its scheme's port names none. */
export function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}

/** Returns a host as a URL has it: an address of IPv6 in brackets. */
export function urlHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

function addressFault(
  error: unknown,
  { host, port }: NonNullable<ListenPlace["settings"]>,
): string | undefined {
  if (error instanceof Deno.errors.AddrInUse) {
    return `another program listens there. Stop it, or choose another port with ${port}`;
  }
  if (error instanceof Deno.errors.AddrNotAvailable) {
    return `this machine does not have the address. Choose another one with ${host}`;
  }
  if (error instanceof Deno.errors.PermissionDenied) {
    return `the system does not allow it. Choose a port above 1023 with ${port}`;
  }
  return undefined;
}

/** A listener that lasts until it is closed. */
export interface LastingListener extends Listener {
  /**
   * Opens a new listener, for example with another certificate. Running requests continue. New connections are accepted
   * without a pause where the platform lets two listeners share a port, else after a short one.
   */
  renew(): void;
}

interface KeepListeningOptions {
  /** Opens a listener; `port` is absent the first time, and then the port of the first listener. */
  readonly open: (port?: number) => OpenListener;
  readonly log: Log;
  readonly timers: Timers;
}

/** The pauses before a listener is opened again. */
const RETRY_PAUSES = { firstMs: 100, mostMs: 2_000 };

/**
 * Listens, and opens another listener at the same port when asked to.
 *
 * @throws {ListenError} As `open` does, the first time.
 */
export function keepListening(
  { open, log, timers }: KeepListeningOptions,
): LastingListener {
  let serving: OpenListener | undefined = open();
  const { url, port } = serving;
  let isClosed = false;
  let failures = 0;
  let stopTimer = () => {};

  const retired = new Set<Promise<void>>();

  /** Stops a listener from accepting; its running requests may end. */
  function retire(listener: OpenListener): void {
    const closed = listener.close().finally(() => retired.delete(closed));
    retired.add(closed);
  }

  function renew(): void {
    const old = serving;
    // Without a listener, the next attempt opens one with the new settings.
    if (old === undefined || isClosed) return;
    try {
      serving = open(port);
    } catch (error) {
      if (!(error instanceof ListenError)) throw error;
      if (!(error.cause instanceof Deno.errors.AddrInUse)) {
        return log.write("listener_kept", { reason: error.message });
      }
      serving = undefined;
      retire(old);
      return retry();
    }
    retire(old);
    log.write("listener_renewed", {});
  }

  function retry(): void {
    failures += 1;
    stopTimer = timers.schedule(backoffMs(failures, RETRY_PAUSES), reopen);
  }

  function reopen(): void {
    try {
      serving = open(port);
    } catch (error) {
      if (!(error instanceof ListenError)) throw error;
      return retry();
    }
    failures = 0;
    log.write("listening_again", {});
  }

  return {
    url,
    async close() {
      isClosed = true;
      stopTimer();
      await Promise.all([serving?.close(), ...retired]);
    },
    renew,
  };
}

/** The platform's errors for a certificate and key, and their problems; the first match wins. */
const FAULTS: readonly (readonly [pattern: RegExp, fault: Problem])[] = [
  [/mismatch/i, {
    path: "server.tls.key",
    message: "is not the key of the certificate.",
  }],
  [/key/i, {
    path: "server.tls.key",
    message:
      "holds no usable private key. It must be RSA, ECDSA or Ed25519, in PEM, without a password.",
  }],
  [/cert/i, {
    path: "server.tls.cert",
    message: "holds no readable certificate. It must be X.509 in PEM.",
  }],
];

const UNKNOWN: Problem = {
  path: "server.tls",
  message: "is not a usable pair of certificate and key.",
};

/** Returns the problem of a certificate and key that the platform rejects, without the platform's message. */
export function tlsFault(error: unknown): Problem {
  const message = error instanceof Error ? error.message : "";
  return FAULTS.find(([pattern]) => pattern.test(message))?.[1] ?? UNKNOWN;
}

/**
 * Tests a certificate and key with a listener on a free local port, which it closes at once.
 *
 * @returns The problem, if any.
 */
export function tryTls(tls: ServerConfig["tls"]): Problem | undefined {
  if (tls === undefined) return undefined;
  try {
    Deno.listenTls({ hostname: "127.0.0.1", port: 0, ...tls }).close();
    return undefined;
  } catch (error) {
    return tlsFault(error);
  }
}
