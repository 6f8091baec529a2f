import type { Digest, Environment, Ids } from '../config/environment.ts'
import { SeededRandom } from './seeded-random.ts'
import { testDigest } from './node-digest.ts'
import { VirtualClock } from './virtual-clock.ts'

/** An environment of which a test holds the strings. */
export interface VirtualEnvironment extends Environment {
  readonly clock: VirtualClock
  readonly timers: VirtualClock
  readonly random: SeededRandom
}

/** Options of a test's environment. */
export interface VirtualOptions {
  /** The time of the wall clock at the start, epoch ms. */
  readonly startAt?: number
  /** Another digest than {@link testDigest}. */
  readonly digest?: Digest
}

/**
 * An environment in which everything follows from the seed: the same seed, the same ids and draws; time
 * stands still.
 */
export function createVirtualEnvironment(
  seed: number | string,
  options: VirtualOptions = {},
): VirtualEnvironment {
  const clock = new VirtualClock(options.startAt)
  const random = new SeededRandom(seed)
  return {
    clock,
    timers: clock,
    random,
    ids: seededIds(random.fork('ids')),
    digest: options.digest ?? testDigest,
  }
}

/** UUIDs of version 4 from a generator of their own. */
function seededIds(random: SeededRandom): Ids {
  const digits = () => random.bits().toString(16).padStart(8, '0')
  return {
    uuid() {
      const [a, b, c, d] = [digits(), digits(), digits(), digits()]
      const variant = '89ab'.charAt(random.int(4))
      return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-${variant}${c.slice(1, 4)}-${c.slice(4)}${d}`
    },
  }
}
