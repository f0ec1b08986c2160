/**
 * Puts a text into the clipboard. Browsers offer `navigator.clipboard` on https and localhost alone; a
 * gateway inside a company may be neither, so the old way stays as the second.
 *
 * @param {string} text
 * @returns {Promise<boolean>} Whether it is there now.
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
