import type { Clock } from "@gateway/base/time/timers";
import { Breaker, type BreakerAttempt, firstAttempt } from "./breaker.ts";
import type { CoolDown, LastingCause, LimitProbe } from "./cool_down.ts";

/** An attempt of a token that a {@linkcode BreakerByToken} admitted. */
export interface TokenAttempt {
  readonly token: string;
  readonly forAll: BreakerAttempt;
  readonly own: BreakerAttempt;
}

/** The length of a cool-down, and whether the cool-down applies to all tokens. */
export interface Cooling {
  readonly ms: number;
  readonly isForAll: boolean;
}

/** The number of tokens whose failures are kept. The token that failed first is dropped first. */
const MAX_TOKENS = 1000;

/**
 * A {@linkcode Breaker} for each token, and a breaker for all tokens. A token's own requests may cause a failure, so
 * the first token that fails is kept away alone. After a failure of a second token, all tokens are kept away.
 *
 * If a token's probe fails, a cool-down for all tokens starts. If the same token's next probe fails too, that failure
 * counts for this token alone. Otherwise a busy token could keep all other tokens away forever.
 */
export class BreakerByToken {
  readonly #clock: Clock;
  readonly #forAll: Breaker;
  readonly #byToken = new Map<string, Breaker>();
  readonly #failing = new AffectedTokens();
  readonly #limited = new AffectedTokens();
  /** The token whose failure started the last cool-down for all tokens. */
  #cooledBy: string | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#forAll = new Breaker(clock);
  }

  /** The number of tokens that have a breaker. */
  get size(): number {
    return this.#byToken.size;
  }

  /** True while a probe runs without a result. */
  isProbing(token: string): boolean {
    return this.#forAll.isProbing ||
      this.#byToken.get(token)?.isProbing === true;
  }

  /** Returns the rest of a token's cool-down, in milliseconds; 0 when a request may pass. */
  restMs(token: string): number {
    return Math.max(
      this.#forAll.restMs(),
      this.#byToken.get(token)?.restMs() ?? 0,
    );
  }

  /** Returns the wait that a rejected token may read, in milliseconds; see {@linkcode Breaker.waitMs}. */
  waitMs(token: string): number {
    return Math.max(
      this.#forAll.waitMs(),
      this.#byToken.get(token)?.waitMs() ?? 0,
    );
  }

  /** Returns true when the provider asked for the longest of a token's cool-downs. */
  isRequestedWait(token: string): boolean {
    const own = this.#byToken.get(token);
    const isOwn = own !== undefined && own.restMs() > this.#forAll.restMs();
    return (isOwn ? own : this.#forAll).isRequestedWait;
  }

  /** Returns the time until a token's next request may pass, in milliseconds; see {@linkcode Breaker.nextTryMs}. */
  nextTryMs(token: string): number {
    return Math.max(
      this.#forAll.nextTryMs(),
      this.#byToken.get(token)?.nextTryMs() ?? 0,
    );
  }

  /** Returns the cause of a token's cool-down, if only an administrator can fix it. */
  cause(token: string): LastingCause | undefined {
    const own = this.#byToken.get(token);
    const isOwn = own !== undefined && own.restMs() > this.#forAll.restMs();
    return isOwn ? own.cause : this.#forAll.cause;
  }

  /**
   * Admits an attempt. Check {@linkcode BreakerByToken.restMs} before, unless the same request was admitted already.
   */
  admit(token: string, isRepeat: boolean): TokenAttempt {
    return {
      token,
      forAll: this.#forAll.admit(isRepeat),
      own: this.#byToken.get(token)?.admit(isRepeat) ?? firstAttempt(isRepeat),
    };
  }

  /** Records the beginning of a response. */
  answered({ token, forAll, own }: TokenAttempt): void {
    if (this.#forAll.answered(forAll)) {
      if (forAll.isLimitProbe) this.#byToken.clear();
      else this.#dropFailing();
    }
    this.#byToken.get(token)?.answered(own);
    if (forAll.isLimitProbe || own.isLimitProbe) this.#limited.forget();
  }

  /** True while a long wait that the provider asked for lasts for any token. */
  get isWaiting(): boolean {
    return this.#forAll.isWaiting ||
      this.#byToken.values().some((breaker) => breaker.isWaiting);
  }

  /**
   * Ends long waits that the provider asked for, after a reading of the provider's quota; see
   * {@linkcode Breaker.noteRoom}.
   */
  noteRoom(readAtMs: number): void {
    const ended = [this.#forAll, ...this.#byToken.values()]
      .filter((breaker) => breaker.noteRoom(readAtMs));
    if (ended.length > 0) this.#limited.forget();
  }

  /** Cools down for all tokens after a reading that shows the quota used up; see {@linkcode Breaker.noteUsedUp}. */
  noteUsedUp(waitMs: number): void {
    this.#forAll.noteUsedUp(waitMs);
  }

  /** Records the end of a complete answer. */
  succeeded(attempt: TokenAttempt): void {
    if (!this.#forAll.isCurrent(attempt.forAll)) return this.dismissed(attempt);
    this.answered(attempt);
    this.#forAll.succeeded(attempt.forAll);
    this.#failing.forget();
    this.#limited.forget();
    this.#cooledBy = undefined;
    const own = this.#byToken.get(attempt.token);
    own?.succeeded(attempt.own);
    // A breaker must remember its cool-downs, to ignore older attempts.
    if (own?.hasCooledDown === false) this.#byToken.delete(attempt.token);
  }

  /** Records a failure that the caller cannot have caused. */
  failedForAll(attempt: TokenAttempt, cause?: LastingCause): Cooling {
    this.#byToken.get(attempt.token)?.dismissed(attempt.own);
    const ms = this.#forAll.failed(attempt.forAll, cause);
    if (ms > 0) this.#coolDownForAll(undefined);
    return { ms, isForAll: true };
  }

  /** Records a failure that the caller may have caused. */
  failed(attempt: TokenAttempt, cause?: LastingCause): Cooling {
    const { token, forAll } = attempt;
    if (!this.#forAll.isCurrent(forAll)) {
      this.dismissed(attempt);
      return { ms: 0, isForAll: false };
    }
    const isShared = this.#failing.add(token);
    const mayCoolAll = forAll.isProbe ? token !== this.#cooledBy : isShared;
    if (!mayCoolAll) {
      this.#forAll.noteFailed(forAll);
      return { ms: this.#failAlone(attempt, cause), isForAll: false };
    }
    const ms = this.#forAll.failed(forAll, cause);
    if (ms === 0) {
      return { ms: this.#failAlone(attempt, cause), isForAll: false };
    }
    this.#coolDownForAll(token);
    return { ms, isForAll: true };
  }

  /**
   * Cools down for the time that the upstream asks for. The cool-down is for the token alone, and for all tokens once a
   * second token receives such a response. Of several such cool-downs, the one that ends last counts. Only a probe may
   * shorten a cool-down.
   */
  coolFor(attempt: TokenAttempt, forMs: number): Cooling {
    const { token, forAll, own } = attempt;
    this.dismissed(attempt);
    // A later cool-down has begun and ended, so the upstream may serve again.
    const isOver = !this.#forAll.isCurrent(forAll) && this.restMs(token) === 0;
    if (isOver) return { ms: 0, isForAll: false };
    const isForAll = this.#limited.add(token) || forAll.isLimitProbe;
    const breaker = isForAll ? this.#forAll : this.#ownOf(attempt.token);
    const isProbe = forAll.isLimitProbe || own.isLimitProbe;
    if (!isProbe && breaker.restMs() >= forMs) return { ms: 0, isForAll };
    return { ms: breaker.coolFor(forMs), isForAll };
  }

  /**
   * Applies the cool-down of another gateway. A token that was limited there counts as limited here. So if a second
   * token is limited here, all tokens are kept away.
   */
  follow(
    { token, ms, requestedMs, probe, cause }: Omit<
      CoolDown,
      "connectionId" | "model"
    >,
  ): void {
    if (probe !== undefined) return this.#followProbe(token, probe);
    const requestedByProvider = requestedMs !== undefined;
    if (token === undefined) {
      this.#forAll.follow(ms, { requestedMs, cause });
      if (!requestedByProvider) this.#coolDownForAll(undefined);
      return;
    }
    const isShared = (requestedByProvider ? this.#limited : this.#failing).add(
      token,
    );
    const breaker = requestedByProvider && isShared
      ? this.#forAll
      : this.#ownOf(token);
    breaker.follow(ms, { requestedMs, cause });
  }

  /** Records the end of an attempt without a result. */
  dismissed({ token, forAll, own }: TokenAttempt): void {
    this.#forAll.dismissed(forAll);
    this.#byToken.get(token)?.dismissed(own);
  }

  #followProbe(token: string | undefined, probe: LimitProbe): void {
    const breaker = token === undefined
      ? this.#forAll
      : this.#byToken.get(token);
    if (probe === "begun") return breaker?.postponeProbe();
    breaker?.endWait();
    this.#limited.forget();
    if (token === undefined) this.#byToken.clear();
  }

  /** @returns The length of the token's cool-down, in milliseconds. */
  #failAlone(
    { token, forAll, own }: TokenAttempt,
    cause: LastingCause | undefined,
  ): number {
    const breaker = this.#ownOf(token);
    if (forAll.isProbe) breaker.learnFrom(this.#forAll);
    return breaker.failed(own, cause);
  }

  /**
   * Notes the token that caused a cool-down for all tokens. This cool-down replaces the cool-downs of single tokens.
   */
  #coolDownForAll(token: string | undefined): void {
    this.#cooledBy = token;
    this.#dropFailing();
  }

  /** Drops the breakers of single tokens, except during a wait that the provider asked for. */
  #dropFailing(): void {
    for (const [token, breaker] of this.#byToken) {
      if (!breaker.isRequestedWait) this.#byToken.delete(token);
    }
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

/** Detects that more than one token was affected. */
class AffectedTokens {
  #first: string | undefined;
  #hasOther = false;

  /** @returns True when another token was affected too. */
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
