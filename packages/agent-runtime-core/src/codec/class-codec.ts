import { RuntimeError } from '../error/errors.ts'
import { describeError } from '../error/record.ts'

/** How the instances of one class are written and read. */
export interface RegisteredCodec {
  /** Instances of exactly this class: a subclass would come back as another class than it was. */
  readonly prototype: object
  readonly name: string
  readonly version: number
  readonly encode: (value: object) => unknown
  readonly decode: (data: unknown, version: number) => unknown
}

/** Seals the text of a value before it is stored, such as by encryption. */
export interface Seal {
  readonly seal: (text: string) => Uint8Array
  readonly unseal: (bytes: Uint8Array) => string
}

/** The codecs that a program reads stored values with. */
export interface ValueReader {
  readonly byName: ReadonlyMap<string, RegisteredCodec>
  readonly seal: Seal | undefined
}

/** Throws `value_unreadable`, also when the codec throws. An older version is the codec's to read, a newer one is not. */
export function decoderOf(
  reader: ValueReader | undefined,
  name: string,
  stored: number,
): (data: unknown, version: number) => unknown {
  const codec = reader?.byName.get(name)
  const wanted = `codec '${name}' in version ${stored}`
  if (codec === undefined) throw unreadable(`it needs ${wanted}, which this program does not register`)
  if (codec.version < stored)
    throw unreadable(`it needs ${wanted}, and this program registers version ${codec.version}`)
  return (data, version) => {
    try {
      return codec.decode(data, version)
    } catch (cause) {
      throw unreadable(`${wanted} threw: ${describeError(cause).message}`, cause)
    }
  }
}

/** Throws `value_unreadable`, also when the seal throws: the key is another one. */
export function unseal(reader: ValueReader | undefined, bytes: Uint8Array): string {
  if (reader?.seal === undefined) throw unreadable('it is encrypted, and this program has no payloadCodec')
  try {
    return reader.seal.unseal(bytes)
  } catch (cause) {
    throw unreadable(
      `payloadCodec.decrypt threw, as it does with another key: ${describeError(cause).message}`,
      cause,
    )
  }
}

/** A value that this program cannot read. Nothing is lost: a program that has what is missing reads it. */
export function unreadable(reason: string, cause?: unknown): RuntimeError {
  return new RuntimeError('value_unreadable', `a stored value cannot be read: ${reason}`, {
    details: { reason },
    ...(cause === undefined ? {} : { cause }),
  })
}
