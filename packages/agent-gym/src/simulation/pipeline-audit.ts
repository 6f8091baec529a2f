import { createHash } from 'node:crypto'
import type { Findings } from './findings.ts'
import { CANCELED, FAILED, type Followed } from './followed.ts'
import type { StructureRows } from './stored-rows.ts'
import { keyOf, type PipelineProgram } from './structures.ts'

/** The part of the audit that looks at pipelines, their logs and their stages, by a model of its own. Source: `docs/semantics.md 13.2`. */
export class PipelineAudit {
  readonly #findings: Findings
  readonly #programs = new Map<number, PipelineProgram>()

  constructor(findings: Findings) {
    this.#findings = findings
  }

  queued(task: number, input: unknown): void {
    const program = input as Partial<PipelineProgram> | undefined
    if (program?.events !== undefined) this.#programs.set(task, program as PipelineProgram)
  }

  /** Whether a pipeline or a stage may fail with an error. */
  mayFail(tasks: ReadonlyMap<number, Followed>, { row, forkOf }: Followed): boolean {
    if (!this.#programs.has(row.id)) return false
    // A fork has no log and no place in one; a stage that ended otherwise ends its pipeline.
    const stages = [...tasks.values()].filter(({ row: { parent } }) => parent === row.id)
    return forkOf !== undefined || stages.some(({ row: { state } }) => state === FAILED || state === CANCELED)
  }

  /** 13.2: the log has each event once, in order, without a gap, and each stage has received those of its types so. */
  look(tasks: ReadonlyMap<number, Followed>, { pipelines, chunks }: StructureRows): void {
    const logs = Map.groupBy(chunks, ({ task }) => task)
    for (const { task, log } of pipelines) {
      const events: Logged[] = []
      const program = this.#programs.get(task)
      const seen = new Map<string, number>()
      const last = new Map<number, number>()
      for (const [index, { seq, data }] of (logs.get(task) ?? []).entries()) {
        const { type, data: value, ...by } = JSON.parse(data) as Omit<Logged, 'nth' | 'seq'>
        const nth = seen.get(type) ?? 0
        seen.set(type, nth + 1)
        events.push({ ...by, type, data: value, nth, seq })
        if (seq !== index + 1)
          this.#violated('13.2', `event ${seq} of pipeline ${task} stands at place ${index + 1}`)
        // Partitions are as fast as they are, each in its own order.
        const { partition } = by
        const due = type === 'n' ? nth : 2 * nth
        const isRight = partition === undefined ? value === due : value > (last.get(partition) ?? -1)
        if (partition !== undefined) last.set(partition, value)
        if (!isRight) this.#violated('13.2', `'${type}' ${nth} of pipeline ${task} is ${value}`)
        const hash = type === 'n' && program?.keyed === true ? hashOf(keyOf(value)) : undefined
        if (by.keyHash !== hash)
          this.#violated('13.2', `event ${seq} of pipeline ${task} has the key ${by.keyHash}, not ${hash}`)
      }
      const { seq } = JSON.parse(log) as { seq: number }
      if (seq !== events.length)
        this.#violated('13.2', `pipeline ${task} counts ${seq} events, its log has ${events.length}`)
      for (const found of tasks.values()) if (found.row.parent === task) this.#receipts(found, events)
    }
  }

  /** A sink has summed up what its pipeline streamed: each event once, in order. */
  summed(task: number, output: unknown): void {
    const program = this.#programs.get(task)
    if (program?.name.endsWith('/sink') !== true) return
    const isParted = program.partitions !== undefined
    this.#findings.count(isParted ? 'parted streams' : 'streams')
    const due = Array.from({ length: program.events }, (_, n) => 2 * n)
    const [[, said] = []] = (Array.isArray(output) ? output : []) as [string, unknown][]
    const sum = isParted && Array.isArray(said) ? (said as number[]).toSorted((a, b) => a - b) : said
    if (JSON.stringify(sum) !== JSON.stringify(due))
      this.#violated('13.2', `task ${task} has received ${JSON.stringify(sum)}, not ${JSON.stringify(due)}`)
  }

  /** What a stage has received, by the memos of its receipts. */
  #receipts({ row, memos }: Followed, events: readonly Logged[]): void {
    const taken = [...memos].flatMap(([key, { result }]) => {
      const [, types, nth] = /^\$ku0\/receive\/([^/]*)\/(\d+)$/.exec(key) ?? []
      return types === undefined ? [] : [{ types: types.split(','), nth: Number(nth), result }]
    })
    const own = events.filter((event) => this.#isFor(row.id, event))
    const next = new Map<string, number[]>()
    for (const { types, result } of taken.toSorted((a, b) => a.nth - b.nth)) {
      const { ranges } = JSON.parse(result) as { ranges: readonly (readonly [number, number])[] }
      for (const type of types) {
        const all = next.get(type) ?? own.flatMap((event) => (event.type === type ? [event.seq] : []))
        next.set(type, all)
        for (const [first, count] of ranges)
          for (let seq = first; seq < first + count; seq += 1)
            if (all.shift() !== seq)
              this.#violated(
                '13.2',
                `stage ${row.id} has received event ${seq}, which is not its next '${type}'`,
              )
      }
    }
  }

  /** Whether a task of a stage is the one of those of its stage that gets an event: by its key, or in turn. */
  #isFor(task: number, { type, data, nth }: Logged): boolean {
    const { name = '', partitions = 1, keyed } = this.#programs.get(task) ?? {}
    const partition = /\/double\/(\d+)$/.exec(name)?.[1]
    if (partition === undefined || type !== 'n') return true
    return ((keyed === true ? hashOf(keyOf(data)) : nth) % partitions) + 1 === Number(partition)
  }

  #violated(rule: string, text: string): void {
    this.#findings.violated(rule, text)
  }
}

/** An event of a log, with how many of its type came before it. */
interface Logged {
  readonly seq: number
  readonly nth: number
  readonly type: string
  readonly data: number
  readonly partition?: number
  readonly keyHash?: number
}

/** The hash of a key, as the rules of pipelines say it is. */
function hashOf(key: string): number {
  return Number.parseInt(createHash('sha256').update(key).digest('hex').slice(0, 8), 16) % 1_024
}
