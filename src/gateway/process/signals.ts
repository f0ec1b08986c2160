/** The signals that stop the program. */
const STOP_SIGNALS: readonly Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT", "SIGBREAK"]
  : ["SIGTERM", "SIGINT"];

/** Resolves at the next stop signal after the call. */
export function nextStopSignal(): Promise<void> {
  return new Promise((resolve) => {
    const take = () => {
      for (const signal of STOP_SIGNALS) {
        Deno.removeSignalListener(signal, take);
      }
      resolve();
    };
    for (const signal of STOP_SIGNALS) Deno.addSignalListener(signal, take);
  });
}

/** Calls `action` at each SIGHUP, on platforms that have this signal. */
export function onHangup(action: () => void): void {
  if (Deno.build.os === "windows") return;
  Deno.addSignalListener("SIGHUP", action);
}

/**
 * Reports each uncaught error of this thread by the error's name only. The platform would print the error's message,
 * and this message may quote a request.
 */
export function reportUncaught(report: (error: string) => void): void {
  const die = (event: Event, error: unknown) => {
    event.preventDefault();
    report(error instanceof Error ? error.name : typeof error);
  };
  globalThis.addEventListener("error", (event) => die(event, event.error));
  globalThis.addEventListener(
    "unhandledrejection",
    (event) => die(event, event.reason),
  );
}
