import type { StoredClasses } from './codecs.ts'

/**
 * Whether a value of a type can be stored, as far as the compiler can tell: `unknown` where it can, and otherwise a type that says in words
 * what cannot be and what to do. JSON, Date, Map, Set, BigInt, Error and Uint8Array can; functions, promises, URLs
 * and what has methods cannot. `any`, `unknown` and type parameters pass: what they hold is looked at when it is stored. Source:
 * `docs/semantics.md 7.4`.
 */
export type Storable<T> =
  Judged<T> extends Refused ? NotStorable<Extract<Judged<T>, Refused>['because']> : unknown

/** A value that cannot be stored. `Because` says why, and what to do. */
export interface NotStorable<Because extends string> {
  readonly 'this value cannot be stored': Because
}

interface Refused {
  readonly because: string
}

/** Never a bare `never`: so that a type parameter, of which nothing is known, is taken for storable. */
type Judged<T> = [Fault<T, 'it', []>] extends [never] ? 'storable' : { readonly because: Fault<T, 'it', []> }

/** Looked at so deep; what is deeper is looked at when it is stored. */
type MaxDepth = 5

type Fault<T, At extends string, Depth extends readonly 0[]> = 0 extends 1 & T
  ? never
  : unknown extends T
    ? never
    : Depth['length'] extends MaxDepth
      ? never
      : FaultOf<T, At, Depth>

/** For each member of a union. */
// oxlint-disable-next-line typescript/no-redundant-type-constituents -- `Stored` is never only until a program adds to it.
type FaultOf<T, At extends string, Depth extends readonly 0[]> = T extends Atom | Date | Error | Stored
  ? never
  : T extends Uint8Array
    ? T extends { readUInt8: unknown }
      ? `${At} is a Buffer: return new Uint8Array(it)`
      : never
    : T extends readonly (infer Item)[]
      ? Fault<Item, `${At}[number]`, [...Depth, 0]>
      : T extends Callable
        ? `${At} is a function: return data`
        : T extends Foreign
          ? ForeignFault<T, At>
          : T extends ReadonlyMap<infer Key, infer Value>
            ? Fault<Key, `a key of ${At}`, [...Depth, 0]> | Fault<Value, `a value of ${At}`, [...Depth, 0]>
            : T extends ReadonlySet<infer Item>
              ? Fault<Item, `an item of ${At}`, [...Depth, 0]>
              : T extends object
                ? [MethodOf<T>] extends [never]
                  ? { [K in NameIn<T>]-?: Fault<T[K], `${At}.${K}`, [...Depth, 0]> }[NameIn<T>]
                  : `${At} has methods: return plain data, or give the step a toStorable`
                : `${At} is a symbol: return data`

/** An instance of a class that has a codec. */
type Stored = StoredClasses[keyof StoredClasses]
type Atom = string | number | bigint | boolean | null | undefined | void
type NameIn<T> = keyof T & (string | number)
/** The names of methods; one is enough. */
type MethodOf<T> = { [K in NameIn<T>]-?: IsMethod<T[K]> extends true ? K : never }[NameIn<T>]
type IsMethod<P> = 0 extends 1 & P
  ? false
  : [P] extends [never]
    ? false
    : [P] extends [Callable]
      ? true
      : false
type Callable = ((...given: never) => unknown) | (abstract new (...given: never) => unknown)

/** What is neither data nor a class of the program's, told by its methods: the libraries that name these need not be loaded. */
type Foreign =
  | PromiseLike<unknown>
  | { readonly href: string; readonly searchParams: unknown }
  | { readonly getAll: Callable; readonly append: Callable }
  | { readonly getReader: Callable }
  | { readonly pipe: Callable }
  | { readonly arrayBuffer: Callable }
  | { readonly exec: Callable; readonly lastIndex: number }
  | { readonly [Symbol.asyncIterator]: Callable }

type ForeignFault<T, At extends string> =
  T extends PromiseLike<unknown>
    ? `${At} is a promise: await it first`
    : T extends { readonly href: string }
      ? `${At} is a URL: return its href`
      : T extends { readonly arrayBuffer: Callable }
        ? `${At} is a response, a request or a blob: read it, and return what it holds`
        : T extends
              | { readonly getReader: Callable }
              | { readonly pipe: Callable }
              | { readonly [Symbol.asyncIterator]: Callable }
          ? `${At} is a stream: read it, and return what it holds`
          : T extends { readonly exec: Callable }
            ? `${At} is a regular expression: return its source`
            : `${At} is a form or search parameters: return its entries`
