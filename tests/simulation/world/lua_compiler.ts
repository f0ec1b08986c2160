const TOKEN_REGEXP =
  /(?<space>\s+|--[^\n]*)|(?<name>[A-Za-z_]\w*)|(?<value>\d+(?:\.\d+)?|'[^'\\\n]*'|"[^"\\\n]*")|(?:\.\.\.|\.\.|[=~<>]=|[-+*/#<>=(){}[\];,.])/y;

interface Token {
  readonly text: string;
  readonly kind: "name" | "value" | "mark";
  readonly line: number;
}

/** An expression in JavaScript. */
interface Code {
  readonly js: string;
  /** True for an expression with several values. Only at the end of a list do all of them count. */
  readonly isList?: boolean;
  readonly isCall?: boolean;
  /** Returns the statement that assigns a value to the expression. */
  readonly assign?: (value: string) => string;
}

/** The binary operators, from the weakest to the strongest, with their functions in the runtime. */
const BINARY: readonly ReadonlyMap<string, string>[] = [
  new Map([["or", "or"]]),
  new Map([["and", "and"]]),
  new Map([
    ...[["==", "isSame"], ["~=", "isOther"], ["<", "isLess"]] as const,
    ...[["<=", "isAtMost"], [">", "isMore"], [">=", "isAtLeast"]] as const,
  ]),
  new Map([["..", "join"]]),
  new Map([["+", "add"], ["-", "subtract"]]),
  new Map([["*", "multiply"], ["/", "divide"]]),
];

const UNARY: ReadonlyMap<string, string> = new Map(
  [["not", "not"], ["-", "negate"], ["#", "length"]],
);

const CONSTANTS: ReadonlyMap<string, string> = new Map(
  [["nil", "undefined"], ["true", "true"], ["false", "false"]],
);

/** The keywords, which cannot be names. */
const KEYWORDS = new Set(
  "and break do else elseif end false for function if in local nil not or repeat return then true until while"
    .split(" "),
);

/** The words that end a block; a script ends with an empty one. */
const BLOCK_ENDS = new Set(["end", "else", "elseif", ""]);

/**
 * Compiles a script of the store to the body of a function in JavaScript, which returns a list of values. It knows the
 * part of Lua 5.1 (https://www.lua.org/manual/5.1/manual.html#8) that the scripts use.
 *
 * @returns The body, in which `lua` is the runtime, and `globals` has the global variables.
 * @throws {SyntaxError} For everything else.
 */
export function compileLua(source: string): string {
  return new Compiler(tokensOf(source)).script();
}

function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  const pattern = new RegExp(TOKEN_REGEXP);
  while (pattern.lastIndex < source.length) {
    const found = pattern.exec(source);
    if (found === null) throw new SyntaxError(`Line ${line} is no Lua`);
    const [text] = found;
    const { space, name, value } = found.groups ?? {};
    const kind = name !== undefined
      ? "name"
      : value !== undefined
      ? "value"
      : "mark";
    if (space === undefined) tokens.push({ text, kind, line });
    line += text.split("\n").length - 1;
  }
  return [...tokens, { text: "", kind: "mark", line }];
}

/** A recursive descent compiler from Lua to JavaScript. */
class Compiler {
  readonly #tokens: readonly Token[];
  #at = 0;
  /** The local variables of each open block, by name, with their names in JavaScript. */
  readonly #scopes: Map<string, string>[] = [];
  #names = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  script(): string {
    const body = this.#block();
    this.#take("");
    return `${body}return [];`;
  }

  get #next(): Token {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new SyntaxError("The script ends too early");
    return token;
  }

  #fail(): never {
    const { text, line } = this.#next;
    throw new SyntaxError(
      `"${text}" in line ${line} is not supported`,
    );
  }

  #is(text: string): boolean {
    return this.#next.text === text;
  }

  /** Skips a token if it is the next one. Returns true if it was. */
  #skip(text: string): boolean {
    if (!this.#is(text)) return false;
    this.#at++;
    return true;
  }

  #take(text: string): void {
    if (!this.#is(text)) this.#fail();
    this.#at++;
  }

  #name(): string {
    const { text, kind } = this.#next;
    if (kind !== "name" || KEYWORDS.has(text)) this.#fail();
    this.#at++;
    return text;
  }

  /** Declares a local variable, and returns its name in JavaScript. */
  #declare(name: string): string {
    const own = `${name}$${this.#names++}`;
    this.#scopes.at(-1)?.set(name, own);
    return own;
  }

  /** Compiles a block with these local variables, and returns their names in JavaScript with the code. */
  #blockWith(names: readonly string[]): readonly [own: string[], body: string] {
    this.#scopes.push(new Map());
    const own = names.map((name) => this.#declare(name));
    let body = "";
    while (!BLOCK_ENDS.has(this.#next.text)) body += `${this.#statement()}\n`;
    this.#scopes.pop();
    return [own, body];
  }

  #block(): string {
    return this.#blockWith([])[1];
  }

  #statement(): string {
    if (this.#skip("local")) return this.#local();
    if (this.#skip("if")) return this.#if();
    if (this.#skip("for")) return this.#for();
    if (this.#skip("return")) {
      const isEmpty = BLOCK_ENDS.has(this.#next.text);
      return `return [${isEmpty ? "" : listOf(this.#expressions())}];`;
    }
    const target = this.#suffixed();
    if (target.isCall) return `${target.js};`;
    this.#take("=");
    return target.assign?.(one(this.#expression())) ?? this.#fail();
  }

  #local(): string {
    if (this.#skip("function")) {
      const own = this.#declare(this.#name());
      return `const ${own} = ${this.#function()};`;
    }
    const names = this.#separated(() => this.#name());
    const values = this.#skip("=") ? this.#expressions() : [];
    // Values are compiled first: they cannot see their own variables.
    const own = names.map((name) => this.#declare(name));
    const [first, second] = values;
    if (first === undefined) return `let ${own};`;
    if (second !== undefined) return `let [${own}] = [${listOf(values)}];`;
    return own.length === 1
      ? `let ${own} = ${one(first)};`
      : `let [${own}] = ${first.isList ? first.js : `[${first.js}]`};`;
  }

  /** Compiles parameters and a body. */
  #function(): string {
    this.#take("(");
    const isOpen = this.#skip("...");
    const names = isOpen || this.#is(")")
      ? []
      : this.#separated(() => this.#name());
    this.#take(")");
    const [own, body] = this.#blockWith(names);
    this.#take("end");
    return `(${isOpen ? "...rest" : own}) => {\n${body}return [];\n}`;
  }

  #if(): string {
    const condition = one(this.#expression());
    this.#take("then");
    const start = `if (lua.isTrue(${condition})) {\n${this.#block()}}`;
    if (this.#skip("elseif")) return `${start} else ${this.#if()}`;
    const rest = this.#skip("else") ? ` else {\n${this.#block()}}` : "";
    this.#take("end");
    return start + rest;
  }

  #for(): string {
    const names = this.#separated(() => this.#name());
    this.#take("in");
    const values = one(this.#expression());
    this.#take("do");
    const [own, body] = this.#blockWith(names);
    this.#take("end");
    return `for (let [${own}] of ${values}) {\n${body}}`;
  }

  #expressions(): Code[] {
    return this.#separated(() => this.#expression());
  }

  #separated<One>(read: () => One): One[] {
    const list = [read()];
    while (this.#skip(",")) list.push(read());
    return list;
  }

  #expression(level = 0): Code {
    const operators = BINARY[level];
    if (operators === undefined) return this.#unary();
    let left = this.#expression(level + 1);
    for (;;) {
      const { text } = this.#next;
      const run = operators.get(text);
      if (run === undefined) return left;
      this.#at++;
      const right = one(this.#expression(level + 1));
      const isLazy = text === "and" || text === "or";
      left = {
        js: `lua.${run}(${one(left)}, ${isLazy ? "() => " : ""}${right})`,
      };
    }
  }

  #unary(): Code {
    const run = UNARY.get(this.#next.text);
    if (run === undefined) return this.#simple();
    this.#at++;
    return { js: `lua.${run}(${one(this.#unary())})` };
  }

  #simple(): Code {
    const { text, kind } = this.#next;
    const constant = kind === "value" ? text : CONSTANTS.get(text);
    if (constant !== undefined) {
      this.#at++;
      return { js: constant };
    }
    if (this.#skip("...")) return { js: "rest", isList: true };
    return this.#skip("{") ? this.#table() : this.#suffixed();
  }

  #table(): Code {
    const items: Code[] = [];
    let fields = "";
    while (!this.#is("}")) {
      const isNamed = this.#tokens[this.#at + 1]?.text === "=";
      if (isNamed) {
        const name = this.#name();
        this.#take("=");
        fields += `["${name}", ${one(this.#expression())}],`;
      } else items.push(this.#expression());
      if (!this.#skip(",")) break;
    }
    this.#take("}");
    return { js: `lua.table([${listOf(items)}], [${fields}])` };
  }

  /** Compiles a variable, its fields and its calls. */
  #suffixed(): Code {
    let code = this.#variable();
    for (;;) {
      const { js } = code;
      if (this.#skip("(")) {
        const values = this.#is(")") ? "" : listOf(this.#expressions());
        this.#take(")");
        code = { js: `${one(code)}(${values})`, isList: true, isCall: true };
      } else if (this.#is(".") || this.#is("[")) {
        const of = one(code);
        const key = this.#key();
        code = {
          js: `lua.at(${of}, ${key})`,
          assign: (value) => `lua.put(${of}, ${key}, ${value});`,
        };
      } else return { ...code, js };
    }
  }

  #variable(): Code {
    if (this.#skip("(")) {
      const js = one(this.#expression());
      this.#take(")");
      return { js };
    }
    const name = this.#name();
    const own = this.#scopes.findLast((scope) => scope.has(name))?.get(name);
    return own === undefined
      ? { js: `globals.${name}` }
      : { js: own, assign: (value) => `${own} = ${value};` };
  }

  #key(): string {
    if (this.#skip(".")) return `"${this.#name()}"`;
    this.#take("[");
    const key = one(this.#expression());
    this.#take("]");
    return key;
  }
}

/** Returns the first value of an expression. */
function one({ js, isList }: Code): string {
  return isList ? `${js}[0]` : js;
}

/** Returns the values of expressions, as the parameters of a call. */
function listOf(codes: readonly Code[]): string {
  return codes.map((code, at) =>
    code.isList && at === codes.length - 1 ? `...${code.js}` : one(code)
  ).join(", ");
}
