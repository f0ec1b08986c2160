/**
 * The explanations, for staff, of why a quota could not be read (docs/quotas.md#states).
 *
 * @typedef {object} FailureMeaning
 * @property {string} title
 * @property {string} advice What staff should do; mostly nothing.
 * @property {boolean} [isCalm] True when nothing is wrong.
 */

const PREFIX = "provider_limits_";

const REPORT = "If this continues, contact the administrator.";
const AGAIN = "The gateway tries again automatically.";

/** @type {Readonly<Record<string, FailureMeaning>>} */
const MEANINGS = {
  configuration_required: {
    title: "Setting missing",
    advice: "The administrator must complete this connection.",
  },
  unauthorized: {
    title: "Key rejected",
    advice: "The administrator must renew the provider's key.",
  },
  rate_limited: { title: "Read too often", advice: AGAIN },
  unreachable: {
    title: "Not reachable",
    advice: `${AGAIN} ${REPORT}`,
  },
  invalid_response: {
    title: "Invalid response",
    advice: REPORT,
  },
  not_known_yet: {
    title: "Not reported yet",
    advice:
      "The provider reports the quota with each answer of a model. The quota appears here after the first answer.",
    isCalm: true,
  },
  no_plan: {
    title: "No plan",
    advice: "The administrator must check the plan or the credit.",
  },
};

/**
 * The meanings of a connection's `status` when it has no `error`.
 *
 * @type {ReadonlyMap<string, FailureMeaning>}
 */
export const STATUS_MEANINGS = new Map([
  ["disabled", {
    title: "Switched off",
    advice: "The administrator can switch this connection on again.",
  }],
  ["unsupported", {
    title: "No quota",
    advice:
      "The gateway cannot read the quota of this service. Requests to it are not affected by that.",
  }],
  ["unavailable", {
    title: "Not read",
    advice: "The quota could not be read.",
  }],
]);

/** @type {FailureMeaning} */
const OTHER = {
  title: "Quota not available",
  advice: `${AGAIN} ${REPORT}`,
};

/**
 * Returns the meaning of an `error.type`. An unknown type means that there is no quota.
 *
 * @param {string} type Such as `provider_limits_unauthorized`.
 * @returns {FailureMeaning}
 */
export function failureMeaning(type) {
  const reason = type.startsWith(PREFIX) ? type.slice(PREFIX.length) : type;
  return (Object.hasOwn(MEANINGS, reason) && MEANINGS[reason]) || OTHER;
}
