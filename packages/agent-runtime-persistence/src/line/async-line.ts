import { MAX_ARMED_MS, type Environment, type StoreInfo, type Timer } from '@ku0/agent-runtime-core'
import type { Engine } from '../engine/engine.ts'
import { runAsync } from '../engine/steps.ts'
import type { Turn } from '../engine/turn.ts'
import type { Message } from '../engine/message.ts'
import { HintPace } from './hint-pace.ts'
import { says } from './says.ts'

/** Who hears what an engine has to say. */
interface Hearer {
  receive(turn: Turn): void
}

/**
 * Runs an engine whose database answers when it has the answer: one turn after the other, reads beside them. Calls that come in during a
 * turn share the next one.
 */
export class AsyncLine {
  private readonly engine: Engine
  private readonly hearer: Hearer
  private readonly environment: Environment
  /** What came in during a turn waits for the next, so that it is heard in its order. */
  private readonly inbox: Message[] = []
  private timer: Timer | undefined
  private armedFor = Number.POSITIVE_INFINITY
  private running: Promise<void> | undefined
  private isWanted = false
  /** The answer that is waited for. */
  private awaited: Promise<void> | undefined
  private readonly pace = new HintPace()
  private readonly reading = new Set<Promise<void>>()
  private ended: Promise<void> | undefined
  private isClosed = false

  constructor(engine: Engine, hearer: Hearer, environment: Environment) {
    this.engine = engine
    this.hearer = hearer
    this.environment = environment
    // The first turn takes over from the dead: by then the process should have said what it wants to hear.
    this.armIn(firstTurnMs)
  }

  get info(): StoreInfo {
    return this.engine.info
  }

  /** When its timer should run next, on the monotonic clock: later than that, nothing has run in this thread for a while. */
  get dueAt(): number {
    return this.armedFor
  }

  /** See {@link Engine.rests}. */
  get rests(): boolean {
    return this.engine.rests
  }

  send(message: Message): void {
    if (message.to === 'read') {
      const reading = this.read(message)
      this.reading.add(reading)
      void reading.finally(() => this.reading.delete(reading))
      return
    }
    // The turn under way may commit what a read that follows does not see yet.
    if (message.to === 'interest') this.engine.expect(message.interest)
    this.inbox.push(message)
    this.schedule()
  }

  /** Something has happened that is to be said. */
  wake(): void {
    this.schedule()
  }

  /** Another process has committed something. */
  hint(): void {
    this.pace.hear(this.mono())
    this.schedule()
  }

  /** What was sent is done; then the database is closed. */
  end(): Promise<void> {
    this.ended ??= this.finish()
    return this.ended
  }

  /** Resolves once nothing is under way: what is done next then waits for time to pass, or for a call. */
  async whenQuiet(): Promise<boolean> {
    let waited = false
    for (;;) {
      const { running, awaited } = this
      const ending = this.isClosed ? undefined : this.ended
      const answered = this.engine.isLost ? [] : [awaited, ending]
      const underWay = [running, ...answered, ...this.reading].filter((it) => it !== undefined)
      if (underWay.length === 0) return waited
      waited = true
      await Promise.all(underWay)
    }
  }

  private async read(message: Message): Promise<void> {
    const asked = this.engine.receive(message)
    if (asked !== undefined) await runAsync(asked)
    this.hearer.receive(this.engine.takeReads())
  }

  private schedule(): void {
    this.isWanted = true
    if (this.running !== undefined || this.ended !== undefined) return
    this.running = Promise.resolve()
      .then(() => this.run())
      .finally(() => {
        this.running = undefined
        if (this.isWanted) this.schedule()
      })
  }

  private async run(): Promise<void> {
    do {
      this.isWanted = false
      await this.deliver()
      const looks = this.pace.takes(this.mono())
      if (looks) this.engine.hint()
      const turn = await runAsync(this.engine.take())
      if (looks) this.pace.looked(this.mono(), this.engine.hasFound || says(turn))
      this.hearer.receive(turn)
      this.awaitAnswer()
      if (this.engine.restMs() === 0) this.isWanted = true
    } while (this.isWanted && this.ended === undefined)
    this.arm()
  }

  /** Once a commit that was sent is answered, there is something to say. */
  private awaitAnswer(): void {
    const { answered } = this.engine
    if (answered === undefined || answered === this.awaited) return
    this.awaited = answered
    void this.goOnAfter(answered)
  }

  private async goOnAfter(answered: Promise<void>): Promise<void> {
    await answered
    if (this.awaited === answered) this.awaited = undefined
    this.schedule()
  }

  private async deliver(): Promise<void> {
    for (let it = this.inbox.shift(); it !== undefined; it = this.inbox.shift()) {
      const asked = this.engine.receive(it)
      if (asked !== undefined) await runAsync(asked)
    }
  }

  private async finish(): Promise<void> {
    await this.running
    await Promise.all(this.reading)
    this.timer?.cancel()
    await this.deliver()
    this.hearer.receive(await runAsync(this.engine.finish()))
    await runAsync(this.engine.close())
    this.isClosed = true
  }

  private arm(): void {
    const rest = Math.max(0, Math.min(this.engine.restMs(), this.pace.at - this.mono()))
    if (Number.isFinite(rest)) this.armIn(rest)
  }

  private mono(): number {
    return this.environment.clock.monotonic()
  }

  private armIn(rest: number): void {
    if (this.ended !== undefined) return
    const at = this.mono() + rest
    if (this.timer !== undefined && this.armedFor <= at) return
    this.timer?.cancel()
    this.armedFor = at
    this.timer = this.environment.timers.after(Math.min(Math.ceil(rest), MAX_ARMED_MS), () => {
      this.timer = undefined
      this.armedFor = Number.POSITIVE_INFINITY
      this.schedule()
    })
  }
}

const firstTurnMs = 100
