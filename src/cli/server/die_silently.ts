/**
 * Reports an error of this thread that nobody catches, by its name alone. The platform would print it with its
 * message, which may quote a request.
 */
export function dieSilently(report: (error: string) => void): void {
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
