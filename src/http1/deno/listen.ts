import { urlHost } from "@gateway/base/safe_url";
import type { RequestTracing, ServerParts } from "../server/served_socket.ts";
import { createHttp1Server } from "../server/server.ts";
import { eventLoopCrowd } from "../crowd.ts";
import { acceptAll, type ListenerLog } from "./accept_all.ts";
import { listenTls } from "./tls_listener.ts";
import { backoffMs } from "@gateway/base/time/backoff";
import { createDeadlines } from "@gateway/base/time/deadlines";
import { systemTimers, type Timers } from "@gateway/base/time/timers";

/** A listener that accepts requests. */
interface Listener {
  /** The address of the listener, such as `http://127.0.0.1:8787`. */
  readonly url: string;
  /** Stops accepting, and waits until all running requests have ended. */
  close(): Promise<void>;
}

/** A listener at a port. */
interface OpenListener extends Listener {
  readonly port: number;
}

/** The error when a listener cannot listen. Its message gives the reason and a remedy. */
export class ListenError extends Error {
  override readonly name = "ListenError";
}

/** The address of a listener, and the settings that its errors name. */
interface ListenPlace {
  readonly host: string;
  readonly port: number;
  readonly tls?: Tls | undefined;
  /** True when other threads of this program listen on the same port. */
  readonly isShared?: boolean;
  /** The names of the settings, for the errors. */
  readonly settings?: ListenSettings;
}

/** A certificate chain and its key, in PEM. */
interface Tls {
  readonly cert: string;
  readonly key: string;
}

/** The names of the settings for the host, the port, and the certificate and key. */
interface ListenSettings {
  readonly host: string;
  readonly port: string;
  readonly tls?: string;
}

const SETTINGS = { host: "host", port: "port" };

interface ListenOptions {
  /** The timers of the listener's deadlines; default: this machine's. */
  readonly timers?: Timers;
  /** Receives an event when the platform stops accepting connections, and when it accepts again. Default: no log. */
  readonly log?: ListenerLog | undefined;
  /** Absent when traces are disabled. */
  readonly tracing?: RequestTracing | undefined;
}

/** When descriptors are short, a connection is closed if it has been idle for this long, in milliseconds. */
const SPARED_MS = 1_000;

/**
 * Listens at an address.
 *
 * @throws {ListenError} When the address is taken, not this machine's, or not allowed. Also when the TLS files hold no
 * usable certificate and key.
 */
export function listen(
  place: ListenPlace,
  handler: ServerParts["handler"],
  { timers = systemTimers, tracing, log }: ListenOptions = {},
): OpenListener {
  const { host, port, tls, isShared = false, settings = SETTINGS } = place;
  try {
    const address = { hostname: host, port, reusePort: isShared };
    const scheme = tls === undefined ? "http" : "https";
    const server = createHttp1Server({
      handler,
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
  { host, port, tls, settings = SETTINGS }: ListenPlace,
): ListenError {
  const fault = tls && tlsFault(cause, settings.tls);
  const reason = addressFault(cause, settings) ??
    (fault ? `${fault.path}: ${fault.message}` : messageOf(cause));
  const end = /[.?!]$/.test(reason) ? "" : ".";
  return new ListenError(
    `Cannot listen on ${host}:${port}: ${reason}${end}`,
    { cause },
  );
}

/**
 * Checks that a port is free before threads share it. A second program on a shared port would cause no error.
 *
 * @throws {ListenError} As {@linkcode listen} does.
 */
function requireFree(
  { host, port, settings = SETTINGS }: ListenPlace,
): void {
  try {
    Deno.listen({ hostname: host, port }).close();
  } catch (error) {
    throw listenError(error, { host, port, settings });
  }
}

function addressFault(
  error: unknown,
  { host, port }: ListenSettings,
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
   * Opens a new listener with another certificate and key. Running requests continue. New connections are accepted
   * without a pause if the platform lets two listeners share a port, else after a short pause.
   */
  renew(tls: Tls): void;
}

interface KeepListeningOptions {
  /** Opens a listener. `port` is absent the first time; later, it is the port of the first listener. */
  readonly open: (port?: number) => OpenListener;
  readonly log: ListenerLog;
  readonly timers: Timers;
}

/**
 * Serves the requests of an address until the listener is closed, even after the platform fails to accept connections.
 * With TLS, the port is shared, so that a new certificate can get a second listener. Another program on the port is
 * still an error.
 *
 * @throws {ListenError} As {@linkcode listen} does.
 */
export function serve(
  place: ListenPlace,
  handler: ServerParts["handler"],
  options: ListenOptions & { readonly log: ListenerLog },
): LastingListener {
  let { tls } = place;
  const isShared = place.isShared || tls !== undefined;
  if (isShared && !place.isShared) requireFree(place);
  const listener = keepListening({
    open: (port = place.port) =>
      listen({ ...place, port, tls, isShared }, handler, options),
    log: options.log,
    timers: systemTimers,
  });
  return {
    ...listener,
    renew(next) {
      tls = next;
      listener.renew();
    },
  };
}

/** The pauses before a listener is opened again. */
const RETRY_PAUSES = { firstMs: 100, mostMs: 2_000 };

/**
 * Listens until `close` is called. `renew` opens another listener at the same port.
 *
 * @throws {ListenError} When the first call of `open` throws it.
 */
export function keepListening(
  { open, log, timers }: KeepListeningOptions,
): Listener & { renew(): void } {
  let serving: OpenListener | undefined = open();
  const { url, port } = serving;
  let isClosed = false;
  let failures = 0;
  let stopTimer = () => {};

  const retired = new Set<Promise<void>>();

  /** Stops a listener from accepting. Its running requests may still end. */
  function retire(listener: OpenListener): void {
    const closed = listener.close().finally(() => retired.delete(closed));
    retired.add(closed);
  }

  function renew(): void {
    const old = serving;
    // If there is no listener, the next attempt opens a listener with the new settings.
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

/** A fault of a certificate and key. */
interface TlsFault {
  /** The setting, such as `tls.key`. */
  readonly path: string;
  /**
   * The rest of a sentence that begins with the path, such as "is not the key of the certificate." The message holds no
   * secret.
   */
  readonly message: string;
}

/** Patterns of the platform's errors for a certificate and key, each with its fault. The first match wins. */
const FAULTS: readonly (readonly [pattern: RegExp, fault: TlsFault])[] = [
  [/mismatch/i, {
    path: ".key",
    message: "is not the key of the certificate.",
  }],
  [/key/i, {
    path: ".key",
    message:
      "holds no usable private key. It must be RSA, ECDSA or Ed25519, in PEM, without a password.",
  }],
  [/cert/i, {
    path: ".cert",
    message: "holds no readable certificate. It must be X.509 in PEM.",
  }],
];

const UNKNOWN: TlsFault = {
  path: "",
  message: "is not a usable pair of certificate and key.",
};

/** Returns the fault of a certificate and key that the platform rejects, without the platform's message. */
export function tlsFault(error: unknown, setting = "tls"): TlsFault {
  const found = FAULTS.find(([pattern]) => pattern.test(messageOf(error)));
  const { path, message } = found?.[1] ?? UNKNOWN;
  return { path: setting + path, message };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Tests a certificate and key with a listener on a free local port, and closes the listener at once.
 *
 * @param setting The name of the setting with the certificate and key; default: `tls`.
 * @returns The fault, if any.
 */
export function tryTls(
  tls: Tls | undefined,
  setting?: string,
): TlsFault | undefined {
  if (tls === undefined) return undefined;
  try {
    Deno.listenTls({ hostname: "127.0.0.1", port: 0, ...tls }).close();
    return undefined;
  } catch (error) {
    return tlsFault(error, setting);
  }
}
