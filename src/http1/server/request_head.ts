import { MalformedMessage } from "../failure.ts";
import {
  findHeadEnd,
  type Framing,
  hasToken,
  LENGTH_REGEXP,
  parseFields,
} from "../head.ts";
import { byteText } from "@gateway/base/streams/bytes";

/** The head of a caller's request. */
export interface HttpRequestHead {
  readonly method: string;
  /** The request target, unchanged: usually a path with its query. */
  readonly target: string;
  /** Values by names in lower case; the values of a repeated header are joined by commas. */
  readonly headers: ReadonlyMap<string, string>;
  readonly framing: Framing;
  /** True for HTTP/1.0. That version has no chunks. */
  readonly isOld: boolean;
  /** True when the caller may send another request afterwards. */
  readonly isKeptAlive: boolean;
  /** True when the caller sends its body only after a 100 (RFC 9110, section 10.1.1). */
  readonly awaitsContinue: boolean;
  /** The rule that the head breaks; see `IncomingRequest.fault`. */
  readonly fault?: string;
}

const REQUEST_LINE_REGEXP =
  /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([\x21-\x7e]+) HTTP\/1\.([01])$/;

/**
 * The first bytes of any request: a method in capitals. An empty line before the method is skipped (RFC 9112, section
 * 2.2), because some clients send an empty line after a body.
 */
const START_REGEXP = /^(?:\r$|(?:\r\n)?[A-Z]*(?: |$))/;

/**
 * Finds the end of a request's head, as {@linkcode findHeadEnd} does.
 *
 * @throws {MalformedMessage} When the bytes cannot become a head.
 */
export function findRequestEnd(
  bytes: Uint8Array,
  from: number,
): number | undefined {
  return findHeadEnd(bytes, from, (start) => START_REGEXP.test(start));
}

/** Returns a head that holds only its fault. */
export function faultyHead(
  fault: string,
  { method = "GET", target = "/" }: {
    readonly method?: string | undefined;
    readonly target?: string | undefined;
  } = {},
): HttpRequestHead {
  return {
    ...{ method, target, fault },
    headers: new Map(),
    framing: { kind: "none" },
    isOld: false,
    isKeptAlive: false,
    awaitsContinue: false,
  };
}

/**
 * Parses the head of a request strictly (RFC 9112, sections 2 to 6): lines end in CRLF, no line is folded, no name is
 * followed by a space, and exactly one rule says where the body ends. A head that breaks a rule has a fault.
 *
 * @param bytes The head with its empty line.
 */
export function parseRequestHead(bytes: Uint8Array): HttpRequestHead {
  const text = byteText(bytes.subarray(0, bytes.length - 4));
  const [requestLine = "", ...lines] =
    (text.startsWith("\r\n") ? text.slice(2) : text).split("\r\n");
  const [, method, target, version] = REQUEST_LINE_REGEXP.exec(requestLine) ??
    [];
  if (method === undefined || target === undefined) {
    return faultyHead("it does not begin as HTTP/1.1");
  }
  try {
    return checkedHead({ method, target, isOld: version === "0" }, lines);
  } catch (error) {
    if (!(error instanceof MalformedMessage)) throw error;
    return faultyHead(error.message, { method, target });
  }
}

/** @throws {MalformedMessage} When the lines break a rule. */
function checkedHead(
  line: Pick<HttpRequestHead, "method" | "target" | "isOld">,
  lines: readonly string[],
): HttpRequestHead {
  const headers = parseFields(lines);
  if (line.target.includes("#")) {
    throw new MalformedMessage("its target has a fragment. Remove it");
  }
  checkHost(headers.get("host"), line.isOld);
  const framing = framingOf(headers, line.isOld);
  return {
    ...line,
    headers,
    framing,
    isKeptAlive: !line.isOld && !hasToken(headers.get("connection"), "close"),
    awaitsContinue: !line.isOld && framing.kind !== "none" &&
      hasToken(headers.get("expect"), "100-continue"),
  };
}

/**
 * Checks the host strictly (RFC 9112, section 3.2), because another server on the way may route by the host and read a
 * malformed host differently.
 */
function checkHost(host: string | undefined, isOld: boolean): void {
  if (host === undefined && !isOld) {
    throw new MalformedMessage("it has no host header. Send one");
  }
  if (host?.includes(", ")) {
    throw new MalformedMessage("it has several host headers. Send one");
  }
  if (host !== undefined && !isHost(host)) {
    throw new MalformedMessage("its host header is no host");
  }
}

/** Matches a name or an address, and a port. A comma is not allowed: it could join the hosts of two headers. */
const HOST_REGEXP =
  /^(?:\[[0-9A-Fa-f:.]+\]|(?:[\w.~!$&'()*+;=-]|%[0-9A-Fa-f]{2})*)(?::\d{0,5})?$/;

function isHost(host: string): boolean {
  if (!HOST_REGEXP.test(host)) return false;
  return !host.startsWith("[") || URL.canParse(`http://${host}`);
}

function framingOf(
  headers: ReadonlyMap<string, string>,
  isOld: boolean,
): Framing {
  const codings = headers.get("transfer-encoding");
  const length = headers.get("content-length");
  if (codings !== undefined) {
    if (length !== undefined) {
      throw new MalformedMessage(
        "it has a content-length and a transfer-encoding. Send one of them",
      );
    }
    // Another coding within the chunks does not hide where the chunks end. The body's reader decides whether it can
    // decode that coding.
    if (isOld || !CHUNKED_REGEXP.test(codings)) {
      throw new MalformedMessage(
        "its transfer encoding does not end in chunked. Send transfer-encoding: chunked or a content-length",
      );
    }
    return { kind: "chunked" };
  }
  if (length === undefined) return { kind: "none" };
  if (!LENGTH_REGEXP.test(length)) {
    throw new MalformedMessage("its content-length is no length");
  }
  return { kind: "length", bytes: Number(length) };
}

/** Matches a list of codings in which only the last one is chunked. */
const CHUNKED_REGEXP = /^(?:(?!chunked[ \t]*,)[^,]*,[ \t]*)*chunked$/i;
