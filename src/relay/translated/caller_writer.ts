import type { Deadlines } from "../../core/deadlines.ts";
import { createIdleWatch, type IdleWatch } from "../../streams/idle_watch.ts";
import { STALL_MS } from "../../streams/pass_through.ts";

/** A caller hears something at least this often (docs/design.md#streams), in milliseconds. */
export const KEEP_ALIVE_MS = 15_000;

/** How a caller is spoken to. */
export interface SpeakingOptions {
  readonly deadlines: Deadlines;
  /** What is said to a caller who has heard nothing for {@linkcode KEEP_ALIVE_MS}. */
  readonly keepAlive: () => string;
  /** Sees the text that goes out. */
  readonly onText: (text: string) => void;
  /** The caller wants nothing any more; its stream breaks then. */
  readonly onStall: () => void;
}

/** What a caller is told, as text, before and while it listens. */
export interface Speaking {
  /** Tells the caller; before it first listens, the text is held back. Says nothing once stopped. */
  say(text: string): void;
  /** The caller wants more, beginning with what was held back. */
  listen(controller: ReadableStreamDefaultController<Uint8Array>): void;
  /** Whether the caller has heard anything since it last wanted more. */
  readonly isHeard: boolean;
  /** The caller has enough for now; it stalls when it does not want more in time. */
  rest(): void;
  stop(): void;
}

/** A watch that runs from the first that the caller has not taken; what is said meanwhile changes nothing. */
function createStallWatch(
  deadlines: Deadlines,
  onStall: () => void,
): IdleWatch {
  let isRunning = false;
  const watch = createIdleWatch({
    deadlines,
    idleMs: STALL_MS,
    onIdle() {
      isRunning = false;
      onStall();
    },
  });
  return {
    wait() {
      if (!isRunning) watch.wait();
      isRunning = true;
    },
    heard() {
      isRunning = false;
      watch.heard();
    },
    stop: watch.stop,
  };
}

/** Begins to speak to one caller; holds back until it listens. */
export function createSpeaking(options: SpeakingOptions): Speaking {
  const { deadlines, keepAlive, onText, onStall } = options;
  const encoder = new TextEncoder();
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let held = "";
  let isHeard = false;
  let isResting = false;
  let isStopped = false;

  /** Runs while the caller waits, from the last that it heard. */
  const silence = createIdleWatch({
    deadlines,
    idleMs: KEEP_ALIVE_MS,
    onIdle() {
      say(keepAlive());
      silence.wait();
    },
  });

  const stall = createStallWatch(deadlines, () => {
    // What a pending read takes is taken without a further pull.
    if (!isResting && isAllTaken()) return;
    onStall();
    controller?.error(new Error("The caller takes nothing"));
  });

  function isAllTaken(): boolean {
    return controller?.desiredSize === 0;
  }

  function say(text: string): void {
    if (text === "" || isStopped) return;
    if (controller === undefined) {
      held += text;
      return;
    }
    isHeard = true;
    onText(text);
    controller.enqueue(encoder.encode(text));
    silence.wait();
    stall.wait();
  }

  return {
    say,
    listen(itsController) {
      controller = itsController;
      isHeard = false;
      isResting = false;
      stall.heard();
      silence.wait();
      say(held);
      held = "";
    },
    get isHeard() {
      return isHeard;
    },
    rest() {
      if (isStopped) return;
      isResting = true;
      silence.heard();
      if (isAllTaken()) stall.heard();
      stall.wait();
    },
    stop() {
      isStopped = true;
      silence.stop();
      stall.stop();
    },
  };
}
