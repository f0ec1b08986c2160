import { formatProblem, type Problem } from "../config/problems.ts";

/** Problems or warnings for people, a line each. */
export function problemLines(problems: readonly Problem[]): string {
  return problems.map((problem) => `  ${formatProblem(problem)}\n`).join("");
}

/** What to do where there is no configuration; nothing where there is one. */
export function missingFileHint(
  { missing }: { readonly missing?: string },
): string {
  if (missing === undefined) return "";
  return `It was looked for at ${missing}.
\`model-gateway init SERVICE...\` prints a first one; \`model-gateway demo\` needs none.
`;
}
