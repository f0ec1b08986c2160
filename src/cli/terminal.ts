/** What a terminal that does not know its width is taken for. */
const USUAL_COLUMNS = 80;

/** How many characters a line of the terminal holds; undefined when standard output is none. */
export function terminalColumns(): number | undefined {
  if (!Deno.stdout.isTerminal()) return undefined;
  return Deno.consoleSize().columns || USUAL_COLUMNS;
}
