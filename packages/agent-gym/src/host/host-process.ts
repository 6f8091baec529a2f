import { type ChildProcess, spawn } from 'node:child_process'
import type { Note } from './notes.ts'
import type { Answer, HostMessage, RequestKind, Requests } from './protocol.ts'

/** A host, seen from the gym. */
export interface HostProcess {
  readonly pid: number
  /** Epoch ms just before the process was started. */
  readonly spawnedAt: number
  /** Whether it still runs. */
  readonly alive: boolean
  /** Asks it for something; rejects with {@link HostGone} when it ends before it answers. */
  ask<K extends RequestKind>(kind: K, fields: Requests[K]['fields']): Promise<Answer<K>>
  signal(signal: NodeJS.Signals): void
  /** Resolves when it has ended. */
  readonly ended: Promise<HostEnd>
}

/** How a host ended. */
export interface HostEnd {
  readonly at: number
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** What it wrote on its standard error, the end of it. */
  readonly stderr: string
}

/** A host ended without answering. */
export class HostGone extends Error {
  static {
    this.prototype.name = 'HostGone'
  }
}

/** What a host process is marked with, so that whatever it leaves behind can be found. */
export const runMark = 'KU0_GYM_RUN'

/** Starts a host. What it notes goes to `onNotes`. */
export function startHost(options: {
  readonly mark: string
  /** A folder for compiled code, shared by the hosts of one run of the gym. */
  readonly compileCache: string
  readonly onNotes: (notes: readonly Note[], host: HostProcess) => void
}): HostProcess {
  const spawnedAt = Date.now()
  const child = spawn(process.execPath, [...hostFlags, program], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    // A terminal's Ctrl-C is for the gym, which then ends its hosts; each is told apart by its own group.
    detached: true,
    // Compiled code is kept from one start to the next, as a deployed program's is compiled before.
    env: { ...process.env, [runMark]: options.mark, NODE_COMPILE_CACHE: options.compileCache },
  })
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  let nextId = 1
  const stderr = tailOf(child)
  const ended = endOf(child, stderr)
  const refuseWaiting = async () => {
    const { code, signal } = await ended
    const gone = new HostGone(`the process ended (${code ?? signal}) before it answered${said(stderr())}`)
    for (const { reject } of waiting.values()) reject(gone)
    waiting.clear()
  }
  void refuseWaiting()
  const host: HostProcess = {
    pid: child.pid ?? 0,
    spawnedAt,
    get alive() {
      return child.exitCode === null && child.signalCode === null && child.pid !== undefined
    },
    ask(kind, fields) {
      const answered = Promise.withResolvers<unknown>()
      if (!host.alive) {
        answered.reject(new HostGone(`the process is gone, ${kind} cannot be asked of it${said(stderr())}`))
        return answered.promise as Promise<never>
      }
      const id = nextId++
      waiting.set(id, answered)
      child.send({ id, kind, ...fields }, (error) => {
        if (error !== null && waiting.delete(id)) answered.reject(new HostGone(`${kind}: ${error.message}`))
      })
      return answered.promise as Promise<Answer<typeof kind>>
    },
    signal: (signal) => void child.kill(signal),
    ended,
  }
  child.on('message', (message: HostMessage) => {
    if (message.kind === 'notes') {
      options.onNotes(message.notes, host)
      return
    }
    const answered = waiting.get(message.id)
    waiting.delete(message.id)
    if (message.kind === 'answer') answered?.resolve(message.value)
    else answered?.reject(new Error(message.message))
  })
  return host
}

const program = new URL(import.meta.resolve('@ku0/agent-gym/host')).pathname

const hostFlags = ['--disable-warning=ExperimentalWarning']

/** Keeps the last lines a process wrote on its standard error. */
function tailOf(child: ChildProcess): () => string {
  let tail = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    tail = (tail + text).slice(-4000)
  })
  return () => tail.trim()
}

function endOf(child: ChildProcess, stderr: () => string): Promise<HostEnd> {
  const { promise, resolve } = Promise.withResolvers<HostEnd>()
  let at = 0
  child.once('error', (error) => resolve({ at: Date.now(), code: null, signal: null, stderr: error.message }))
  child.once('exit', () => {
    at = Date.now()
  })
  // After `exit` its last words may still be on the way.
  child.once('close', (code, signal) => resolve({ at, code, signal, stderr: stderr() }))
  return promise
}

function said(stderr: string): string {
  return stderr === '' ? '' : `\n${stderr}`
}
