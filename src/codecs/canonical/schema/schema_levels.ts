import {
  type JsonObject,
  objectOf,
  pickFields,
  present,
} from "@gateway/base/json";
import { mapInside, withDescription } from "./keywords.ts";
import { definitionOf, referencesIn } from "./root_object.ts";

/** The most schemas that are read to count levels. If references lead to more schemas, there are too many levels. */
const MAX_STEPS = 10_000;

/** The most references that are followed on a path. A longer path counts as too many levels. */
const MAX_PATH = 100;

/** The fields that an object keeps when it is beyond the last level. */
const KEPT = ["type", "title", "description"];

/** The longest text about an object beyond the last level, in characters. */
const MAX_WORDS = 2_000;

/**
 * Returns a schema with at most `most` levels of properties. Each object in a property of another object adds a
 * level. A reference has the levels of its definition. A recursive definition counts twice. The properties of objects
 * beyond the last level move into the description. A definition may be copied with fewer levels. If the copies make the
 * schema more than twice as long, fewer levels remain.
 *
 * @param schema A `normalSchema`.
 * @returns The same object when it has no more than `most` levels.
 */
export function limitLevels(schema: JsonObject, most: number): JsonObject {
  const limiter = new Limiter(schema, most);
  if (limiter.isWithin) return schema;
  const room = 2 * JSON.stringify(schema).length;
  let fitted = schema;
  for (let left = most; left > 0; left >>= 1) {
    fitted = limiter.write(left);
    if (JSON.stringify(fitted).length <= room) break;
  }
  return fitted;
}

class Limiter {
  readonly #root: JsonObject;
  readonly #given: JsonObject;
  readonly #most: number;
  readonly #levels = new Map<JsonObject, number>();
  /** The references to definitions that alone have too many levels. */
  readonly #deep = new Set<string>();
  #steps = MAX_STEPS;
  /** The definitions to write, by name, each with the levels that it may have. */
  #needed = new Map<string, { reference: string; left: number }>();

  constructor(given: JsonObject, most: number) {
    const { $defs, ...root } = given;
    this.#root = root;
    this.#given = given;
    this.#most = most;
    const deep = Object.entries(objectOf($defs))
      .filter(([_name, one]) => this.#count(objectOf(one), [], most) > most);
    for (const [name] of deep) this.#deep.add(`#/$defs/${name}`);
  }

  get isWithin(): boolean {
    return this.#deep.size === 0 && this.#levelsOf(this.#root) <= this.#most;
  }

  /** Returns the number of levels of a schema; infinity when the schema has too many levels. */
  #levelsOf(schema: JsonObject): number {
    const known = this.#levels.get(schema) ??
      this.#count(schema, [], this.#most);
    this.#levels.set(schema, known);
    return known;
  }

  /** Counts levels as Moonshot's validator does: it follows each reference once on a path. */
  #count(schema: JsonObject, path: readonly string[], left: number): number {
    const isOver = left < 0 || this.#steps-- < 0 || path.length > MAX_PATH;
    if (isOver) return Infinity;
    const { $ref, properties } = schema;
    let levels = properties === undefined ? 0 : 1;
    const look = (inner: JsonObject, level: number, from = path) => {
      const below = this.#count(inner, from, left - level);
      levels = Math.max(levels, level + below);
      return inner;
    };
    if (typeof $ref === "string" && !path.includes($ref)) {
      if (this.#deep.has($ref)) return Infinity;
      // The first definition of a path may appear twice.
      const next = [...path, path.length === 0 ? "" : $ref];
      look(definitionOf($ref, this.#given), 0, next);
    }
    mapInside(present({ properties }), (inner) => look(inner, 1));
    mapInside(valuesIn(schema), (inner) => look(inner, 0));
    return levels;
  }

  write(most: number): JsonObject {
    this.#needed = new Map();
    const $defs: JsonObject = {};
    const write = (schema: JsonObject, left: number) => {
      const written = this.#limit(schema, left);
      for (const name of referencesIn(written)) {
        const reference = `#/$defs/${name}`;
        if (!this.#needed.has(name)) {
          this.#needed.set(name, { reference, left: most });
        }
      }
      return written;
    };
    const written = write(this.#root, most);
    // The map grows while it is read.
    for (const [name, { reference, left }] of this.#needed) {
      $defs[name] = write(definitionOf(reference, this.#given), left);
    }
    return this.#needed.size === 0 ? written : { ...written, $defs };
  }

  #limit(schema: JsonObject, left: number): JsonObject {
    if (this.#levelsOf(schema) <= left) return schema;
    const { $ref, properties } = schema;
    if (typeof $ref === "string") return this.#refer($ref, left);
    if (left === 0 && properties !== undefined) return beyond(schema);
    return {
      ...schema,
      ...mapInside(valuesIn(schema), (inner) => this.#limit(inner, left)),
      ...mapInside(
        present({ properties }),
        (inner) => this.#limit(inner, left - 1),
      ),
    };
  }

  /** Returns a reference to a definition with at most `left` levels. */
  #refer(reference: string, left: number): JsonObject {
    let name = `${reference.slice("#/$defs/".length)}_${left}`;
    while (Object.hasOwn(objectOf(this.#given.$defs), name)) name += "_";
    this.#needed.set(name, { reference, left });
    return { $ref: `#/$defs/${name}` };
  }
}

/**
 * Returns the keywords with schemas on the same level. Moonshot counts no levels in other keywords, such as `not`, so
 * they do not change.
 */
function valuesIn(schema: JsonObject): JsonObject {
  const { items, additionalProperties, anyOf } = schema;
  return present({ items, additionalProperties, anyOf });
}

function beyond(schema: JsonObject): JsonObject {
  const { type: _type, title: _title, description: _words, ...demanded } =
    schema;
  return withDescription(
    pickFields(schema, (field) => KEPT.includes(field)),
    `Must match ${JSON.stringify(demanded)}`.slice(0, MAX_WORDS),
  );
}
