import type { Findings, Path } from "./problems.ts";

/** A whole text such as `$NAME` or `$(NAME)`. */
const WHOLE_REGEXP =
  /^\$(?:[A-Za-z_][A-Za-z0-9_]*|\([A-Za-z_][A-Za-z0-9_]*\))$/;

/** The same within a text, in the letters in which variables are written mostly. */
const WITHIN_REGEXP =
  /(?<![\w$])\$(?:[A-Z_][A-Z0-9_]*(?![a-z])|\([A-Z_][A-Z0-9_]*\))/;

const MEANT = "only ${NAME} is replaced by an environment variable";

/**
 * Reports a text that seems to name an environment variable without its braces and would go to a provider
 * as it is written. Below `force`, where a text may be anything, and within longer texts it is a warning.
 */
export function reportBareVariable(
  text: string,
  { path, findings }: { readonly path: Path; readonly findings: Findings },
): void {
  if (WHOLE_REGEXP.test(text)) {
    const message = `is the name of a variable without braces; ${MEANT}`;
    if (path[2] === "force") findings.warn(path, message);
    else findings.problem(path, message);
  } else if (WITHIN_REGEXP.test(text)) {
    const message = `holds the name of a variable without braces; ${MEANT}`;
    findings.warn(path, message);
  }
}
