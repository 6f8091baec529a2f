import fc from 'fast-check'
import type { Piece } from '../../../agent-runtime-core/test/fuzz/pieces.ts'
import { wrongWith } from '../../../agent-runtime-core/test/fuzz/told.ts'
import type { Door } from './calls.ts'
import type { World } from './world.ts'

/** A call with all that it is given, told as one would write it. */
export class Call<W = World> {
  readonly #name: string
  readonly #door: Door<W>
  readonly #given: readonly Piece[]

  constructor(name: string, door: Door<W>, given: readonly Piece[]) {
    this.#name = name
    this.#door = door
    this.#given = given
  }

  async make(world: W): Promise<'answered' | 'refused' | 'waits'> {
    const given = this.#given.map(({ make }) => make()) as never[]
    const outcome = await within(
      (async () => {
        const answer = await this.#door.open(world, ...given)
        await this.#door.keeps?.(world, answer as never, ...given)
      })(),
      mayWait.has(this.#name) ? 5_000 : 25_000,
    )
    if (outcome === 'waits' && !mayWait.has(this.#name)) throw new Error('it is never answered')
    if (typeof outcome === 'string') return outcome
    const { error } = outcome
    if (error instanceof Error && error.name === 'AssertionError') throw error
    // Whoever aborts a call says with what it ends.
    if (error instanceof DOMException && error.name === 'AbortError') return 'refused'
    const wrong = wrongWith(error)
    if (wrong !== undefined) throw new Error(wrong)
    return 'refused'
  }

  toString(): string {
    return `${this.#name}(${this.#given.map(({ text }) => text).join(', ')})`
  }

  [fc.toStringMethod](): string {
    return this.toString()
  }
}

/** A call for the end of a task that has none waits for it. Any other is answered, however loaded the machine is. */
const mayWait = new Set(['result'])

async function within(
  call: Promise<void>,
  ms: number,
): Promise<'answered' | 'waits' | { readonly error: unknown }> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'waits'>((resolve) => {
    timer = setTimeout(() => resolve('waits'), ms)
  })
  const end = call.then(
    () => 'answered' as const,
    (error: unknown) => ({ error }),
  )
  try {
    return await Promise.race([end, late])
  } finally {
    clearTimeout(timer)
  }
}

export function callsOf<W>(table: Readonly<Record<string, Door<W>>>): fc.Arbitrary<Call<W>> {
  return fc.oneof(
    ...Object.entries(table).map(([name, door]) =>
      fc.tuple(...door.given).map((given) => new Call(name, door, given)),
    ),
  )
}
