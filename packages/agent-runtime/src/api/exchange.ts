import type { InputOf, OutputOf, Schema } from './schema.ts'

/** Schemas by name. A name that ends in `*` stands for all names that begin so: `'reply *'` for `'reply 1'` and `'reply 2'`. */
export type Schemas = Readonly<Record<string, Schema>>

/**
 * The schemas of what a task receives and emits while it runs, as its task type declares them. A handler's
 * context, a receipt and the id in it carry them in their types.
 */
export interface Exchange {
  readonly signals?: Schemas | undefined
  readonly approvals?: Schemas | undefined
  readonly emits?: Schema | undefined
}

/** The type information of a task type's receipts and ids: its schemas, or nothing where it declares none. */
export type ExchangeOf<
  Signals extends Schemas | undefined,
  Approvals extends Schemas | undefined,
  Emits extends Schema | undefined,
> = [undefined, undefined, undefined] extends [Signals, Approvals, Emits]
  ? Exchange
  : Declarations<Signals, Approvals, Emits>

/** The schemas of one task type, each undefined where it declares none. */
export interface Declarations<
  Signals extends Schemas | undefined,
  Approvals extends Schemas | undefined,
  Emits extends Schema | undefined,
> {
  readonly signals: Signals
  readonly approvals: Approvals
  readonly emits: Emits
}

/** The names of signals that a task type declares; any text where it declares none. */
export type SignalNames<X> = Names<Declared<X, 'signals'>>
/** The result of `ctx.waitForSignal`: the value that the signal's schema returns, or `Otherwise` where none is declared. */
export type SignalOf<X, Name, Otherwise = unknown> = Returned<Declared<X, 'signals'>, Name, Otherwise>
/** The value that the sender of a signal passes: one that its schema accepts. */
export type SignalInput<X, Name> = Accepted<Declared<X, 'signals'>, Name>

/** The keys of approvals that a task type declares; any text where it declares none. */
export type ApprovalNames<X> = Names<Declared<X, 'approvals'>>
/** The value of an approval: what its schema returns, or `Otherwise` where none is declared. */
export type ApprovalOf<X, Name, Otherwise = unknown> = Returned<Declared<X, 'approvals'>, Name, Otherwise>
/** The value that a reviewer passes with an approval: one that its schema accepts. */
export type ApprovalInput<X, Name> = Accepted<Declared<X, 'approvals'>, Name>

/** The value that `ctx.emit` takes: one that the schema of `emits` accepts, or anything that can be stored. */
export type Emitted<X> = 0 extends 1 & X
  ? unknown
  : X extends { readonly emits: infer Chunk extends Schema }
    ? InputOf<Chunk>
    : unknown
/** The value that readers of a task's output get: the one that the schema of `emits` returns. */
export type ChunkOf<X> = 0 extends 1 & X
  ? unknown
  : X extends { readonly emits: infer Chunk extends Schema }
    ? OutputOf<Chunk>
    : unknown

/** The schemas that a type declares; undefined where it declares none, and for `any`, of which nothing is known. */
type Declared<X, Of extends 'signals' | 'approvals'> = 0 extends 1 & X
  ? undefined
  : X extends { readonly [K in Of]: infer Found extends Schemas }
    ? Found
    : undefined

type Names<Found> = Found extends Schemas ? NameOf<keyof Found> : string
type NameOf<Key> = Key extends `${infer Head}*` ? `${Head}${string}` : Key & string

/** The keys of the schemas that hold for a name. */
type KeysFor<Found, Name> = { [K in keyof Found]: Name extends NameOf<K> ? K : never }[keyof Found]

type Returned<Found, Name, Otherwise> = Found extends Schemas
  ? OutputOf<Found[KeysFor<Found, Name>]>
  : Otherwise
type Accepted<Found, Name> = Found extends Schemas ? InputOf<Found[KeysFor<Found, Name>]> : unknown
