import type { IdCodec } from '@ku0/agent-runtime-core'
import type { Duties, Loaded, Wanted } from '@ku0/agent-runtime-core/transition'
import type { DutiesWanted, Kept, KeptWanted } from '../../engine/database.ts'
import type { Hashes } from '../../sqlite/integrity.ts'
import { StoredTables } from '../../sqlite/stored-tables.ts'
import { prepareWanted } from '../../sqlite/wanted.ts'
import { Asking } from './asked.ts'
import { prepareFarKeep, type Owners } from './keep.ts'
import { prepareFarLoad } from './load.ts'

/** What a flush asks of the store, as readings that {@link Asking} runs: all that is missing of one crosses at once. */
export class Questions {
  readonly asking = new Asking()
  readonly kept: (wanted: KeptWanted, touched: ReadonlySet<number> | undefined) => Kept
  private readonly tables: StoredTables
  private readonly wanted

  constructor(ids: IdCodec, hashes: Hashes, owners: Owners) {
    const { asking } = this
    this.tables = new StoredTables(asking, ids, hashes, prepareFarLoad(asking))
    this.wanted = prepareWanted(this.tables, (names, find) => asking.gather(names, find))
    this.kept = prepareFarKeep(this.tables, asking, owners)
  }

  clientsRemoved(): string {
    return this.tables.load.clientsRemoved()
  }

  configurationWithout(gone: readonly number[]): number | undefined {
    return this.tables.load.configurations.lastWithout(gone)
  }

  settings(row: number): string {
    return this.tables.load.configurations.text(row)
  }

  line(line: string): string | undefined {
    return this.tables.load.line(line)
  }

  loaded(wanted: Wanted): Loaded {
    const kinds = Object.keys(wanted) as (keyof Wanted)[]
    this.asking.ahead(kinds, (kind) => this.wanted({ [kind]: wanted[kind] }))
    return this.wanted(wanted)
  }

  duties({ at, leaseAt, gone, limit, budgets }: DutiesWanted): Duties {
    const { load } = this.tables
    const reads = [
      () => load.lapsed(leaseAt, limit),
      () => load.due(at, limit),
      () => gone.map((process) => load.running(process)),
      () => (budgets ? load.budgetsDue(at, limit) : []),
    ] as const
    this.asking.ahead<() => unknown>(reads, (read) => read())
    return { lapsed: reads[0](), due: reads[1](), orphans: reads[2]().flat(), budgets: reads[3]() }
  }
}
