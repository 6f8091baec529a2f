/** The input that a task type takes: `unknown` for a name. */
export type InputOf<Task> = FlowOf<Task> extends { readonly input: infer Input } ? Input : unknown

/** The result of a task as JSON brings it: `unknown` for a name, or where a value has no form in JSON. */
export type ResultOf<Task> = FlowOf<Task> extends { readonly output: infer Output } ? Json<Output> : unknown

/**
 * The types that `defineTask` and `defineContract` give to the compiler, under a symbol of their own. They are read by their shape, so that this package
 * needs none of the runtime's.
 */
type FlowOf<Task> = [SymbolOf<Task>] extends [never] ? unknown : NonNullable<Task[SymbolOf<Task>]>

type SymbolOf<Task> = Task extends string ? never : Extract<keyof Task, symbol>

/** A value after its way through JSON. Dates, maps and the like come in the form of the codec, `{ "$ku0": […] }`. */
export type Json<Value> = Value extends string | number | boolean | null | undefined
  ? Value
  : Value extends Coded
    ? unknown
    : Value extends readonly unknown[]
      ? { readonly [Index in keyof Value]: Json<Value[Index]> }
      : Value extends object
        ? { readonly [Name in keyof Value]: Json<Value[Name]> }
        : unknown

type Coded =
  | Date
  | Error
  | RegExp
  | URL
  | bigint
  | symbol
  | ArrayBuffer
  | ArrayBufferView
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | ((...args: never[]) => unknown)
