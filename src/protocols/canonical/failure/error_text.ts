/** The longest text of a page or of bare words that a caller is shown, in characters. */
const MAX_SHOWN = 500;

/** What of a page is looked at, in characters; its title stands at the beginning. */
const MAX_READ = 16 * 1024;

const PAGE_REGEXP = /^\s*<(?:!doctype|html|head|body|\?xml|center|h1)\b/i;
const TITLE_REGEXP = /<title[^>]{0,200}>([^<]{1,500})</i;

/**
 * What an error says that is no JSON, such as a proxy's page or a line of text: a page's title, else its text,
 * on one line and at most 500 characters long.
 *
 * @returns "" where it says nothing.
 */
export function plainWords(body: string): string {
  const text = body.slice(0, MAX_READ);
  if (!PAGE_REGEXP.test(text)) return onOneLine(text);
  const title = onOneLine(withoutEntities(TITLE_REGEXP.exec(text)?.[1] ?? ""));
  return title === "" ? onOneLine(withoutEntities(textOfPage(text))) : title;
}

/** The text between tags; of elements that are not shown nothing. */
function textOfPage(page: string): string {
  let text = "";
  let hidden = "";
  for (const piece of page.split("<").slice(1)) {
    const end = piece.indexOf(">");
    if (end === -1) continue;
    const name = /^\/?[\w-]+/.exec(piece)?.[0].toLowerCase() ?? "";
    if (hidden === "" && (name === "script" || name === "style")) hidden = name;
    if (name === `/${hidden}`) hidden = "";
    if (hidden === "") text += ` ${piece.slice(end + 1)}`;
  }
  return text;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&nbsp;": " ",
};

function withoutEntities(text: string): string {
  return text.replace(
    /&(?:amp|lt|gt|quot|#39|nbsp);/g,
    (entity) => ENTITIES[entity] ?? entity,
  );
}

function onOneLine(text: string): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}…` : line;
}
