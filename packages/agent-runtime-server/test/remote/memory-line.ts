import type { Environment, ExecutionConfig, ExecutionStore } from '@ku0/agent-runtime-core'
import { openStore } from '@ku0/agent-runtime-persistence'
import { type Dial, linesOf, openLine, type RemoteLine } from '@ku0/agent-runtime-persistence/lines'
import { type Caller, owner } from '../../src/access/caller.ts'
import { TokenBook } from '../../src/access/tokens.ts'
import { TokenWatch } from '../../src/access/token-watch.ts'
import { limitsOf, type ServerLimits } from '../../src/limits.ts'
import type { LineEnd } from '../../src/remote/connection.ts'
import { LineHost } from '../../src/remote/line-host.ts'
import { system } from '../../src/system.ts'

/** A server's end of lines in this thread, and what passes over them, for tests that look at it. */
export class MemoryLines {
  host: LineHost
  /** Frames that pass, in order, as `up …` and `down …`. */
  readonly passed: string[] = []
  /** Decides which frame cuts the connection: before it arrives, or after. */
  cutAt: ((frame: string, index: number) => 'before' | 'after' | undefined) | undefined
  /** Frames are held back while it is set: a black hole. */
  isDark = false
  /** Nobody reads what comes down while it is set: it waits. */
  isSlow = false
  /** What the server has said about reading on, in order: whether it holds a connection. */
  readonly held: boolean[] = []
  readonly errors: unknown[] = []
  private underWay = 0
  private cutNow: (() => void) | undefined

  private readonly store: ExecutionStore
  private readonly environment: Environment
  private readonly limits: Partial<ServerLimits>

  constructor(store: ExecutionStore, environment: Environment, limits: Partial<ServerLimits> = {}) {
    this.store = store
    this.environment = environment
    this.limits = limits
    this.host = this.newHost()
  }

  /** The server is started anew: what it remembers of lines is gone. */
  restart(): void {
    this.host.close()
    this.host = this.newHost()
  }

  cut(): void {
    this.cutNow?.()
  }

  get isBusy(): boolean {
    return this.underWay > 0
  }

  dialAs(caller: Caller = owner): Dial {
    return (hearer) => {
      let isOver = false
      let end: LineEnd | undefined
      const over = () => {
        if (isOver) return
        isOver = true
        end?.closed()
        this.later(() => hearer.closed(new Error('the line was cut'), false))
      }
      const pass = (way: string, text: string, arrive: () => void) => {
        if (isOver || this.isDark) return
        const index = this.passed.push(`${way} ${text}`) - 1
        const cut = this.cutAt?.(`${way} ${text}`, index)
        if (cut === 'before') return over()
        this.later(() => {
          if (!isOver) arrive()
          if (cut === 'after') over()
        })
      }
      let waiting = 0
      this.cutNow = over
      this.later(() => {
        if (isOver) return
        end = this.host.accept(
          {
            send: (text) => {
              waiting += text.length
              if (this.isSlow) return
              pass('down', text, () => {
                waiting -= text.length
                hearer.heard(text)
              })
            },
            get waiting() {
              return waiting
            },
            hold: (held) => void this.held.push(held),
            close: over,
          },
          caller,
        )
        hearer.opened()
      })
      return {
        send: (text) => pass('up', text, () => end?.heard(text)),
        close() {
          if (isOver) return
          isOver = true
          end?.closed()
        },
      }
    }
  }

  private newHost(): LineHost {
    const lines = linesOf(this.store)
    if (lines === undefined) throw new Error('the store has no lines')
    const { store, environment } = this
    const report = (error: unknown) => void this.errors.push(error)
    // On the system's time: tokens are another test's matter.
    const watch = new TokenWatch({
      tokens: new TokenBook([]),
      everyMs: 1_000_000_000,
      environment: system,
      report,
    })
    return new LineHost({ store, lines, limits: limitsOf(this.limits), environment, watch, report })
  }

  private later(run: () => void): void {
    this.underWay += 1
    setImmediate(() => {
      this.underWay -= 1
      run()
    })
  }
}

/** A store over a line, on the time that is given. */
export async function storeOverLine(
  config: ExecutionConfig,
  environment: Environment,
  given?: ExecutionStore,
  limits?: Partial<ServerLimits>,
): Promise<{ store: ExecutionStore; line: RemoteLine; lines: MemoryLines; behind: ExecutionStore }> {
  const behind =
    given ?? (await openStore('sqlite::memory:', { config, environment, lines: true, checked: false }))
  const lines = new MemoryLines(behind, environment, limits)
  const { store, line } = await openLine('http://localhost', environment, lines.dialAs())
  return { store, line, lines, behind }
}

/** Resolves once nothing passes any more; true if something did. */
export async function quietLine({ line, lines }: { line: RemoteLine; lines: MemoryLines }): Promise<boolean> {
  let waited = false
  for (let still = 0; still < 3;) {
    if (line.isBusy || lines.isBusy) {
      waited = true
      still = 0
    } else still += 1
    await new Promise<void>((resume) => void setImmediate(resume))
  }
  return waited
}
