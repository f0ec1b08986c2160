/**
 * Creates an element. Texts become text nodes, never markup.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Readonly<Record<string, string | boolean | undefined>>} attributes `true` sets an attribute without a value.
 * `false` and undefined leave it out.
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/**
 * Returns the element of the page with an id.
 *
 * @template {HTMLElement} Kind
 * @param {string} id
 * @param {{ new (): Kind, prototype: Kind }} kind The class of the element.
 * @returns {Kind}
 */
export function byId(id, kind) {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new Error(`The page has no ${kind.name} called ${id}`);
}

/**
 * @typedef {object} Ticker Updates texts that change with time.
 * @property {(node: Element, textAt: (nowMs: number) => string) => void} follow Sets the text of `node` now and at
 * every tick while it is on the page.
 * @property {(nowMs: number) => void} tick
 */

/** @returns {Ticker} */
export function createTicker() {
  /** @type {Map<Element, (nowMs: number) => string>} */
  const followed = new Map();
  return {
    follow(node, textAt) {
      followed.set(node, textAt);
      node.textContent = textAt(Date.now());
    },
    tick(nowMs) {
      for (const [node, textAt] of followed) {
        if (!node.isConnected) followed.delete(node);
        else setText(node, textAt(nowMs));
      }
    },
  };
}

/**
 * Sets the text of a node if the text differs, so that nothing is redrawn or announced without a change.
 *
 * @param {Element} node
 * @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
