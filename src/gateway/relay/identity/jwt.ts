import type { JWTPayload } from "jose";

/** The claims of a JWT. */
export type Claims = Readonly<JWTPayload>;

/** A JWT that is not accepted. */
export class BadJwt extends Error {
  override readonly name = "BadJwt";
  /** The reason in words for the log, without any text of the token. */
  readonly reason: string;

  constructor(reason: string) {
    super(`Cannot accept a JWT: ${reason}.`);
    this.reason = reason;
  }
}

/** A JWT whose only fault is that it has expired. The caller needs a new JWT. */
export class ExpiredJwt extends BadJwt {
  constructor() {
    super("it has expired");
  }
}

/** The form of a JWT (RFC 7515, section 7.1): three parts in base64url. An unsigned JWT has an empty third part. */
const JWT_REGEXP = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/** Returns true when a credential has the form of a JWT. */
export function isJwt(credential: string): boolean {
  return JWT_REGEXP.test(credential);
}
