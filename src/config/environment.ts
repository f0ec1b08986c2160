/** Gives the value of an environment variable, `undefined` when it is unset. */
export type Environment = (name: string) => string | undefined;

const REFERENCE_REGEXP = /\$\$\{|\$\{([^}]*)\}?/g;
const VARIABLE_REGEXP = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Replaces every `${NAME}` in `text` by the environment variable of that name; `$${` stands for the
 * characters `${`. What a variable holds is not searched again.
 *
 * @param report Called with what is wrong: a reference that is no name, or a variable that is unset or
 * empty. The reference then stays as it is.
 */
export function expandVariables(
  text: string,
  { env, report }: {
    readonly env: Environment;
    readonly report: (message: string) => void;
  },
): string {
  if (!text.includes("${")) return text;
  return text.replaceAll(REFERENCE_REGEXP, (reference: string, name) => {
    if (reference === "$${") return "${";
    if (!reference.endsWith("}") || !VARIABLE_REGEXP.test(name)) {
      report(
        "holds a ${ that names no environment variable; write ${NAME}, or $${ for the characters themselves",
      );
      return reference;
    }
    const value = env(name);
    if (value !== undefined && value !== "") return value;
    const state = value === undefined ? "is not set" : "is empty";
    report(`needs the environment variable ${name}, which ${state}`);
    return reference;
  });
}
