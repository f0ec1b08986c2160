/** What asks the program to stop. */
const STOP_SIGNALS: readonly Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT", "SIGBREAK"]
  : ["SIGTERM", "SIGINT"];

/** Resolves at the next signal to stop; each call waits for one of its own. */
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

/** Calls `action` at every SIGHUP, where the platform has it. */
export function onHangup(action: () => void): void {
  if (Deno.build.os === "windows") return;
  Deno.addSignalListener("SIGHUP", action);
}

/**
 * Reports an error of this thread that nobody catches, by its name alone. The platform would print it with its
 * message, which may quote a request.
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
