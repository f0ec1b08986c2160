import { byId } from "./element.js";

/**
 * @typedef {object} SignInView
 * @property {(reason: string) => void} show Asks for a token, and says why when there is a reason.
 * @property {() => void} hide
 * @property {(isBusy: boolean) => void} setBusy
 */

/**
 * Brings the form that asks for the token to life.
 *
 * @param {{ readonly onToken: (token: string) => void }} options
 * @returns {SignInView}
 */
export function createSignInView({ onToken }) {
  const section = byId("sign-in", HTMLElement);
  const input = byId("token", HTMLInputElement);
  const error = byId("sign-in-error", HTMLElement);
  const button = byId("enter", HTMLButtonElement);

  /** @param {string} reason */
  function show(reason) {
    section.hidden = false;
    error.textContent = reason;
    input.toggleAttribute("aria-invalid", false);
    if (reason !== "") input.setAttribute("aria-invalid", "true");
    input.focus();
    input.select();
  }

  byId("sign-in-form", HTMLFormElement).addEventListener("submit", (event) => {
    event.preventDefault();
    const token = input.value.trim();
    if (isToken(token)) onToken(token);
    else show("Put in your token: one word of letters, digits and signs.");
  });
  return {
    show,
    hide() {
      section.hidden = true;
      input.value = "";
    },
    setBusy(isBusy) {
      if (isBusy) {
        error.textContent = "";
        input.toggleAttribute("aria-invalid", false);
      }
      button.textContent = isBusy ? "Asking…" : "Show my quotas";
      section.toggleAttribute("data-busy", isBusy);
    },
  };
}

/** Nothing else can stand in a header. @param {string} text @returns {boolean} */
function isToken(text) {
  return /^[\x21-\x7e]+$/.test(text);
}
