import {
  type Inspection,
  inspectStore,
  isPostgresUrl,
  probeServer,
  type ServerReport,
  verifyStore,
} from '@ku0/agent-runtime-persistence'
import type { Served } from '../options.ts'
import { refusal } from '../problem/problem.ts'
import type { Verify } from './verifications.ts'

/** Looks after the store itself, beside the runtime that works on it. Each throws a 501 where nobody has said where the store is. */
export interface StoreCare {
  readonly verify: () => Verify
  readonly inspect: () => Promise<Inspection | ServerReport>
}

/** The care of the store at a URL; by default of the file that the runtime has open. */
export function storeCareOf(runtime: Served, given: string | undefined): StoreCare {
  const url = () => {
    const { kind, location } = runtime.info
    // A runtime that is itself a remote worker has its server's URL here.
    const isFile = kind === 'sqlite' && !/^https?:/i.test(location)
    const known = given ?? (isFile ? `sqlite:${location}` : undefined)
    if (known !== undefined) return known
    throw refusal(
      'no_store_place',
      kind === 'memory'
        ? 'the store is in memory: it has no file to look at'
        : 'the server does not know where its store is (the option storeUrl)',
    )
  }
  let looking: Promise<Inspection | ServerReport> | undefined
  return {
    verify: () => {
      const place = url()
      // A large store takes seconds for some slices, in which this thread would answer nobody.
      return (options) => verifyStore(place, { ...options, thread: true })
    },
    inspect: async () => {
      const place = url()
      // In a thread of its own as a verification: it counts all tasks, and writes to a scratch database of which each commit waits for the disk.
      const look = () => (isPostgresUrl(place) ? probeServer(place) : inspectStore(place, { thread: true }))
      // Whoever asks meanwhile gets the same: each look opens connections of its own.
      looking ??= look().finally(() => {
        looking = undefined
      })
      return looking
    },
  }
}
