/**
 * Copies a text to the clipboard. Browsers offer `navigator.clipboard` only on https and localhost. A gateway inside a
 * company may use plain http and another host, so the older method remains as a fallback.
 *
 * @param {string} text
 * @returns {Promise<boolean>} True when the text was copied.
 */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** @param {string} text @returns {boolean} */
function copyBySelection(text) {
  const focused = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return isCopied;
}
