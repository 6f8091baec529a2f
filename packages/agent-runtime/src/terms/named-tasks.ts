/** A task that a definition starts by itself, such as a child of a supervisor. */
export interface NamedPart {
  /** The place in the definition: `child 'score' task`. */
  readonly place: string
  readonly type: string
}

/** The tasks that definitions start, by their handlers: a copy of a definition has the same handler. */
const named = new WeakMap<object, () => readonly NamedPart[]>()

/** Keeps which tasks a definition starts, and gives the definition. `kind`: the word for it, such as `supervisor`. */
export function naming<Definition extends { readonly type: string; readonly handler: object }>(
  definition: Definition,
  kind: string,
  parts: () => readonly NamedPart[],
): Definition {
  const { type, handler } = definition
  named.set(handler, () => parts().map((part) => ({ ...part, place: `${kind} '${type}': ${part.place}` })))
  return definition
}

/** The tasks that a definition starts, each with its place; none for a task type whose handler says what it starts. */
export function namedBy({ handler }: { readonly handler: object }): readonly NamedPart[] {
  return named.get(handler)?.() ?? []
}
