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

let scratch = Buffer.allocUnsafe(4096)

/** sha256 of a 32-byte digest followed by the text's UTF-8 bytes, without garbage. */
export function chainDigest(previous: Uint8Array, text: string): Uint8Array {
  const most = 32 + text.length * 3
  if (scratch.length < most) scratch = Buffer.allocUnsafe(most * 2)
  scratch.set(previous, 0)
  const end = 32 + scratch.write(text, 32, 'utf8')
  return hash('sha256', scratch.subarray(0, end), 'buffer')
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
