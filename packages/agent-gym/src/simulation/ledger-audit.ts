import { type EventData, MICRO, type OutOfCredits } from '@ku0/agent-runtime-core'
import type { Findings } from './findings.ts'
import { COMPLETED, type Followed, QUEUED } from './followed.ts'
import type { CreditState, Entry, StructureRows } from './stored-rows.ts'
import { agreements } from './structures.ts'

const [OPENING, PURCHASE, RESERVE, SETTLE] = [0, 1, 2, 3] as const

/** The task that asks for credits, when it did, how many it needs, and the last entry of the ledger then. */
interface Request {
  readonly task: number
  readonly at: number
  readonly cost: number
  readonly entry: number
}

/** The part of the audit that looks at what clients have agreed to and pay, by a model of its own. Source: `docs/semantics.md 11.8, 11.9, 12.5`. */
export class LedgerAudit {
  readonly #findings: Findings
  readonly #ledger: OutOfCredits | undefined
  readonly #choices = new Map<number, OutOfCredits>()
  readonly #bought = new Map<string, number>()
  /** The entries that were seen, by client, in order: those too that were folded since. */
  readonly #seen = new Map<string, readonly Entry[]>()
  /** The open request of each client, and those of this commit. */
  readonly #asks = new Map<string, Request>()
  readonly #asked: (Request & { readonly client: string })[] = []
  #folded = 0
  #entries = 0

  /** `ledger`: what happens without credits; undefined where there is no ledger. */
  constructor(findings: Findings, ledger: OutOfCredits | undefined) {
    this.#findings = findings
    this.#ledger = ledger
  }

  /** A purchase was answered (I1). */
  bought(client: string, key: string, credits: number): void {
    this.#bought.set(`${client} ${key}`, credits * MICRO)
  }

  /** 12.5: what comes under an agreement has its terms; its children have those that go on. */
  queued(found: Followed, task: number, it: EventData['task.queued'], parent: number | null): void {
    const { outOfCredits, oversight, labels, client = '' } = it
    if (outOfCredits !== undefined) this.#choices.set(task, outOfCredits)
    const name = labels?.['agreement']
    const terms = name === undefined ? undefined : agreements[name]
    if (terms !== undefined && it.forkOf === undefined) {
      this.#findings.count('agreed submissions')
      const lane = ['interactive', 'normal', 'batch'][found.lane]
      const [said, due] = [
        [client, lane, oversight, outOfCredits],
        [terms.client, terms.lane ?? lane, terms.oversight, terms.outOfCredits],
      ]
      if (said.join() !== due.join())
        this.#violated('12.5', `task ${task} comes under '${name}' with ${said.join()}, not ${due.join()}`)
    }
    if (parent !== null && this.#choices.get(parent) !== outOfCredits)
      this.#violated(
        '12.5',
        `task ${task} has ${outOfCredits} without credits, its parent ${this.#choices.get(parent)}`,
      )
  }

  rejected(task: number, it: EventData['task.rejected']): void {
    const { verdict } = it
    if (verdict?.by !== 'credits') return
    this.#findings.count('refused for credits')
    if (verdict.credits >= verdict.asked)
      this.#violated('11.9', `task ${task} is refused with ${verdict.credits} credits of ${verdict.asked}`)
  }

  asked({ row, client, estimate }: Followed, it: EventData['credits.asked'], at: number): void {
    this.#findings.count('asked for credits')
    const cost = Math.round(estimate * MICRO)
    if (this.#ledger === undefined || this.#choiceOf(row.id) === 'run' || row.fence > 0)
      this.#violated('11.9', `task ${row.id} asks for credits, and waits for none`)
    const [has, asked, missing] = [it.credits, it.asked, it.missing].map((amount) =>
      Math.round(amount * MICRO),
    )
    if (it.client !== client || asked !== cost || missing !== cost - (has ?? 0) || missing <= 0)
      this.#violated(
        '11.9',
        `task ${row.id} of '${client}', estimated at ${cost} millionths, asks with ${JSON.stringify(it)}`,
      )
    this.#asked.push({ task: row.id, at, cost, entry: it.entry, client })
  }

  /** Whether a task that was never started waits for credits, by the rows. */
  lacksCredits({ row, client, estimate, measured }: Followed, clients: readonly CreditState[]): boolean {
    const choice = this.#choiceOf(row.id)
    if (this.#ledger === undefined || choice === 'run' || row.fence > 0 || measured?.held !== undefined)
      return false
    const credits = clients.find(({ name }) => name === client)?.credits ?? 0
    return estimate > 0 && credits < estimate * MICRO
  }

  /** After a commit. */
  look(tasks: ReadonlyMap<number, Followed>, rows: StructureRows): void {
    if (this.#ledger !== undefined) this.#ledgers(tasks, rows)
  }

  /** At the end: no purchase that was answered is lost, or another (I1). */
  end({ entries: rows }: StructureRows): void {
    const entries = this.#ledger === undefined ? rows : [...this.#seen.values()].flat()
    const there = new Map(
      entries.flatMap(({ client, kind, key, amount }) =>
        kind === PURCHASE ? [[`${client} ${key}`, amount]] : [],
      ),
    )
    for (const [name, amount] of this.#bought)
      if (there.get(name) !== amount)
        this.#violated(
          'I1',
          `the purchase ${name} of ${amount} was answered, and is ${there.get(name) ?? 'gone'}`,
        )
  }

  #choiceOf(task: number): OutOfCredits {
    return this.#choices.get(task) ?? this.#ledger ?? 'run'
  }

  /** 11.8: each entry is the one before it and what it changes; what is reserved are the estimates of what has started; nothing is bought twice. */
  #ledgers(tasks: ReadonlyMap<number, Followed>, { clients, entries: rows }: StructureRows): void {
    const entries = this.#unfolded(tasks, rows)
    this.#findings.count('entries', Math.max(0, entries.length - this.#entries))
    this.#entries = entries.length
    const there = new Set(rows)
    const held = new Map<string, number>()
    for (const { row, client, estimate, measured } of tasks.values())
      if (row.fence > 0 && row.state < COMPLETED && measured?.held === undefined)
        held.set(client, (held.get(client) ?? 0) + Math.round(estimate * MICRO))
    const byClient = Map.groupBy(entries, ({ client }) => client)
    for (const { name, credits } of clients) {
      const own = byClient.get(name) ?? []
      let [free, reserved] = [0, 0]
      const keys = new Set<string>()
      for (const [index, entry] of own.entries()) {
        free += entry.amount
        reserved += entry.held
        if (entry.seq !== index + 1)
          this.#violated('11.8', `entry ${entry.seq} of '${name}' stands at place ${index + 1}`)
        if (entry.credits !== free || entry.reserved !== reserved)
          this.#violated(
            '11.8',
            `entry ${entry.seq} of '${name}' says ${entry.credits} and ${entry.reserved}, the sums are ${free} and ${reserved}`,
          )
        // A key whose purchase was folded buys again.
        const isKept = entry.kind === PURCHASE && there.has(entry)
        if (isKept && keys.has(entry.key ?? ''))
          this.#violated('11.8', `'${name}' has bought '${entry.key}' twice`)
        if (isKept) keys.add(entry.key ?? '')
        if (entry.kind === RESERVE && entry.credits < 0 && this.#choiceOf(entry.task ?? 0) !== 'run')
          this.#violated(
            '11.9',
            `task ${entry.task} has started with ${entry.credits - entry.amount} millionths of '${name}'`,
          )
      }
      if (own.length > 0 && credits !== free)
        this.#violated('11.8', `'${name}' has ${credits} millionths, the entries sum to ${free}`)
      if (reserved !== (held.get(name) ?? 0))
        this.#violated(
          '11.8',
          `'${name}' has ${reserved} millionths reserved, what has started is estimated at ${held.get(name) ?? 0}`,
        )
    }
    this.#settled(tasks, entries)
    this.#requests(tasks, byClient, clients)
  }

  /** 11.9: a client asks once, until an entry covers it or its task has left the queue. */
  #requests(
    tasks: ReadonlyMap<number, Followed>,
    byClient: ReadonlyMap<string, readonly Entry[]>,
    clients: readonly CreditState[],
  ): void {
    const isOpen = ({ task, cost, entry }: Request, client: string) =>
      tasks.get(task)?.row.state === QUEUED &&
      !(byClient.get(client) ?? []).some(({ seq, credits }) => seq > entry && credits >= cost)
    for (const [client, request] of this.#asks) if (!isOpen(request, client)) this.#asks.delete(client)
    for (const { client, ...request } of this.#asked.splice(0)) {
      if (this.#asks.has(client))
        this.#violated(
          '11.9',
          `'${client}' is asked for credits by task ${request.task}, and was asked before`,
        )
      this.#asks.set(client, request)
    }
    for (const { name, asks } of clients) {
      const { entry: _, ...due } = this.#asks.get(name) ?? { entry: 0 }
      const kept = asks === null ? {} : (JSON.parse(asks) as object)
      if (JSON.stringify(due) !== JSON.stringify(kept))
        this.#violated(
          '11.9',
          `'${name}' asks with ${JSON.stringify(kept)}, and should with ${JSON.stringify(due)}`,
        )
    }
  }

  /**
   * 11.8: all entries of each ledger, those that were folded as they were seen before. The entry that stands for them has their sums, and none of them holds
   * credits of a task that is not over.
   */
  #unfolded(tasks: ReadonlyMap<number, Followed>, rows: readonly Entry[]): readonly Entry[] {
    const stand = rows.filter(({ kind, seq }) => kind === OPENING && seq > 1)
    const folded = stand.reduce((sum, { seq }) => sum + seq, 0)
    this.#findings.count('folded entries', folded - this.#folded)
    this.#folded = folded
    return [...Map.groupBy(rows, ({ client }) => client)].flatMap(([client, own]) => {
      const [first] = own
      const seen = this.#seen.get(client) ?? []
      const gone = first?.kind === OPENING && first.seq > 1 ? seen.filter(({ seq }) => seq <= first.seq) : []
      const all = gone.length === 0 ? own : [...gone, ...own.slice(1)]
      this.#seen.set(client, all)
      if (first === undefined || gone.length === 0) return all
      const free = gone.reduce((sum, { amount }) => sum + amount, 0)
      const reserved = gone.reduce((sum, { held }) => sum + held, 0)
      if (first.amount !== free || first.held !== reserved || gone.length !== first.seq)
        this.#violated(
          '11.8',
          `entry ${first.seq} of '${client}' opens with ${first.amount} and ${first.held}, the ${gone.length} entries before came to ${free} and ${reserved}`,
        )
      const early = gone.find(
        ({ kind, task }) => kind === RESERVE && (tasks.get(task ?? 0)?.row.state ?? COMPLETED) < COMPLETED,
      )
      if (early !== undefined)
        this.#violated(
          '11.8',
          `entry ${early.seq} of '${client}' was folded before task ${early.task} was over`,
        )
      return all
    })
  }

  /** 11.8: a task is reserved for once, and settled at what it has cost. */
  #settled(tasks: ReadonlyMap<number, Followed>, entries: readonly Entry[]): void {
    const sums = new Map<number, { reserves: number; cost: number }>()
    for (const { task, kind, amount, held } of entries) {
      if (task === null) continue
      const sum = sums.get(task) ?? { reserves: 0, cost: 0 }
      if (kind === RESERVE) sum.reserves += 1
      if (kind === SETTLE) sum.cost -= amount + held
      sums.set(task, sum)
    }
    for (const { row, paid, estimate, measured } of tasks.values()) {
      if (row.fence === 0 || measured?.held !== undefined) continue
      const { reserves, cost } = sums.get(row.id) ?? { reserves: 0, cost: 0 }
      if (reserves !== 1) this.#violated('11.8', `task ${row.id} was reserved for ${reserves} times`)
      const due = row.state < COMPLETED ? 0 : paid > 0 ? paid : Math.round(estimate * MICRO)
      if (cost !== due)
        this.#violated('11.8', `task ${row.id} was settled at ${cost} millionths, and has cost ${due}`)
    }
  }

  #violated(rule: string, text: string): void {
    this.#findings.violated(rule, text)
  }
}
