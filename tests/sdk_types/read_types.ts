import { join } from "node:path";
import ts from "npm:typescript@6.0.3";
import type { JsonObject, JsonValue } from "../../src/base/json.ts";
import { ENTRIES, type Entry, type Sdk } from "./entries.ts";
import {
  createSampler,
  isObjectLike,
  isOptional,
  reference,
} from "./sample.ts";

/** A field, or a kind of object, of a wire type, with bodies that show its translation. */
export interface TypedField {
  /** Such as `messages.request content[tool_use].input`. */
  readonly path: string;
  readonly entry: Entry;
  readonly probes: Probe[];
}

/** Two bodies that differ in one field, and one without the object that has the field. */
export interface Probe {
  readonly having: JsonObject;
  readonly without: JsonObject;
  readonly bare: JsonObject;
  /** The number of the field's place, if it may occur in several. */
  readonly place: number;
}

/**
 * Reads the fields of all entry types, in the order of the types. The `type` or `role` of an object names its kind.
 * Paths to the same kind are one field.
 *
 * @param folders The folders of the packages.
 * @throws {Error} When a package no longer has a type.
 */
export function readTypes(
  folders: Readonly<Record<Sdk, string>>,
): ReadonlyMap<string, TypedField> {
  const fileOf = ({ sdk, file }: Entry) => join(folders[sdk], file);
  const program = ts.createProgram([...new Set(ENTRIES.map(fileOf))], {
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es5.d.ts"],
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  });
  const checker = program.getTypeChecker();
  const fields = new Map<string, TypedField>();
  for (const entry of ENTRIES) {
    const source = program.getSourceFile(fileOf(entry));
    const module = source && checker.getSymbolAtLocation(source);
    const symbol = module &&
      checker.getExportsOfModule(module).find(({ name }) =>
        name === entry.type
      );
    if (symbol === undefined) {
      throw new Error(
        `Cannot read the types of ${entry.sdk}: ${entry.file} has no ${entry.type}. Mend tests/sdk_types/entries.ts`,
      );
    }
    walkType(checker.getDeclaredTypeOfSymbol(symbol), {
      checker,
      entry,
      fields,
    });
  }
  return fields;
}

interface Walk {
  readonly checker: ts.TypeChecker;
  readonly entry: Entry;
  readonly fields: Map<string, TypedField>;
}

/** Puts a value into the smallest body that may have it; `undefined` leaves it out. */
type Wrap = (value: JsonValue | undefined) => JsonObject;

/** The position of a walk: a property and the bodies around it. */
interface Place {
  readonly path: string;
  readonly property: string;
  readonly wrap: Wrap;
  /** The body without the object that has the property. */
  readonly bare: JsonObject;
  readonly depth: number;
}

/** The deepest walk, deeper than any present type. Unnamed types could recurse without end. */
const MAX_DEPTH = 9;

/** Properties with the same content as another one. */
const SAME_AS: Readonly<Record<string, string>> = { definition: "tools" };

function walkType(root: ts.Type, { checker, entry, fields }: Walk): void {
  const scope = `${entry.protocol}.${entry.side}`;
  const sampler = createSampler(checker);
  const seen = new Set<string>();

  // The shortest way to each kind comes first.
  const queue: (() => void)[] = [];
  let places = 0;

  function visit(type: ts.Type, place: Place): void {
    if (place.depth > MAX_DEPTH) {
      throw new Error(`Cannot read ${place.path}: it is nested too deep`);
    }
    if (type.isUnion()) {
      for (const one of type.types) visit(one, place);
    } else if (checker.isArrayType(type) || checker.isTupleType(type)) {
      for (const one of checker.getTypeArguments(reference(type))) {
        visit(one, {
          ...place,
          wrap: (value) => place.wrap(value === undefined ? [] : [value]),
        });
      }
    } else if (isObject(type)) visitObject(type, place);
  }

  function visitObject(type: ts.Type, place: Place): void {
    const kind = kindOf(type);
    const name = SAME_AS[place.property] ?? place.property;
    const path = kind === undefined ? place.path : `${scope} ${name}[${kind}]`;
    const roles = rolesOf(type);
    const key = `${path} ${checker.typeToString(type)}`;
    if (seen.has(key)) return;
    seen.add(key);
    if (kind !== undefined && place.property !== "") {
      add(path, {
        having: place.wrap(sampler.least(type)),
        without: place.wrap(undefined),
        bare: place.wrap(undefined),
        place: ++places,
      });
    }
    for (const property of checker.getPropertiesOfType(type)) {
      const isName = property.name === "type" || property.name === "role";
      if (kind !== undefined && isName) continue;
      for (const role of roles) {
        const others = { ...sampler.least(type, property.name), ...role };
        visitProperty(property, {
          path: `${path}.${property.name}`,
          property: property.name,
          depth: place.depth + 1,
          bare: place.wrap(undefined),
          wrap: (value) =>
            place.wrap(
              value === undefined
                ? others
                : { ...others, [property.name]: value },
            ),
        });
      }
    }
  }

  function visitProperty(property: ts.Symbol, place: Place): void {
    const type = checker.getTypeOfSymbol(property);
    const values = sampler.values(type, property.name);
    const [first, second] = values;
    const here = ++places;
    for (const value of values) {
      const other = isOptional(property) || second === undefined
        ? undefined
        : value === first
        ? second
        : first;
      add(place.path, {
        having: place.wrap(value),
        without: place.wrap(other),
        bare: place.bare,
        place: here,
      });
    }
    if (values.length === 0) fieldAt(place.path);
    if (entry.closed.includes(property.name)) return;
    queue.push(() => visit(type, place));
  }

  function add(path: string, probe: Probe): void {
    fieldAt(path).probes.push(probe);
  }

  function fieldAt(path: string): TypedField {
    const field = fields.get(path) ?? { path, entry, probes: [] };
    fields.set(path, field);
    return field;
  }

  /** Returns the literals of the property that names the kind; `undefined` if there are none. */
  function kindOf(type: ts.Type): string | undefined {
    for (const name of ["type", "role"]) {
      const words = literalsOf(type, name);
      if (words.length > 1 && name === "role") return undefined;
      if (words.length > 0) return words.sort().join("|");
    }
    return undefined;
  }

  /** Returns the fields that set each role, for a kind of object with several roles. */
  function rolesOf(type: ts.Type): readonly JsonObject[] {
    const words = literalsOf(type, "role");
    return words.length > 1 ? words.map((role) => ({ role })) : [{}];
  }

  function literalsOf(type: ts.Type, name: string): string[] {
    const property = checker.getPropertyOfType(type, name);
    if (property === undefined) return [];
    const found = checker.getTypeOfSymbol(property);
    const types = (found.isUnion() ? found.types : [found]).filter((one) =>
      !(one.flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Null))
    );
    const words = types.flatMap((one) =>
      one.isStringLiteral() ? [one.value] : []
    );
    return words.length === types.length ? words : [];
  }

  visit(root, {
    path: scope,
    property: "",
    depth: 0,
    bare: {},
    wrap: (value) => isBody(value) ? value : {},
  });
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    next();
  }
}

function isObject(type: ts.Type): boolean {
  return isObjectLike(type) && type.getCallSignatures().length === 0;
}

function isBody(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
