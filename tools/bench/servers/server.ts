import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** A server that one run has to itself. */
export interface Server {
  readonly url: string
  readonly pid: number
  readonly stop: () => Promise<void>
}

/** Waits until somebody listens there. */
export async function listening(port: number, limitMs: number): Promise<void> {
  const until = performance.now() + limitMs
  while (performance.now() < until) {
    if (await canConnect(port)) return
    await sleep(20)
  }
  throw new Error(`nobody listens on port ${port} after ${limitMs / 1000} s`)
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
