/**
 * What a task type takes and gives, as a schema of any library that speaks Standard Schema (zod, valibot, arktype, …).
 * Source: https://standardschema.dev, version 1; the interface is meant to be copied.
 */
export interface Schema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => Checked<Output> | Promise<Checked<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

/** What goes into a schema: the type of `runtime.submit`'s input. */
export type InputOf<S extends Schema> = NonNullable<S['~standard']['types']>['input']
/** What comes out of it: the type of the handler's input. */
export type OutputOf<S extends Schema> = NonNullable<S['~standard']['types']>['output']

/** A schema's answer: the parsed value, or what is wrong with it. */
export type Checked<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] }

/** One thing that is wrong with a value, and where. */
export interface Issue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}
