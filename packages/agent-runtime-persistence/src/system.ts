import { createHash, hash, randomUUID } from 'node:crypto'
// oxlint-disable-next-line house/database-files -- for the kernel's boot id, not for a database
import { readFileSync } from 'node:fs'
import { hostname, uptime } from 'node:os'
import { assertDelay, type Environment } from '@ku0/agent-runtime-core'
import type { Clocks } from './clock-since-boot.ts'
import type { ProcessIdentity } from './process-identity.ts'

/** The real environment of a store: the only place here that reads the clock, draws chance or arms timers. */
export function systemEnvironment(): Environment {
  return {
    clock: { now: () => Date.now(), monotonic: () => Number(process.hrtime.bigint()) / 1e6 },
    timers: {
      after(delayMs, run) {
        assertDelay(delayMs)
        const timer = setTimeout(run, delayMs)
        return { cancel: () => clearTimeout(timer) }
      },
    },
    ids: { uuid: () => randomUUID() },
    random: { next: () => Math.random() },
    digest: {
      sha256: (bytes) => createHash('sha256').update(bytes).digest(),
      sha256Hex: (text) => hash('sha256', text, 'hex'),
    },
  }
}

/** Who this process is on this machine. */
export function systemIdentity(processId: string): ProcessIdentity {
  return { processId, host: hostname(), bootId: bootId(), pid: process.pid }
}

/** What the clocks here say at this moment; undefined where the machine does not say how long it has run. */
export function systemClocks(): Clocks | undefined {
  try {
    const machineMs = uptime() * 1000
    return {
      machineMs,
      processMs: process.uptime() * 1000,
      monotonicMs: systemEnvironment().clock.monotonic(),
    }
  } catch {
    // A sandbox may hide it.
    return undefined
  }
}

/** Lets the event loop run what waits for it. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}

const digestBytes = 32
/** Digests that share one piece of memory. All of it stays for as long as one of them is kept, so it is small. */
const digestsPerSlab = 64
let scratch = Buffer.allocUnsafe(4096)
let slab = Buffer.allocUnsafeSlow(digestsPerSlab * digestBytes)
let used = 0

/**
 * sha256 of a 32-byte digest followed by the text's UTF-8 bytes. A digest that comes out as a buffer has memory of its own, which costs as
 * much as the hash: as a latin1 text, written into a slab, it takes half of the time. Source: `docs/decisions/0024-what-a-flush-costs.md`.
 */
export function chainDigest(previous: Uint8Array, text: string): Uint8Array {
  const most = digestBytes + text.length * 3
  if (scratch.length < most) scratch = Buffer.allocUnsafe(most * 2)
  scratch.set(previous, 0)
  const end = digestBytes + scratch.write(text, digestBytes, 'utf8')
  const digest = hash('sha256', scratch.subarray(0, end), 'latin1')
  if (used === slab.length) {
    slab = Buffer.allocUnsafeSlow(digestsPerSlab * digestBytes)
    used = 0
  }
  slab.write(digest, used, 'latin1')
  used += digestBytes
  return slab.subarray(used - digestBytes, used)
}

/** What tells one boot of the machine from another. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    // Elsewhere: the second of the boot, rounded so that it reads the same all day.
    return `boot-${Math.round((Date.now() / 1000 - uptime()) / 10)}`
  }
}
