import type { Runtime } from '@ku0/agent-runtime'
import type { SimulatedProcess } from './process.ts'

/** A call that somebody makes by way of a process. */
export type ClientCall = (
  process: SimulatedProcess,
  what: string,
  call: (runtime: Runtime) => Promise<unknown>,
) => void
