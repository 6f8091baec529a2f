/** The URL of a store: `sqlite:runtime.db`, `sqlite::memory:`, that of a database server, or that of a server of the runtime. */
export type StoreUrl =
  | `sqlite:${string}`
  | `postgres://${string}`
  | `postgresql://${string}`
  | `https://${string}`
  | `http://${string}`

/**
 * Whether `store` may be what is given, as far as the compiler can tell: `unknown` where it may, and otherwise a type that says what to write. An
 * open store, a text that is put together at run time and a path that says so (`./runtime.db`) pass; what they hold is looked at when the store is
 * opened.
 */
export type KnownStore<Given> = Given extends string
  ? IsLiteral<Given> extends true
    ? Given extends StoreUrl | OtherSpelling
      ? unknown
      : NotAStoreUrl<RemedyFor<Given>>
    : unknown
  : unknown

/** A text that names no store. `Remedy` says what to write. */
export interface NotAStoreUrl<Remedy extends string> {
  readonly 'this is not the URL of a store': Remedy
}

/** A pattern such as `${string}.db` makes an index signature, which an empty object has; a literal makes a property. */
type IsLiteral<Text extends string> = Record<never, never> extends Record<Text, 1> ? false : true

/** Other ways to write a file, which are understood at run time. */
type OtherSpelling =
  | ':memory:'
  | `sqlite3:${string}`
  | `file:${string}`
  | `${'' | '.' | '..'}/${string}`
  | `${string}.${'db' | 'db3' | 'sqlite' | 'sqlite3'}`

type RemedyFor<Given extends string> = Given extends `${'pg' | 'postgres' | 'postgresql'}:${string}`
  ? 'write postgres://USER@HOST/DATABASE'
  : Given extends `${string}:${string}`
    ? 'write sqlite:PATH, such as sqlite:runtime.db, or sqlite::memory:'
    : `write sqlite:${Given} for a file`
