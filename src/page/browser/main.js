import { byId, createTicker, setText } from "./element.js";
import { readGateway, readOwnUsage, TokenRejected } from "./gateway.js";
import { createHistoryView } from "./history_view.js";
import { createModelsView } from "./models_view.js";
import { hideFailure, showQuotas } from "./quotas_view.js";
import {
  forgetSession,
  loadSession,
  nextListAtMs,
  nextReadAtMs,
  saveSession,
  withAnswer,
} from "./session.js";
import { createSettingsView } from "./settings_view.js";
import { createSignInView } from "./sign_in_view.js";
import { durationText } from "../wording/times.js";

const TICK_MS = 1000;

/** The gateway's address without a trailing slash. The page may be below a path of a proxy. */
const base = new URL(".", location.href).href.replace(/\/$/, "");

const signedIn = byId("signed-in", HTMLElement);
const controls = byId("controls", HTMLElement);
const refreshButton = byId("refresh", HTMLButtonElement);
const status = byId("status", HTMLElement);

let session = loadSession(sessionStorage);
let isReading = false;
let shownModels = "";

const ticker = createTicker();
const signIn = createSignInView({ onToken: signInWith });
const settings = createSettingsView({
  base,
  token: () => session?.token ?? "",
  announce,
  onTried: refreshOwnLimits,
});
const history = createHistoryView();
const models = createModelsView({ onChoose: settings.choose });

byId("forget", HTMLButtonElement).addEventListener("click", () => signOut(""));
refreshButton.addEventListener("click", () => {
  if (!mayRefresh()) return;
  hideFailure();
  refresh().then(() => announce("Refreshed."));
});
document.addEventListener("visibilitychange", tick);
setInterval(tick, TICK_MS);
if (session === undefined) signOut("");
else showReading();
tick();

/** @param {string} token */
function signInWith(token) {
  session = { token };
  refresh();
}

/** @param {string} reason The reason to sign in again, for the reader. */
function signOut(reason) {
  session = undefined;
  shownModels = "";
  forgetSession(sessionStorage);
  signedIn.hidden = true;
  controls.hidden = true;
  signIn.show(reason);
}

/** Updates the page. A hidden tab sends no requests, and updates as soon as it is visible. */
function tick() {
  ticker.tick(Date.now());
  if (isDue() && document.visibilityState === "visible") refresh();
  showRefreshButton();
}

function isDue() {
  return session !== undefined && !isReading &&
    Date.now() >= nextReadAtMs(session);
}

/** Returns true when the reader may refresh: when an update is due, and at any time after a failure. */
function mayRefresh() {
  return isDue() || !isReading && session?.reading?.failure !== undefined;
}

async function refresh() {
  const asked = session;
  if (asked === undefined || isReading) return;
  setReading(true);
  try {
    const isListDue = Date.now() >= nextListAtMs(asked);
    const answers = await readGateway(base, asked.token, { isListDue });
    // The reader may have signed out, or signed in with another token, in the meantime.
    if (session === asked) showAnswers(answers);
  } catch (error) {
    if (!(error instanceof TokenRejected)) throw error;
    if (session === asked) signOut(error.message);
  } finally {
    setReading(false);
  }
}

/** Reads and shows the limits after a trial, because a trial counts as usage. The quotas wait for the next update. */
async function refreshOwnLimits() {
  const asked = session;
  if (asked?.reading === undefined || isReading) return;
  const { own, history } = await readOwnUsage(base, asked.token);
  if (session !== asked || isReading) return;
  const { reading } = asked;
  session = {
    ...asked,
    reading: own === undefined
      ? { ...reading, isOwnOld: reading.own !== undefined }
      : { ...reading, own, history, ownAtMs: Date.now(), isOwnOld: false },
  };
  saveSession(sessionStorage, session);
  showReading();
}

/** @param {import("./gateway.js").Answers} answers */
function showAnswers(answers) {
  if (session === undefined) return;
  session = withAnswer(session, { ...answers, askedAtMs: Date.now() });
  const { list, models: known, failure } = session.reading ?? {};
  if (list === undefined && known === undefined) return signOut(failure ?? "");
  saveSession(sessionStorage, session);
  const isFirst = signedIn.hidden;
  showReading();
  if (isFirst) byId("title", HTMLElement).focus();
}

function showReading() {
  const reading = session?.reading;
  if (reading === undefined) return;
  signIn.hide();
  signedIn.hidden = false;
  controls.hidden = false;
  showQuotas(reading, ticker);
  history.show(reading.history);
  byId("models-and-settings", HTMLElement).hidden =
    reading.models === undefined;
  showModels(reading.models ?? []);
}

/** Shows the models only when they have changed, so that the reader's choices remain. */
function showModels(
  /** @type {readonly import("../wording/models.js").Model[]} */ all,
) {
  const text = JSON.stringify(all);
  if (text === shownModels) return;
  shownModels = text;
  models.show(all);
  settings.show(all);
}

/** @param {boolean} now */
function setReading(now) {
  isReading = now;
  signIn.setBusy(now);
  showRefreshButton();
}

function showRefreshButton() {
  const waitMs = nextReadAtMs(session) - Date.now();
  const text = isReading
    ? "Refreshing…"
    : waitMs > 0 && !mayRefresh()
    ? `Refresh in ${durationText(waitMs + TICK_MS - 1)}`
    : "Refresh";
  setText(refreshButton, text);
  refreshButton.setAttribute("aria-disabled", String(!mayRefresh()));
}

/** @param {string} text The event, for screen readers. */
function announce(text) {
  status.textContent = text;
}
