/**
 * A schema of a task's input or output, from any library that implements Standard Schema (zod, valibot,
 * arktype, …). Source: https://standardschema.dev, version 1; the interface is meant to be copied.
 */
export interface Schema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => Checked<Output> | Promise<Checked<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

/** The value that a schema accepts: the type of `runtime.submit`'s input. */
export type InputOf<S extends Schema> = NonNullable<S['~standard']['types']>['input']
/** The value that a schema returns: the type of the handler's input. */
export type OutputOf<S extends Schema> = NonNullable<S['~standard']['types']>['output']

/** A schema's result: the parsed value, or the issues with it. */
export type Checked<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] }

/** One problem with a value, and where. */
export interface Issue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}
