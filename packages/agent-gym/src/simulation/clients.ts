import type { Runtime, SubmitOptions } from '@ku0/agent-runtime'
import type { SeededRandom } from '@ku0/agent-runtime-core/testing'
import type { Audit } from './audit.ts'
import type { Findings } from './findings.ts'
import type { SimulatedProcess } from './process.ts'
import { drawProgram, type Program } from './program.ts'
import { Holders } from './holders.ts'
import { drawHandOver, drawRecovering } from './recoveries.ts'
import {
  agreements,
  drawOutside,
  drawPipeline,
  drawSupervisor,
  inTurn,
  type Structures,
  withPartitions,
  withSteady,
} from './structures.ts'
import type { Accounts } from './swarm.ts'
import { MEASURED, reporting, type Workload } from './workload.ts'

interface Submission {
  readonly type: string
  readonly program: Program
  readonly lane: 'interactive' | 'normal' | 'batch'
  readonly key: string | undefined
  readonly model: string | undefined
  readonly delayMs: number | undefined
  /** Its client and its budget. */
  readonly account: SubmitOptions
  /** What was answered; undefined while nothing was, or the answer is not known. */
  taskId: string | undefined
  answered: boolean
}

const lanes = ['interactive', 'normal', 'batch'] as const

/**
 * A user of a simulated store from outside: it submits, asks again when no answer came, cancels, signals, answers approvals. A call goes
 * through the runtime of a process; when that dies, the answer never comes.
 */
export class Clients {
  readonly #random: SeededRandom
  readonly #audit: Audit
  readonly #findings: Findings
  readonly #submissions: Submission[] = []
  readonly #accounts: Accounts
  readonly #purse: SeededRandom
  readonly #work: SeededRandom
  readonly #workload: Workload
  readonly #holders: Holders
  /** The submissions of schedules, by their names. */
  readonly #scheduled = new Map<string, Program>()
  #signals = 0
  readonly #structures: Structures
  readonly #order: SeededRandom
  readonly #late: SeededRandom
  #purchases = 0
  readonly #recovering: SeededRandom
  readonly #handing: SeededRandom
  readonly #outside: SeededRandom
  readonly #turns: SeededRandom
  #fromOutside = 0
  #built = { supervisors: 0, pipelines: 0, recovering: 0, handing: 0 }

  /**
   * `purse` draws what has to do with accounts, `work` what has to do with work that is measured, `order` what has to do with structures, and `late` what came to those
   * later.
   */
  constructor(
    {
      random,
      purse,
      accounts,
      work,
      workload,
      structures,
      order,
      late,
    }: {
      readonly random: SeededRandom
      readonly purse: SeededRandom
      readonly accounts: Accounts
      readonly work: SeededRandom
      readonly workload: Workload
      readonly structures: Structures
      readonly order: SeededRandom
      readonly late: SeededRandom
    },
    audit: Audit,
    findings: Findings,
  ) {
    this.#random = random
    this.#purse = purse
    this.#accounts = accounts
    this.#work = work
    this.#workload = workload
    this.#structures = structures
    this.#order = order
    this.#late = late
    this.#recovering = late.fork('recoveries')
    this.#handing = late.fork('hand-overs')
    this.#turns = late.fork('in turn')
    this.#outside = late.fork('children from outside')
    this.#holders = new Holders(work.fork('holders'), workload, audit, (process, what, call) =>
      this.#call(process, what, call),
    )
    this.#audit = audit
    this.#findings = findings
  }

  get submitted(): number {
    return this.#submissions.length
  }

  /** Something or other, by way of a process that is up. */
  act(process: SimulatedProcess, left: number): void {
    const roll = this.#random.int(20)
    if (roll < 10 && left > 0) {
      const burst = this.#random.int(6) === 0 ? Math.min(left, 3 + this.#random.int(8)) : 1
      for (let n = 0; n < burst; n += 1) this.#submit(process, this.#draw())
    } else if (roll < 12) this.resend(process)
    else if (roll < 14) this.#cancel(process)
    else if (roll < 17) this.#signal(process)
    else if (roll < 19) this.#answer(process)
    else this.#look(process)
    this.#keepAccounts(process)
    this.#build(process)
    this.#holders.act(process)
  }

  /** The work that is left when no more faults come: every wait for a person gets its answer. */
  finish(process: SimulatedProcess): void {
    this.resend(process)
    this.#answer(process, 'all')
    if (this.#accounts.budgets) this.#answerBudgets(process, 'all')
    if (this.#structures.ledger !== undefined)
      for (const name of clients) this.#buy(process, name, 1_000, `last ${(this.#purchases += 1)}`)
    for (const name of this.#scheduled.keys())
      this.#call(process, `remove schedule ${name}`, async (runtime) => runtime.schedules.remove(name))
    for (const [task, { signals, divergent }] of this.#audit.followed) {
      const taskId = this.#audit.taskId(task)
      for (const name of signals.values()) this.#send(process, taskId, name)
      if (divergent) this.#call(process, `resume task ${task}`, async (runtime) => runtime.resume(taskId))
    }
  }

  /** A submission under a key whose answer never came is made again: it is there once. */
  resend(process: SimulatedProcess): void {
    for (const it of this.#submissions)
      if (it.key !== undefined && this.#random.int(it.answered ? 60 : 3) === 0) this.#submit(process, it)
  }

  #draw(): Submission {
    const name = String(this.#submissions.length + 1)
    const program = drawProgram(this.#random, name, this.#accounts.budgets ? this.#purse : undefined)
    const isMeasured = this.#workload.profiles && this.#work.int(2) === 0
    const it: Submission = {
      type: isMeasured ? MEASURED : 'program',
      program: isMeasured ? reporting(program, this.#work) : program,
      lane: this.#random.pick(lanes),
      key: this.#random.int(2) === 0 ? `key ${name}` : undefined,
      model: this.#random.int(3) === 0 ? 'big' : undefined,
      delayMs: this.#random.int(6) === 0 ? this.#random.pick([10, 200, 500]) : undefined,
      account: this.#agreed(this.#account()),
      taskId: undefined,
      answered: false,
    }
    this.#submissions.push(it)
    this.#audit.tasks.submits(name)
    return it
  }

  /** The same under an agreement, now and then: its client and its lane are those of the agreement. */
  #agreed(account: SubmitOptions): SubmitOptions {
    if (!this.#structures.agreements || this.#order.int(3) > 0) return account
    const agreement = agreements[this.#order.pick(Object.keys(agreements))]
    const { client: _, ...rest } = account
    return { ...rest, agreement }
  }

  /** Supervisors, pipelines, purchases, tasks with a table of recovery, or with another that takes over: now and then one of them. */
  #build(process: SimulatedProcess): void {
    const { supervisors, pipelines, ledger, permanents, partitions, recoveries, handOvers } = this.#structures
    const order = this.#order
    const late = this.#late
    const built = this.#built
    if (supervisors && built.supervisors < 3 && order.int(6) === 0) {
      const drawn = drawSupervisor(order, `team ${(built.supervisors += 1)}`)
      const team = permanents && late.int(2) === 0 ? withSteady(drawn) : drawn
      const takesTurns = this.#structures.inTurn && team === drawn && this.#turns.int(2) === 0
      this.#submitStructure(process, takesTurns ? inTurn(drawn) : team)
    }
    if (pipelines && built.pipelines < 2 && order.int(8) === 0) {
      const drawn = drawPipeline(order, `line ${(built.pipelines += 1)}`)
      this.#submitStructure(process, partitions && late.int(2) === 0 ? withPartitions(drawn, late) : drawn)
    }
    if (ledger !== undefined && order.int(4) === 0) {
      // An order that was given before is one.
      const number = order.int(8)
      this.#buy(process, order.pick(clients), 1 + number, `order ${number}`)
    }
    if (this.#structures.outside && this.#fromOutside < 12 && this.#outside.int(3) === 0)
      this.#actOnTeam(process)
    const recovering = this.#recovering
    if (recoveries && built.recovering < 4 && recovering.int(4) === 0) {
      const name = `recovering ${(built.recovering += 1)}`
      this.#submitStructure(process, drawRecovering(recovering.fork(name), name), recovering)
    }
    const handing = this.#handing
    if (handOvers && built.handing < 4 && handing.int(4) === 0) {
      const name = `handing over ${(built.handing += 1)}`
      this.#submitStructure(process, drawHandOver(handing.fork(name), name), handing)
    }
  }

  /** A child more for a supervisor, or the end or the new beginning of one that it has. */
  #actOnTeam(process: SimulatedProcess): void {
    const random = this.#outside
    const { supervisors } = this.#audit.structures
    const teams = supervisors.open(this.#audit.followed)
    if (teams.length === 0) return
    const { team, ids } = random.pick(teams)
    const supervisor = this.#audit.taskId(team)
    const roll = random.int(3)
    const name = `outside ${(this.#fromOutside += 1)}`
    if (roll === 0 || ids.length === 0) {
      const restart = random.pick(['transient', 'temporary'] as const)
      const program = drawOutside(random, name)
      supervisors.asks(team, name, restart)
      this.#call(
        process,
        `start '${name}' under task ${team}`,
        (runtime) => runtime.supervisors.start(supervisor, name, 'program', program, { restart }),
        refusesChild,
        () => supervisors.refused(team, name),
      )
      return
    }
    const id = random.pick(ids)
    if (roll === 2) supervisors.asks(team, id)
    this.#call(
      process,
      `${roll === 1 ? 'stop' : 'restart'} '${id}' under task ${team}`,
      async (runtime) => {
        if (roll === 2) return runtime.supervisors.restart(supervisor, id)
        const { stopped, taskId } = await runtime.supervisors.stop(supervisor, id)
        if (stopped) this.#audit.cancelAnswered(taskId)
        return stopped
      },
      refusesChild,
      () => roll === 2 && supervisors.refused(team, id),
    )
  }

  #submitStructure(
    process: SimulatedProcess,
    { type, program }: { readonly type: string; readonly program: Program },
    order = this.#order,
  ): void {
    const it: Submission = {
      type,
      program,
      lane: order.pick(lanes),
      key: order.int(2) === 0 ? `key ${program.name}` : undefined,
      model: undefined,
      delayMs: undefined,
      account: this.#accounts.shares ? { client: order.pick(clients) } : {},
      taskId: undefined,
      answered: false,
    }
    this.#submissions.push(it)
    this.#audit.tasks.submits(program.name)
    this.#submit(process, it)
  }

  #buy(process: SimulatedProcess, client: string, credits: number, key: string): void {
    this.#call(process, `buys ${credits} credits for '${client}' (${key})`, async (runtime) => {
      await runtime.credits.purchase(client, credits, { key })
      this.#audit.structures.ledger.bought(client, key, credits)
    })
  }

  #submit(process: SimulatedProcess, it: Submission): void {
    const { type, program, lane, key, model, delayMs, account } = it
    this.#findings.count('submissions')
    this.#call(process, `submit ${program.name} (${lane})`, async (runtime) => {
      const receipt = await runtime.submit(type, program, {
        ...(account.agreement === undefined ? { lane } : {}),
        ...account,
        ...(key === undefined ? {} : { idempotencyKey: key }),
        ...(model === undefined ? {} : { model }),
        ...(delayMs === undefined ? {} : { delayMs }),
      })
      it.answered = true
      if (!receipt.accepted) return
      this.#audit.submissionAnswered(receipt.taskId, program.name)
      if (it.taskId !== undefined && it.taskId !== receipt.taskId)
        this.#findings.violated('I17', `the key '${key}' has two tasks`)
      it.taskId = receipt.taskId
    })
  }

  #cancel(process: SimulatedProcess): void {
    const open = this.#open()
    if (open.length === 0) return
    const task = this.#random.pick(open)
    const taskId = this.#audit.taskId(task)
    this.#audit.tasks.cancelAsked(taskId)
    this.#call(process, `cancel task ${task}`, async (runtime) => {
      if (await runtime.cancel(taskId)) this.#audit.cancelAnswered(taskId)
    })
  }

  #signal(process: SimulatedProcess): void {
    const open = this.#open()
    if (open.length === 0) return
    const task = this.#random.pick(open)
    const names = [...(this.#audit.followed.get(task)?.signals.values() ?? [])]
    // One that nobody waits for is kept.
    this.#send(process, this.#audit.taskId(task), names.length === 0 ? 'signal 1' : this.#random.pick(names))
  }

  #send(process: SimulatedProcess, taskId: string, name: string): void {
    const value = (this.#signals += 1)
    this.#call(process, `signal ${name}`, async (runtime) => runtime.signal(taskId, name, value))
  }

  #answer(process: SimulatedProcess, all?: 'all'): void {
    this.#call(process, 'answers approvals', async (runtime) => {
      const { approvals } = await runtime.approvals.list()
      for (const { approvalId } of approvals) {
        if (all === undefined && this.#random.int(2) === 0) continue
        const isGood = all !== undefined || this.#random.int(3) > 0
        await (isGood ? runtime.approvals.approve(approvalId) : runtime.approvals.reject(approvalId))
      }
    })
  }

  #account(): SubmitOptions {
    const { shares, budgets } = this.#accounts
    const purse = this.#purse
    return {
      ...(shares ? { client: purse.pick(clients), cost: 1 + purse.int(5) } : {}),
      ...(budgets && purse.int(2) === 0
        ? {
            budget: {
              tokens: 50 + purse.int(900),
              ...(purse.int(3) === 0 ? { steps: 1 + purse.int(8) } : {}),
              ...(purse.int(2) === 0 ? { soft: 0.5 } : {}),
            },
          }
        : {}),
    }
  }

  /** Credits, answers to budgets, schedules: now and then one of them. */
  #keepAccounts(process: SimulatedProcess): void {
    const { shares, budgets, schedules } = this.#accounts
    const purse = this.#purse
    if (shares && purse.int(8) === 0) {
      const [name, credits] = [purse.pick(clients), purse.pick([100, 1_000, 4_000])]
      this.#call(process, `credits of '${name}'`, async (runtime) => runtime.clients.set(name, { credits }))
    }
    if (budgets && purse.int(4) === 0) this.#answerBudgets(process)
    if (schedules && purse.int(5) === 0) this.#schedule(process)
  }

  #answerBudgets(process: SimulatedProcess, all?: 'all'): void {
    this.#call(process, 'answers budgets', async (runtime) => {
      const { budgets } = await runtime.budgets.list()
      for (const { taskId } of budgets) {
        if (all === undefined && this.#purse.int(4) === 0) {
          this.#audit.tasks.stopAsked(taskId)
          await runtime.budgets.stop(taskId)
        } else await runtime.budgets.continue(taskId, { raise: { tokens: 100 } })
      }
    })
  }

  #schedule(process: SimulatedProcess): void {
    const purse = this.#purse
    const name = purse.pick(['hourly', 'daily'])
    const program = this.#scheduled.get(name) ?? drawProgram(purse.fork(name), name, undefined, 2)
    this.#scheduled.set(name, program)
    this.#audit.tasks.schedules(name)
    const options = {
      catchUp: purse.pick(['one', 'all', 'skip'] as const),
      overlap: purse.pick(['allow', 'skip'] as const),
    }
    const roll = purse.int(6)
    this.#call(process, `schedule ${name}`, async ({ schedules }) => {
      if (roll === 0 && (await schedules.get(name)) !== undefined) await schedules.trigger(name)
      else if (roll === 1) await schedules.pause(name)
      else if (roll === 2) await schedules.resume(name)
      else await schedules.put(name, { everyMs: 1_000 }, 'program', program, options)
    })
  }

  #look(process: SimulatedProcess): void {
    this.#call(process, 'looks', async (runtime) => {
      await runtime.stats()
      await runtime.list({ limit: 5 })
    })
  }

  #open(): number[] {
    return [...this.#audit.followed].filter(([, { row }]) => row.state < 3).map(([id]) => id)
  }

  #call(
    process: SimulatedProcess,
    what: string,
    call: (runtime: Runtime) => Promise<unknown>,
    more: ReadonlySet<string> = none,
    /** For an error that says that nothing was written. */
    isRefused: () => void = () => {},
  ): void {
    process.main.enter(() => {
      const { runtime } = process
      if (runtime === undefined || process.isDead) return
      this.#findings.note('client', `${process.name}: ${what}`)
      call(runtime).then(
        () => this.#findings.note('client', `${process.name} answered: ${what}`),
        (error: unknown) => {
          this.#refused(process, what, error, more)
          if (!inDoubt.has(String((error as { code?: string }).code))) isRefused()
        },
      )
    })
  }

  /** The errors that may refuse a call while faults come; anything else is not documented. */
  #refused(process: SimulatedProcess, what: string, error: unknown, more: ReadonlySet<string>): void {
    const { code = 'none', message } = error as { code?: string; message: string }
    this.#findings.note('client', `${process.name} refused ${code}: ${what}`)
    if (!bearable.has(code) && !more.has(code))
      this.#findings.violated('X18', `${what} was refused with ${code}: ${message}`)
  }
}

const clients = ['', 'ann', 'bob', 'cyd'] as const

const none: ReadonlySet<string> = new Set()
/** A child that has not ended, or whose id is taken. */
const refusesChild: ReadonlySet<string> = new Set(['already_exists'])

/** Errors after which the store may have written all the same. */
const inDoubt: ReadonlySet<string> = new Set(['store_busy', 'store_full', 'store_closed', 'shutdown'])

const bearable: ReadonlySet<string> = new Set([
  'store_busy',
  'store_full',
  'store_closed',
  'shutdown',
  'already_resolved',
  'limit_exceeded',
  // An open circuit, a swarm that is full, presses too much or has nothing left.
  'circuit_open',
  'budget_exceeded',
  // There is no such schedule yet, or no more.
  'not_found',
  // Over before the call came.
  'invalid_argument',
])
