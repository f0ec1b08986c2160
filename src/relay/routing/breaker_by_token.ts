import type { Clock } from "../../core/time/timers.ts";
import { Breaker, type BreakerAttempt, firstAttempt } from "./breaker.ts";
import type { CoolDown, LastingCause } from "./cool_down.ts";

/** An attempt of a token that was let through a {@linkcode BreakerByToken}. */
export interface TokenAttempt {
  readonly token: string;
  readonly forAll: BreakerAttempt;
  readonly own: BreakerAttempt;
}

/** From whom requests are kept away, and for how long. */
export interface Cooling {
  readonly ms: number;
  readonly isForAll: boolean;
}

/** The failures of this many tokens are remembered; the one that began to fail first is forgotten first. */
const MAX_TOKENS = 1000;

/**
 * A {@linkcode Breaker} for a token's requests, and one for everybody's. What one token alone has seen fail may
 * be due to what it asks, so it keeps that token away; what a second one has seen fail keeps all away.
 *
 * A token whose probe fails has kept all away with it. If its next probe fails too, that counts for itself
 * alone: who asks most would else be able to close the way to all forever.
 */
export class BreakerByToken {
  readonly #clock: Clock;
  readonly #forAll: Breaker;
  readonly #byToken = new Map<string, Breaker>();
  readonly #failing = new Witnesses();
  readonly #limited = new Witnesses();
  /** Whose failure closed it for all last. */
  #closedBy: string | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#forAll = new Breaker(clock);
  }

  /** Of how many tokens something is remembered. */
  get size(): number {
    return this.#byToken.size;
  }

  /** Whether a probe is out that has shown nothing yet. */
  isProbing(token: string): boolean {
    return this.#forAll.isProbing ||
      this.#byToken.get(token)?.isProbing === true;
  }

  /** How long it stays closed for a token, in milliseconds; 0 when a request may pass. */
  restMs(token: string): number {
    return Math.max(
      this.#forAll.restMs(),
      this.#byToken.get(token)?.restMs() ?? 0,
    );
  }

  /** Returns why it is closed for a token, where only an administrator can mend that. */
  cause(token: string): LastingCause | undefined {
    const own = this.#byToken.get(token);
    const isOwn = own !== undefined && own.restMs() > this.#forAll.restMs();
    return isOwn ? own.cause : this.#forAll.cause;
  }

  /**
   * Lets an attempt through; ask {@linkcode BreakerByToken.restMs} before, unless its request was let through already.
   */
  admit(token: string, isRepeat: boolean): TokenAttempt {
    return {
      token,
      forAll: this.#forAll.admit(isRepeat),
      own: this.#byToken.get(token)?.admit(isRepeat) ?? firstAttempt(isRepeat),
    };
  }

  /** An answer has begun. */
  answered({ token, forAll, own }: TokenAttempt): void {
    if (this.#forAll.answered(forAll)) this.#byToken.clear();
    this.#byToken.get(token)?.answered(own);
  }

  /** An answer came to its end. */
  succeeded(attempt: TokenAttempt): void {
    if (!this.#forAll.isNews(attempt.forAll)) return this.dismissed(attempt);
    this.answered(attempt);
    this.#forAll.succeeded(attempt.forAll);
    this.#failing.forget();
    this.#limited.forget();
    this.#closedBy = undefined;
    const own = this.#byToken.get(attempt.token);
    own?.succeeded(attempt.own);
    // One that has closed knows which attempts are older.
    if (own?.hasClosed === false) this.#byToken.delete(attempt.token);
  }

  /** A failure that cannot be due to who asked. */
  failedForAll(attempt: TokenAttempt, cause?: LastingCause): Cooling {
    this.#byToken.get(attempt.token)?.dismissed(attempt.own);
    const ms = this.#forAll.failed(attempt.forAll, cause);
    if (ms > 0) this.#closeForAll(undefined);
    return { ms, isForAll: true };
  }

  /** A failure that may be due to who asked. */
  failed(attempt: TokenAttempt, cause?: LastingCause): Cooling {
    const { token, forAll } = attempt;
    if (!this.#forAll.isNews(forAll)) {
      this.dismissed(attempt);
      return { ms: 0, isForAll: false };
    }
    const isShared = this.#failing.add(token);
    const mayClose = forAll.isProbe ? token !== this.#closedBy : isShared;
    if (!mayClose) {
      this.#forAll.noteFailed(forAll);
      return { ms: this.#failAlone(attempt, cause), isForAll: false };
    }
    const ms = this.#forAll.failed(forAll, cause);
    if (ms === 0) {
      return { ms: this.#failAlone(attempt, cause), isForAll: false };
    }
    this.#closeForAll(token);
    return { ms, isForAll: true };
  }

  /** Closes it for as long as the upstream says: for the token, and for all once a second one is told so. */
  bench(attempt: TokenAttempt, forMs: number): Cooling {
    this.dismissed(attempt);
    if (!this.#forAll.isNews(attempt.forAll)) {
      return { ms: 0, isForAll: false };
    }
    const isForAll = this.#limited.add(attempt.token);
    const breaker = isForAll ? this.#forAll : this.#ownOf(attempt.token);
    return { ms: breaker.bench(forMs), isForAll };
  }

  /**
   * Closes it as that of another gateway is closed. What a token was told there counts as told here: a second one's
   * keeps all away.
   */
  follow(
    { token, ms, requestedByProvider, cause }: Omit<
      CoolDown,
      "connectionId" | "model"
    >,
  ): void {
    if (token === undefined) {
      this.#forAll.follow(ms, { requestedByProvider, cause });
      if (!requestedByProvider) this.#closeForAll(undefined);
      return;
    }
    const isShared = (requestedByProvider ? this.#limited : this.#failing).add(
      token,
    );
    const breaker = requestedByProvider && isShared
      ? this.#forAll
      : this.#ownOf(token);
    breaker.follow(ms, { requestedByProvider, cause });
  }

  /** The attempt showed nothing. */
  dismissed({ token, forAll, own }: TokenAttempt): void {
    this.#forAll.dismissed(forAll);
    this.#byToken.get(token)?.dismissed(own);
  }

  /** @returns For how long the token is kept away because of that, in milliseconds. */
  #failAlone(
    { token, forAll, own }: TokenAttempt,
    cause: LastingCause | undefined,
  ): number {
    const breaker = this.#ownOf(token);
    if (forAll.isProbe) breaker.learnFrom(this.#forAll);
    return breaker.failed(own, cause);
  }

  /** What the tokens have seen is what all have seen now. */
  #closeForAll(token: string | undefined): void {
    this.#closedBy = token;
    this.#byToken.clear();
  }

  #ownOf(token: string): Breaker {
    const known = this.#byToken.get(token);
    if (known !== undefined) return known;
    const [oldest] = this.#byToken.keys();
    if (oldest !== undefined && this.#byToken.size >= MAX_TOKENS) {
      this.#byToken.delete(oldest);
    }
    const breaker = new Breaker(this.#clock);
    this.#byToken.set(token, breaker);
    return breaker;
  }
}

/** Tells what one token has seen from what more of them have. */
class Witnesses {
  #first: string | undefined;
  #hasOther = false;

  /** @returns Whether another token has seen it too. */
  add(token: string): boolean {
    this.#first ??= token;
    this.#hasOther ||= this.#first !== token;
    return this.#hasOther;
  }

  forget(): void {
    this.#first = undefined;
    this.#hasOther = false;
  }
}
