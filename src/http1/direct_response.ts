import { isField } from "./head.ts";
import type { PassThrough } from "@gateway/base/streams/pass_through";

/** The response of a handler: a response of the platform, or a response that a server may use directly. */
export type AnyResponse = Response | DirectResponse;

interface DirectResponseInit {
  /** Default: 200. */
  readonly status?: number;
  /** Names in lower case, and values. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/**
 * A response whose headers and body a server uses directly. Making and reading the platform's `Response`, `Headers` and
 * stream would take a third more processor time for a short request, and a microsecond or more for each chunk of a
 * stream.
 */
export class DirectResponse {
  readonly source: Uint8Array<ArrayBuffer> | PassThrough;
  readonly status: number;
  readonly #fields: DirectResponseInit["headers"];
  #headers: Headers | undefined;

  /** @throws {TypeError} For a header that would break the head of a response. */
  constructor(
    source: Uint8Array<ArrayBuffer> | PassThrough,
    { status = 200, headers }: DirectResponseInit,
  ) {
    this.source = source;
    this.status = status;
    this.#fields = headers;
    if (!headers.every(([name, value]) => isField(name, value))) {
      throw new TypeError("Cannot send a response: a header is malformed");
    }
  }

  /** The headers, to read and change; created at the first use. */
  get headers(): Headers {
    return this.#headers ??= new Headers(this.#fields.map(([...one]) => one));
  }

  /** The headers as a list, only to be read. */
  get fields(): Iterable<readonly [name: string, value: string]> {
    return this.#headers ?? this.#fields;
  }
}
