interface Node<T> {
  readonly value: T;
  previous: Node<T> | undefined;
  next: Node<T> | undefined;
  isIn: boolean;
}

/** Takes a value out of its list; only the first call counts. */
export type TakeOut = () => void;

/**
 * Values in the order in which they were added, any of which can be taken out at once.
 *
 * It is for what comes and goes with every request. A `Set` that lives long gets a new table again and again, and
 * V8 links each old table, with what it held, to the next: once one of them counts as old, all that follow outlive
 * the cheap collections of young garbage, and so does whatever was in them.
 */
export class LinkedList<T> implements Iterable<T> {
  #first: Node<T> | undefined;
  #last: Node<T> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The value that has been in the list for longest; `undefined` when there is none. */
  get first(): T | undefined {
    return this.#first?.value;
  }

  /** Adds a value behind the others. */
  add(value: T): TakeOut {
    const node: Node<T> = {
      value,
      previous: this.#last,
      next: undefined,
      isIn: true,
    };
    if (node.previous === undefined) this.#first = node;
    else node.previous.next = node;
    this.#last = node;
    this.#size++;
    return () => {
      if (node.isIn) this.#remove(node);
    };
  }

  /** Takes out the value that has been in the list for longest. */
  shift(): T | undefined {
    const first = this.#first;
    if (first !== undefined) this.#remove(first);
    return first?.value;
  }

  /** From the oldest on; no value but the one that was given last may be taken out meanwhile. */
  *[Symbol.iterator](): Iterator<T> {
    let node = this.#first;
    while (node !== undefined) {
      const { next } = node;
      yield node.value;
      node = next;
    }
  }

  /** A node that is out must not lead to others, or it would keep them as a table of a `Set` does. */
  #remove(node: Node<T>): void {
    const { previous, next } = node;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    node.previous = undefined;
    node.next = undefined;
    node.isIn = false;
    this.#size--;
  }
}
