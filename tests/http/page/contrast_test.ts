import assert from "node:assert/strict";
import css from "../../../src/http/page/page.css" with { type: "text" };

// The contrast of the page's colours (https://www.w3.org/TR/WCAG22/#contrast-minimum and #non-text-contrast),
// computed from the variables. axe measures only what a scene shows, and no bar, mark, border or ring.

type Colour = readonly [red: number, green: number, blue: number];

/** The variables of the page in each colour scheme. */
const [light = {}, dark = {}] = [...css.matchAll(/:root \{([^}]*)\}/g)]
  .map(([, body = ""]) =>
    Object.fromEntries(
      [...body.matchAll(/--([\w-]+):\s*#([0-9a-f]{6});/g)].map((
        [, name = "", digits = ""],
      ) => [name, digits]),
    )
  );

const SCHEMES = { light, dark };

const TEXTS_ON: Readonly<Record<string, readonly string[]>> = {
  ground: ["ink", "ink-soft"],
  surface: [
    ...["ink", "ink-soft", "plenty-ink", "low-ink", "scarce-ink", "over-ink"],
  ],
  sunken: ["ink", "ink-soft"],
  accent: ["accent-ink"],
  // The chosen client.
  ink: ["surface"],
};

const SHAPES_ON: Readonly<Record<string, readonly string[]>> = {
  // What is left of a bar.
  track: ["plenty", "low", "scarce", "over"],
  // Badges, the time in a bar, the edge of the banner and of a wrong field.
  surface: ["plenty", "low", "scarce", "over", "mark"],
  ground: ["focus"],
  sunken: ["focus"],
};

for (const [scheme, variables] of Object.entries(SCHEMES)) {
  const colour = (name: string): Colour => {
    const digits = variables[name] ?? assert.fail(`There is no --${name}`);
    const at = (index: number) =>
      parseInt(digits.slice(2 * index, 2 * index + 2), 16) / 255;
    return [at(0), at(1), at(2)];
  };
  const faintest = (
    pairs: Readonly<Record<string, readonly string[]>>,
    least: number,
  ) =>
    Object.entries(pairs).flatMap(([ground, names]) =>
      names.flatMap((name) => {
        const ratio = contrast(colour(name), colour(ground));
        return ratio >= least
          ? []
          : [`--${name} on --${ground}: ${ratio.toFixed(2)}`];
      })
    );

  Deno.test(`${scheme}: every text has a contrast of 4.5`, () => {
    assert.deepEqual(faintest(TEXTS_ON, 4.5), []);
    const marked = mixed(colour("accent"), colour("sunken"), 0.18);
    assert.ok(contrast(colour("ink"), marked) >= 4.5);
  });

  Deno.test(`${scheme}: every bar, mark, ring and field has a contrast of 3`, () => {
    assert.deepEqual(faintest(SHAPES_ON, 3), []);
    const edge = mixed(colour("ink-soft"), colour("surface"), 0.7);
    assert.ok(contrast(edge, colour("surface")) >= 3);
  });
}

/** Returns the ratio of two colours, from 1 to 21. */
function contrast(one: Colour, other: Colour): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)]
    .sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(colour: Colour): number {
  const [red, green, blue] = colour.map((part) =>
    part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  );
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
}

/** Returns a colour over another, as `color-mix(in srgb, …)` with a share and `transparent` shows it. */
function mixed(over: Colour, ground: Colour, share: number): Colour {
  const part = (index: 0 | 1 | 2) =>
    share * over[index] + (1 - share) * ground[index];
  return [part(0), part(1), part(2)];
}
