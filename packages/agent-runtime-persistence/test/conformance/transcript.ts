import type { OpenStore } from '@ku0/agent-runtime-conformance'
import type { ExecutionStore, StoreListener } from '@ku0/agent-runtime-core'
import type { Wanted, WorkingSet } from '@ku0/agent-runtime-core/transition'
import { hash } from 'node:crypto'
import { CheckedStore } from '../../src/checked/checked-store.ts'
import type { Database } from '../../src/engine/database.ts'
import { inlineStoreOf } from '../../src/line/inline-store.ts'
import { openStoreEngine } from '../../src/sqlite/store-engine.ts'
import { stanceOf } from '../../src/stance.ts'
import { chainDigest } from '../../src/system.ts'

/** So many lines of a test are told one by one; of those behind them, how many there are, and their digest. */
const mostLines = 12
/** So many names of rows are told one by one. */
const mostNames = 8

/**
 * What the stores of a test are asked, what they need from their database for it, what they write, answer and tell: a line each, in order. Values
 * are told by their digests, or whole. Times, ids and chance come from the test, so the lines are the same each time.
 */
export class Transcript {
  readonly #isWhole: boolean
  readonly #lines: string[] = []
  /** What was read since the last line: by kind. */
  readonly #reads = new Map<string, unknown[]>()

  constructor(isWhole: boolean) {
    this.#isWhole = isWhole
  }

  /** Opens a store in memory. */
  readonly open: OpenStore = ({ config, environment }) => {
    this.#say('a store', [])
    const processId = environment.ids.uuid()
    const options = {
      path: ':memory:',
      config,
      environment,
      chain: chainDigest,
      durability: 'full',
      acceptLoss: false,
      identity: { processId, host: 'virtual', bootId: 'virtual', pid: 0 },
      ...stanceOf(config),
      stalledMs: () => 0,
    } as const
    const opened = openStoreEngine(options)
    this.#watch(opened.database as unknown as Database)
    return Promise.resolve(this.#heard(new CheckedStore(inlineStoreOf(opened, options))))
  }

  get text(): string {
    this.#endReads()
    const lines = this.#lines
    if (this.#isWhole || lines.length <= mostLines) return lines.join('\n')
    const rest = lines.slice(mostLines)
    return [...lines.slice(0, mostLines), `${rest.length} lines more ${digestOf(rest)}`].join('\n')
  }

  #say(what: string, parts: readonly (readonly [name: string, values: unknown])[]): void {
    this.#endReads()
    this.#add(what, parts)
  }

  #add(what: string, parts: readonly (readonly [name: string, values: unknown])[]): void {
    const told = parts.map(([name, values]) => `${name} ${this.#isWhole ? textOf(values) : digestOf(values)}`)
    this.#lines.push([what, ...(told.length === 0 ? [] : [told.join(', ')])].join(' '))
  }

  #read(kind: string, answer: unknown): void {
    const answers = this.#reads.get(kind)
    if (answers === undefined) this.#reads.set(kind, [answer])
    else answers.push(answer)
  }

  /** What is read before anything else happens is one line. */
  #endReads(): void {
    const reads = [...this.#reads]
    this.#reads.clear()
    if (reads.length === 0) return
    this.#add(
      '  reads',
      reads.map(([kind, all]) => [all.length === 1 ? kind : `${all.length} × ${kind}`, all]),
    )
  }

  #watch(database: Database): void {
    const load = database.load.bind(database)
    const apply = database.apply.bind(database)
    database.load = (wanted) => {
      this.#say(`  needs ${neededIn(wanted)}`, [])
      return load(wanted)
    }
    database.apply = (changes, isTold) => {
      this.#say('  writes', writtenIn(changes))
      return apply(changes, isTold)
    }
  }

  #heard(store: ExecutionStore): ExecutionStore {
    const asked = async <T>(kind: string, answer: Promise<T>, tell: (answer: T) => void): Promise<T> => {
      try {
        const value = await answer
        tell(value)
        return value
      } catch (error) {
        const { name, message } = error as Error
        this.#say(`  refuses ${kind}`, [[name, message]])
        throw error
      }
    }
    return {
      get info() {
        return store.info
      },
      write: (operation) => {
        const kind = kindOf(operation)
        this.#say(kind, [])
        return asked(kind, store.write(operation), (outcome) => this.#say('  answers', [[kind, outcome]]))
      },
      read: (query) => {
        const kind = kindOf(query)
        return asked(kind, store.read(query), (answer) => this.#read(kind, answer))
      },
      demand: (workerId, credit) => store.demand(workerId, credit),
      interest: (interest) => store.interest(interest),
      listen: (listener) => store.listen(this.#listening(listener)),
      mayHaveSlept: () => store.mayHaveSlept(),
      timesSlept: () => store.timesSlept(),
      close: () => store.close(),
    }
  }

  #listening(listener: StoreListener): StoreListener {
    const told = Object.entries(listener).map(([name, tell]: [string, (values: unknown) => void]) => [
      name,
      (values: unknown) => {
        this.#say('  tells', [[name, values]])
        tell(values)
      },
    ])
    return Object.fromEntries(told) as StoreListener
  }
}

/** What rows are named by. */
type Names = Readonly<
  Record<'id' | 'task' | 'seq' | 'stream' | 'place' | 'state' | 'type', string | number | undefined>
>

function kindOf(given: unknown): string {
  return String((given as { readonly kind?: unknown } | null | undefined)?.kind)
}

function neededIn(wanted: Wanted): string {
  return Object.entries(wanted)
    .map(([kind, names]) => `${kind} ${listOf(names.map(nameOf))}`)
    .join(', ')
}

/** A row that names another one does so by its number. */
function nameOf(given: unknown): string {
  if (typeof given !== 'object' || given === null) return String(given)
  if (Array.isArray(given)) return given.join(':')
  const { id, task, seq, stream, place } = given as Names
  return String(id ?? (task === undefined ? (stream ?? place) : `${task}:${seq}`))
}

/** All that a flush changes: the rows of each table, what is told, and the rest. */
function writtenIn(changes: WorkingSet): readonly (readonly [name: string, values: unknown])[] {
  const rest: (readonly [string, unknown])[] = []
  const tables = Object.entries(changes).flatMap(([table, given]: [string, unknown]) => {
    if (surroundings.has(table)) return []
    const rows = rowsIn(given)
    if (rows?.length === 0) return []
    if (rows !== undefined && !derived.has(table))
      return [[`${table} ${listOf(rows.map(([name, row]) => rowName(name, row)))}`, rows] as const]
    rest.push([table, rows ?? given])
    return []
  })
  return [...tables, ['rest', rest]]
}

const surroundings: ReadonlySet<string> = new Set(['base', 'now', 'config', 'ids', 'around', 'shares'])

/** What follows from rows of other tables has no names of its own. */
const derived: ReadonlySet<string> = new Set(['streamsByKey', 'queued', 'taken', 'children', 'outputCounts'])

function rowsIn(given: unknown): readonly (readonly [name: unknown, row: unknown])[] | undefined {
  if (given instanceof Map || given instanceof Set || Array.isArray(given)) return [...given.entries()]
  if (typeof given !== 'object' || given === null || !('changed' in given)) return undefined
  return [...(given.changed as ReadonlyMap<unknown, unknown>)]
}

/** A task that moves says where to, and an event what it is. */
function rowName(name: unknown, row: unknown): string {
  if (typeof row !== 'object' || row === null) return String(name)
  const { state, task, seq, type } = row as Names
  if (typeof name === 'number' && type !== undefined && seq !== undefined) return `${task}:${seq}:${type}`
  return state === undefined ? String(name) : `${String(name)}:${state}`
}

function listOf(names: readonly string[]): string {
  const rest = names.slice(mostNames)
  return [...names.slice(0, mostNames), ...(rest.length === 0 ? [] : [`and ${rest.length} more`])].join(' ')
}

function digestOf(values: unknown): string {
  return `#${hash('sha1', textOf(values), 'hex').slice(0, 5)}`
}

/** Hashes are left out: they follow from all that was written before, so that they would change with it. */
function textOf(values: unknown): string {
  return (
    JSON.stringify(values, (name, value: unknown) => {
      if (name === 'hash' || name === 'tail') return undefined
      if (value instanceof Map || value instanceof Set) return [...value]
      return value
    }) ?? ''
  )
}
