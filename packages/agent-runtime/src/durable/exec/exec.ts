import { type ChildProcess, spawn } from 'node:child_process'
import {
  assertOptions,
  delayRule,
  describeError,
  invalid,
  isA,
  isAmount,
  isList,
  isOneOf,
  type Rules,
  RuntimeError,
  show,
  signalRule,
} from '@ku0/agent-runtime-core'
import type { Dependant, Host } from '../host.ts'
import type { ExecOptions, ExecResult } from '../../api/task-context.ts'
import { TimeoutError } from '../../api/errors.ts'
import { ignore } from '../pass/answer.ts'
import { isGroupAlive, signalGroup } from './process-group.ts'
import type { Scope } from '../pass/scope.ts'

/** `ctx.exec`: a command that dies with its task. Source: `docs/semantics.md 5.1`, `docs/reliability.md` T18. */
export function exec(
  scope: Scope,
  command: string,
  args: readonly string[],
  options: ExecOptions,
): Promise<ExecResult> {
  if (scope.closedBy !== undefined) return Promise.reject(scope.closedBy)
  try {
    checkCall(command, args, options)
    const reason = reasonOf(options.signal)
    if (reason !== undefined) throw reason
    if (scope.attempt.lease.mayHaveSlept) return execConfirmed(scope, command, args, options)
    return new Command(scope, command, args, options).result
  } catch (error) {
    return Promise.reject(error)
  }
}

/** A command starts only under a live lease: the news that the lease has ended may be on its way. */
async function execConfirmed(
  scope: Scope,
  command: string,
  args: readonly string[],
  options: ExecOptions,
): Promise<ExecResult> {
  await scope.attempt.lease.confirm()
  const reason = scope.closedBy ?? reasonOf(options.signal)
  if (reason !== undefined) throw reason
  return new Command(scope, command, args, options).result
}

/** If the options were passed as the arguments, the command would start outside its process group. */
function checkCall(command: unknown, args: unknown, options: unknown): void {
  if (typeof command !== 'string' || command === '')
    throw invalid(`exec: the command must be a string of 1 or more characters; given ${show(command)}`)
  if (!isList(args) || !args.every((arg) => typeof arg === 'string'))
    throw invalid(
      `exec '${command}': the arguments must be a list of strings, and options come after them; given ${show(args)}`,
    )
  assertOptions(`exec '${command}'`, options, execRules)
}

const execRules: Rules<ExecOptions> = {
  cwd: ['a path', (value) => typeof value === 'string'],
  env: ['an object of strings', (value) => typeof value === 'object' && value !== null],
  input: ['a string or bytes', (value) => typeof value === 'string' || value instanceof Uint8Array],
  timeoutMs: delayRule,
  killGraceMs: delayRule,
  maxBufferBytes: ['a finite number, 0 or more', isAmount],
  stdio: isOneOf(['pipe', 'inherit', 'ignore']),
  signal: signalRule,
}

function reasonOf(signal: AbortSignal | undefined): Error | undefined {
  if (signal?.aborted !== true) return undefined
  const reason: unknown = signal.reason
  return isA(reason, Error) ? reason : new Error(describeError(reason).message)
}

/** One command and its process group, from its start until nothing in the group is left. */
class Command implements Dependant {
  readonly #attempt: Host
  readonly #command: string
  readonly #options: ExecOptions
  readonly #child: ChildProcess
  readonly #out: Collected = { chunks: [], size: 0 }
  readonly #err: Collected = { chunks: [], size: 0 }
  readonly #answer = Promise.withResolvers<ExecResult>()
  readonly #ends: (() => void)[] = []
  /** Resolves when nothing of it runs any more, except what even KILL does not end. */
  readonly #over = Promise.withResolvers<void>()
  /** Why it was stopped, if it was. */
  #reason: Error | undefined
  #exit: { readonly code: number | null; readonly signal: NodeJS.Signals | null } | undefined
  #graceOver = false
  #groupGone = false
  #closed = false

  constructor(scope: Scope, command: string, args: readonly string[], options: ExecOptions) {
    const { attempt } = scope
    this.#attempt = attempt
    this.#command = command
    this.#options = options
    const stream = options.stdio ?? 'pipe'
    attempt.parts.warden.prepare()
    this.#child = spawn(command, args, {
      detached: process.platform !== 'win32',
      windowsHide: true,
      stdio: [options.input === undefined ? 'ignore' : 'pipe', stream, stream],
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      ...(options.env === undefined ? {} : { env: { ...options.env } }),
    })
    this.#attend(scope)
  }

  get result(): Promise<ExecResult> {
    return this.#answer.promise
  }

  /** Sends TERM to the whole group, and KILL after the grace. The first reason counts. */
  stop(reason: Error): Promise<void> {
    if (this.#reason === undefined) this.#terminate(reason)
    return this.#over.promise
  }

  #terminate(reason: Error): void {
    this.#reason = reason
    signalGroup(this.#child, 'SIGTERM')
    const { deadlines, config } = this.#attempt.parts
    const grace = deadlines.after(this.#options.killGraceMs ?? config.killGraceMs, () => {
      this.#graceOver = true
      this.#kill()
      const late = deadlines.after(KILL_GRACE_MS, () => this.#outliveKill())
      this.#ends.push(() => late.cancel())
    })
    this.#ends.push(() => grace.cancel())
  }

  #attend(scope: Scope): void {
    const child = this.#child
    if (child.pid === undefined) {
      child.once('error', (error) => this.#answer.reject(error))
      return
    }
    child.on('error', ignore)
    child.once('exit', (code, signal) => this.#exited(code, signal))
    child.once('close', () => {
      this.#closed = true
      this.#finishIfOver()
    })
    this.#attempt.keep(this)
    this.#attempt.parts.warden.guard(child.pid)
    this.#collect('stdout', this.#out)
    this.#collect('stderr', this.#err)
    child.stdin?.on('error', ignore).end(this.#options.input)
    this.#limitTime()
    this.#follow(this.#options.signal)
    // The attempt stops commands that the handler itself started.
    if (scope.parent !== undefined) this.#follow(scope.signal)
  }

  #collect(name: 'stdout' | 'stderr', into: Collected): void {
    const limit = this.#options.maxBufferBytes ?? DEFAULT_BUFFER_BYTES
    this.#child[name]?.on('data', (chunk: Buffer) => {
      into.size += chunk.length
      if (into.size <= limit) into.chunks.push(chunk)
      else
        void this.stop(
          new RuntimeError(
            'limit_exceeded',
            `${name} of '${this.#command}' is larger than maxBufferBytes ${limit}`,
          ),
        )
    })
  }

  #limitTime(): void {
    const { timeoutMs } = this.#options
    if (timeoutMs === undefined) return
    const late = () => void this.stop(new TimeoutError(`command '${this.#command}'`, timeoutMs))
    const deadline = this.#attempt.parts.deadlines.after(timeoutMs, late)
    this.#ends.push(() => deadline.cancel())
  }

  #follow(signal: AbortSignal | undefined): void {
    if (signal === undefined) return
    const abort = () => void this.stop(reasonOf(signal) as Error)
    signal.addEventListener('abort', abort, { once: true })
    this.#ends.push(() => signal.removeEventListener('abort', abort))
  }

  /**
   * The group that a stopped command leaves has the rest of the grace; a command that ended by itself leaves
   * its group none.
   */
  #exited(code: number | null, signal: NodeJS.Signals | null): void {
    this.#exit = { code, signal }
    if (this.#reason === undefined || this.#graceOver) this.#kill()
    else this.#awaitGroup()
  }

  #awaitGroup(pauseMs = GROUP_POLL_MS): void {
    if (this.#groupGone) return
    if (!isGroupAlive(this.#child)) return this.#groupEnded()
    const look = this.#attempt.parts.deadlines.after(pauseMs, () =>
      this.#awaitGroup(Math.min(pauseMs * 2, MAX_GROUP_POLL_MS)),
    )
    this.#ends.push(() => look.cancel())
  }

  #kill(): void {
    signalGroup(this.#child, 'SIGKILL')
    if (this.#exit === undefined) return
    if (this.#reason === undefined) this.#groupEnded()
    else this.#awaitGroup()
  }

  /** It hangs in the kernel: hooks that wait for its end might otherwise never run. */
  #outliveKill(): void {
    this.#over.resolve()
    if (this.#exit !== undefined) this.#groupEnded()
  }

  /** A process that left the group may hold the streams open for ever, so they are closed after a moment. */
  #groupEnded(): void {
    if (this.#groupGone) return
    this.#groupGone = true
    this.#over.resolve()
    if (!this.#closed) {
      const close = this.#attempt.parts.deadlines.after(STREAM_GRACE_MS, () => {
        this.#child.stdout?.destroy()
        this.#child.stderr?.destroy()
      })
      this.#ends.push(() => close.cancel())
    }
    this.#finishIfOver()
  }

  #finishIfOver(): void {
    if (!this.#closed || !this.#groupGone || this.#exit === undefined) return
    for (const end of this.#ends) end()
    const pid = this.#child.pid as number
    this.#attempt.parts.warden.forget(pid)
    if (this.#reason === undefined)
      this.#answer.resolve({ pid, ...this.#exit, stdout: textOf(this.#out), stderr: textOf(this.#err) })
    else this.#answer.reject(this.#reason)
    this.#attempt.drop(this)
  }
}

interface Collected {
  readonly chunks: Buffer[]
  size: number
}

function textOf({ chunks }: Collected): string {
  return Buffer.concat(chunks).toString('utf8')
}

const DEFAULT_BUFFER_BYTES = 1_048_576
/**
 * How long after its leader's end a terminated group is checked, and the least interval of checks: each costs
 * milliseconds.
 */
const GROUP_POLL_MS = 20
const MAX_GROUP_POLL_MS = 200
/** From KILL to the end of the killed processes. */
const KILL_GRACE_MS = 1_000
/** From the end of the group to the closing of streams that a process outside it still holds. */
const STREAM_GRACE_MS = 1_000
