/**
 * Finds sentences that may need a second reading, in the documents, the docstrings of `src/` and the titles of tests.
 * `deno run --allow-read tests/support/program/sentences.ts` prints them by their marks.
 */

import { readPages } from "./pages.ts";
import { SOURCE, sourceFiles } from "./source_files.ts";

/** A sentence, and its page or the file and line of its docstring or title. */
export interface Sentence {
  readonly place: string;
  readonly text: string;
}

/** The marks, each with its test. A sentence with a mark can be good, so the marks are only counted. */
export const MARKS: Readonly<Record<string, (text: string) => boolean>> = {
  "three relative clauses": (text) => countOf(RELATIVE_REGEXP, text) >= 3,
  "that … that … that": (text) => countOf(THAT_REGEXP, text) >= 3,
  "of which": (text) => /\bof wh(?:ich|om)\b/i.test(text),
  "where it is": (text) =>
    /(?<!\b(?:stays?|begins?|decides)) where (?:it|they|one) (?:is|are|has)\b/i
      .test(text),
};

const THAT_REGEXP = /\bthat\b/gi;

/** A relative pronoun, and no conjunction ("so that", "says that") or pointer ("that of"). */
const RELATIVE_REGEXP =
  /(?<!\b(?:so|such|than|says?|means?|shows?|and|or|of|to|in|for|at|from|is|are)) that\b(?! (?:of|is)\b)|,? (?:which|who|whom|whose)\b/gi;

function countOf(regexp: RegExp, text: string): number {
  return text.match(regexp)?.length ?? 0;
}

/** Returns the sentences of a text in prose. */
function sentencesIn(prose: string): readonly string[] {
  return prose.split(/(?<=[.!?])["')\]*]*\s+(?=["'([*]*[A-Z`])|\n{2,}/)
    .map((one) => one.replace(/\s+/g, " ").trim())
    .filter((one) => one !== "");
}

/** Returns the sentences of the pages, except those that `deno task reference` writes. */
async function ofPages(): Promise<Sentence[]> {
  const pages = [...await readPages()]
    .filter(([path]) => !path.startsWith("docs/reference/"));
  return pages.flatMap(([path, text]) => {
    const prose = text.replace(/^ *```[^]*?^ *```$/gm, "")
      .replace(/^ *(?:[-*]|\d+\.) /gm, "\n\n")
      .replace(/^\|.*$/gm, (row) => row.replaceAll("|", "\n\n"));
    return sentencesIn(prose).map((one) => ({ place: path, text: one }));
  });
}

/** Returns the sentences of the docstrings below `src/`. */
async function ofDocstrings(): Promise<Sentence[]> {
  const found: Sentence[] = [];
  for (const ending of [".ts", ".js"]) {
    for await (const { path, url } of sourceFiles({ ending })) {
      const text = await Deno.readTextFile(url);
      for (const match of text.matchAll(/\/\*\*([^]*?)\*\//g)) {
        const prose = (match[1] ?? "").replace(/^ *\* ?/gm, "")
          .replace(/```[^]*?```/g, "").replace(/^(?:@|- )/gm, "\n\n");
        const place = `src/${path}:${lineOf(text, match.index)}`;
        for (const one of sentencesIn(prose)) found.push({ place, text: one });
      }
    }
  }
  return found;
}

const TITLE_REGEXP =
  /(?:\bDeno\.test|\.step)\(\s*(?:\{\s*name:\s*)?("[^"\n]+"|`[^`]+`)/g;

/** Returns the titles of tests and their steps. */
async function ofTitles(): Promise<Sentence[]> {
  const found: Sentence[] = [];
  const folder = new URL("../tests/", SOURCE);
  for await (const { url } of sourceFiles({ folder })) {
    const text = await Deno.readTextFile(url);
    const path = url.href.slice(folder.href.length);
    for (const match of text.matchAll(TITLE_REGEXP)) {
      const place = `tests/${path}:${lineOf(text, match.index)}`;
      found.push({ place, text: (match[1] ?? "").slice(1, -1) });
    }
  }
  return found;
}

function lineOf(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}

/** Returns the sentences of the documents, the docstrings and the titles. */
export async function readSentences(): Promise<
  Readonly<Record<"documents" | "docstrings" | "titles", readonly Sentence[]>>
> {
  const [documents, docstrings, titles] = await Promise.all([
    ofPages(),
    ofDocstrings(),
    ofTitles(),
  ]);
  return { documents, docstrings, titles };
}

if (import.meta.main) {
  for (const [kind, sentences] of Object.entries(await readSentences())) {
    for (const [mark, isMarked] of Object.entries(MARKS)) {
      const marked = sentences.filter(({ text }) => isMarked(text));
      console.log(
        `\n${kind}, ${mark}: ${marked.length} of ${sentences.length}`,
      );
      for (const { place, text } of marked) console.log(`  ${place}: ${text}`);
    }
  }
}
