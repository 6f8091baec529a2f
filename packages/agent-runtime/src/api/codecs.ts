/**
 * How instances of one class of yours are stored, so that they come back as instances of it: in the results of steps, races and all, outputs,
 * inputs, signals, verdicts, chunks and checkpoints. Register it in the `codecs` of every program on the store that reads or writes such values.
 * A subclass needs a codec of its own. Source: `docs/semantics.md 7.4`.
 */
export interface Codec<Value extends object = object, Data = unknown> {
  /** The class. The prototype of a value must be this class's own. */
  readonly class: { readonly prototype: Value; readonly name: string }
  /** Its name in the store, 1 to 255 characters. Renaming it parks tasks that hold values under the old name. */
  readonly name: string
  /** A whole number from 1, the default. Raise it when `encode` returns data of another shape. */
  readonly version?: number | undefined
  /** Returns what can be stored. It is called at once and may not return a promise. */
  encode(value: Value): Data
  /** Makes the instance again. `version` is the one that wrote the data: this codec's own, or an older one. */
  decode(data: Data, version: number): Value
}

/**
 * Encrypts stored values: inputs, outputs, results, signals, verdicts, chunks, artifacts, checkpoints and schedules' inputs. Names, keys, labels,
 * error messages, progress reports, and who said what about an approval stay readable. Every program on the store that reads or writes values needs
 * it. Source: `docs/security.md`.
 */
export interface PayloadCodec {
  /**
   * Returns the same bytes each time for the same bytes: values are recognised by what is stored. `createRuntime` refuses a codec that does not.
   * It is called at once and may not return a promise.
   */
  encrypt(bytes: Uint8Array): Uint8Array
  /** Returns what was encrypted. Throws for bytes that were encrypted with another key: then the task is parked. */
  decrypt(bytes: Uint8Array): Uint8Array
}

/**
 * The classes that your codecs store, so that the compiler takes them for storable. Add yours:
 *
 *     declare module '@ku0/agent-runtime' { interface StoredClasses { money: Money } }
 */
export interface StoredClasses {}
