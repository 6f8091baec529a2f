import {
  assertOptions,
  budgetAmounts,
  budgetTerms,
  catchUps,
  type Clock,
  delayRule,
  type ExecutionConfig,
  type ExecutionStore,
  instead,
  invalid,
  isName,
  isRecord,
  nameRule,
  overlaps,
  type Rules,
  RuntimeError,
  type ScheduledRun,
  type ScheduleRecord,
  type ScheduleTiming,
  show,
  withoutUndefined,
  type ValueCodec,
  wholeNumber,
} from '@ku0/agent-runtime-core'
import type { SubmitOptions } from '../api/submissions.ts'
import { familiarToSchedule, familiarToTiming } from '../terms/familiar-names.ts'
import { submitRules } from '../terms/submit-rules.ts'
import type { KnownTypes } from './known-types.ts'
import { shown } from './task-status.ts'
import type { Submissions } from './submissions.ts'
import { openReceipt } from '../terms/receipts.ts'
import type { Receipt } from '../api/receipts.ts'
import type { ScheduleOptions, Schedules, ScheduleStatus, Timing, TriggerOptions } from '../api/schedules.ts'
import type { TaskType } from '../api/task-type.ts'
import { firstAfter, isTimeZone, problemOfCron } from '../terms/schedule-times.ts'

/** The dependencies of the schedules. */
export interface ScheduleBookDeps {
  readonly store: ExecutionStore
  readonly config: ExecutionConfig
  readonly values: ValueCodec
  readonly clock: Clock
  readonly types: KnownTypes
  readonly submissions: Submissions
  /** Throws if the runtime takes no more calls. */
  readonly assertOpen: () => void
  /** Throws if the runtime takes no more submissions. */
  readonly assertTaking: () => void
}

/** The API of schedules. */
export class ScheduleBook implements Schedules {
  readonly #deps: ScheduleBookDeps

  constructor(deps: ScheduleBookDeps) {
    this.#deps = deps
  }

  async put(
    name: string,
    timing: Timing,
    task: TaskType | string,
    input: unknown,
    options: ScheduleOptions = {},
  ): Promise<ScheduleStatus> {
    const { store, config, clock, submissions, assertTaking } = this.#deps
    assertTaking()
    assertName('put', name)
    const now = Math.floor(clock.now())
    const read = timingOf(name, timing, now)
    const nextAt = firstAfter(read, now)
    if (nextAt === null)
      throw invalid(
        `schedule '${name}': the cron expression '${String(timing.cron)}' matches no time that ever comes`,
      )
    assertOptions('schedules.put', options, optionRules, { familiar: familiarToSchedule })
    const { catchUp = 'one', graceMs = DEFAULT_GRACE_MS, overlap = 'allow', ...submitted } = options
    const { lane = 'batch' } = submissions.agreementOf(options, `schedule '${name}':`) ?? {}
    const run = await this.#runOf(name, task, input, { lane, ...withoutUndefined(submitted) })
    const definition = { timing: read, run, catchUp, graceMs, overlap }
    const outcome = await store.write({ kind: 'putSchedule', name, definition, nextAt })
    if (outcome.as === 'put') return statusOf(this.#deps.values, outcome.schedule)
    const { maxSchedules } = config
    throw new RuntimeError(
      'limit_exceeded',
      `the limit maxSchedules ${maxSchedules} is reached; delete a schedule first`,
      {
        details: { name, maxSchedules },
      },
    )
  }

  async list(): Promise<readonly ScheduleStatus[]> {
    const found: ScheduleStatus[] = []
    for (let after = '', more = true; more;) {
      const page = await this.#read({ after, limit: PAGE })
      found.push(...page.map((schedule) => statusOf(this.#deps.values, schedule)))
      after = page.at(-1)?.name ?? after
      more = page.length === PAGE
    }
    return found
  }

  async get(name: string): Promise<ScheduleStatus | undefined> {
    assertName('get', name)
    const [schedule] = await this.#read({ name })
    return schedule === undefined ? undefined : statusOf(this.#deps.values, schedule)
  }

  async upcoming(name: string, count = 5): Promise<readonly number[]> {
    assertName('upcoming', name)
    const [allowed, isCount] = countRule
    if (!isCount(count)) throw invalid(`schedules.upcoming: a count, ${allowed}; given ${show(count)}`)
    const [schedule] = await this.#read({ name })
    if (schedule === undefined) throw noSchedule(name)
    const times: number[] = []
    for (
      let at: number | null = schedule.paused ? null : (schedule.nextAt ?? null);
      at !== null && times.length < count;
      at = firstAfter(schedule.timing, at)
    )
      times.push(at)
    return times
  }

  async remove(name: string): Promise<boolean> {
    this.#deps.assertOpen()
    assertName('remove', name)
    return this.#deps.store.write({ kind: 'removeSchedule', name })
  }

  async pause(name: string): Promise<ScheduleStatus> {
    this.#deps.assertOpen()
    assertName('pause', name)
    const schedule = await this.#deps.store.write({ kind: 'pauseSchedule', name })
    if (schedule === undefined) throw noSchedule(name)
    return statusOf(this.#deps.values, schedule)
  }

  async resume(name: string): Promise<ScheduleStatus> {
    assertName('resume', name)
    const { store, clock } = this.#deps
    for (;;) {
      const [known] = await this.#read({ name })
      if (known === undefined) throw noSchedule(name)
      const { timing } = known
      const nextAt = firstAfter(timing, Math.floor(clock.now()))
      const outcome = await store.write({ kind: 'resumeSchedule', name, timing, nextAt })
      if (outcome.as === 'unknown') throw noSchedule(name)
      // Another caller changed the timing meanwhile, so the next time is computed again.
      if (outcome.as === 'resumed') return statusOf(this.#deps.values, outcome.schedule)
    }
  }

  async trigger(name: string, options: TriggerOptions = {}): Promise<Receipt> {
    this.#deps.assertTaking()
    assertName('trigger', name)
    assertOptions('schedules.trigger', options, triggerRules)
    const { idempotencyKey } = options
    const key = idempotencyKey === undefined ? {} : { idempotencyKey }
    const receipt = await this.#deps.store.write({ kind: 'triggerSchedule', name, ...key })
    if (receipt === undefined) throw noSchedule(name)
    return openReceipt(receipt)
  }

  /** The input is checked here if the task type is known, else by the worker. */
  async #runOf(
    name: string,
    task: TaskType | string,
    input: unknown,
    { budget, ...options }: RunOptions,
  ): Promise<ScheduledRun> {
    const place = `schedule '${name}': `
    const { types, submissions } = this.#deps
    if (budget !== undefined) budgetTerms('schedules.put option budget', budget)
    const item = { task, input, options: { ...options, ...(budget && { budget }) } }
    const isKnown = !isName(task) || types.find(task, task) !== undefined
    const prepared = isKnown
      ? submissions.prepareLater(item, place)
      : submissions.uncheckedLater(task, item, place)
    const { refused, trace: _, ...run } = await prepared
    if (refused !== undefined) throw new RuntimeError(refused.reason, `${place}${refused.message}`)
    return run
  }

  async #read(filter: { readonly name: string } | { readonly after: string; readonly limit: number }) {
    this.#deps.assertOpen()
    return this.#deps.store.read({ kind: 'schedules', filter })
  }
}

/** Options of a run, as they were given. */
type RunOptions = Omit<ScheduledRun, 'type' | 'input' | 'budget' | 'oversight' | 'outOfCredits'> &
  Pick<SubmitOptions, 'budget' | 'agreement'>

/** How late a time may be and still count as on time. */
const DEFAULT_GRACE_MS = 60_000
const PAGE = 100
const countRule = wholeNumber(1, 100)
const LEAST_INTERVAL_MS = 1_000
const MOST_INTERVAL_MS = 31_536_000_000

const { lane, client, model, tools, labels, timeoutMs, tokens, cost, agreement } = submitRules
const triggerRules: Rules<TriggerOptions> = { idempotencyKey: nameRule }
const optionRules: Rules<ScheduleOptions> = {
  lane,
  client,
  model,
  tools,
  labels,
  timeoutMs,
  tokens,
  cost,
  agreement,
  budget: submitRules.budget,
  catchUp: [catchUps.join(' | '), (value) => (catchUps as readonly unknown[]).includes(value)],
  graceMs: delayRule,
  overlap: [overlaps.join(' | '), (value) => (overlaps as readonly unknown[]).includes(value)],
}

function assertName(call: string, name: unknown): asserts name is string {
  if (!isName(name)) throw invalid(`schedules.${call}: a name of ${nameRule[0]}; given ${show(name)}`)
}

function timingOf(name: string, given: unknown, now: number): ScheduleTiming {
  const place = `schedule '${name}'`
  const forms = "{ cron: '0 9 * * 1-5', timeZone: 'Europe/Paris' } or { everyMs: 60_000 }"
  if (!isRecord(given)) throw invalid(`${place}: a timing, ${forms}; given ${show(given)}`)
  const known = ['cron', 'timeZone', 'everyMs']
  const stray = Object.keys(given).find((key) => !known.includes(key))
  if (stray !== undefined)
    throw invalid(`${place}: timing.${stray}: no such option${instead(stray, known, familiarToTiming)}`)
  const { cron, everyMs, timeZone = 'UTC' } = given
  if ((cron === undefined) === (everyMs === undefined))
    throw invalid(`${place}: a timing has either cron or everyMs: ${forms}; given ${show(given)}`)
  if (everyMs !== undefined) {
    const isInterval =
      Number.isSafeInteger(everyMs) &&
      (everyMs as number) >= LEAST_INTERVAL_MS &&
      (everyMs as number) <= MOST_INTERVAL_MS
    if (!isInterval || given['timeZone'] !== undefined)
      throw invalid(
        `${place}: timing.everyMs: a whole number of ms from ${LEAST_INTERVAL_MS} to ${MOST_INTERVAL_MS}, without a timeZone; given ${show(given)}`,
      )
    return { everyMs: everyMs as number, anchorAt: now }
  }
  const allowed = "a cron expression of five or six fields, or a shortcut such as '@daily'"
  if (typeof cron !== 'string') throw invalid(`${place}: timing.cron: ${allowed}; given ${show(cron)}`)
  const problem = problemOfCron(cron)
  if (problem !== undefined)
    throw invalid(`${place}: timing.cron: ${allowed}; given ${show(cron)}: ${problem}`)
  if (!isTimeZone(timeZone))
    throw invalid(
      `${place}: timing.timeZone: an IANA time zone, such as 'Europe/Paris'; given ${show(timeZone)}`,
    )
  return { cron, timeZone }
}

/** While a schedule is paused, its stored time is not one that it will run at. */
function statusOf(values: ValueCodec, { run, nextAt, ...schedule }: ScheduleRecord): ScheduleStatus {
  const { type, input, budget: terms, ...rest } = run
  const next = nextAt === undefined || schedule.paused ? {} : { nextAt }
  const status = { ...schedule, ...next, ...rest, task: type, input: shown(values, input) }
  if (terms === undefined) return status
  return { ...status, budget: { ...budgetAmounts(terms.limits), soft: budgetAmounts(terms.soft) } }
}

function noSchedule(name: string): RuntimeError {
  return new RuntimeError('not_found', `there is no schedule '${name}'`, { details: { name } })
}
