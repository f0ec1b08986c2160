/** What the way of a request uses of an `AbortSignal`, and what the platform's own has, too. */
export interface Signal {
  readonly aborted: boolean;
  /** The reason of the abort, once it has happened. */
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(
    type: "abort",
    listener: () => void,
    options?: { readonly once: true },
  ): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** What the way of a request uses of an `AbortController`. */
export interface Controller {
  readonly signal: Signal;
  abort(reason?: unknown): void;
}

/**
 * A controller that is its own signal. Each request has one that hardly ever aborts, and the platform's, with its
 * listeners, takes a twentieth of the time of a short request.
 */
export class RequestController implements Controller, Signal {
  #listeners: readonly (() => void)[] = [];
  #aborted = false;
  #reason: unknown;

  get signal(): Signal {
    return this;
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  abort(
    reason: unknown = new DOMException(
      "The signal has been aborted",
      "AbortError",
    ),
  ): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    // A listener may remove those after it.
    for (let one = this.#listeners[0]; one; one = this.#listeners[0]) {
      this.#listeners = this.#listeners.slice(1);
      one();
    }
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  addEventListener(_type: "abort", listener: () => void): void {
    if (!this.#aborted) this.#listeners = [...this.#listeners, listener];
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#listeners = this.#listeners.filter((one) => one !== listener);
  }
}
