import type { ExecutionConfig, IdCodec, Reads } from '@ku0/agent-runtime-core'
import { routeRecords, swarmRecordOf, swarmRoute, type Instant } from '@ku0/agent-runtime-core/transition'
import type { Load } from '../sqlite/load.ts'

interface RoutesContext {
  readonly tables: { readonly load: Load; readonly ids: IdCodec }
  readonly config: ExecutionConfig
  readonly now: () => Instant
}

/** Answers how routes and swarms stand. Source: `docs/semantics.md 10.3, 10.6`. */
export function prepareRoutes(context: RoutesContext) {
  const { tables, now } = context
  const { load, ids } = tables
  const idOf = (task: number) => load.task(task)?.explicitId ?? ids.task(task)

  return {
    routes: (): Reads['routes']['answer'] => {
      const usages = load.work.usages()
      const leases = usages.flatMap(({ lease }) => (lease === null ? [] : (load.lease(lease) ?? [])))
      const acquiredAt = new Map(leases.map((lease) => [lease.id, lease.acquiredAt]))
      return routeRecords(load.work.circuits(), usages, acquiredAt, now().leaseAt, context.config)
    },
    swarms: (name: string | undefined): Reads['swarms']['answer'] => {
      const circuits = new Map(load.work.circuits().map((row) => [row.route, row]))
      const usages = load.work.usages()
      const { leaseAt } = now()
      return load.work
        .swarms()
        .filter((row) => name === undefined || row.name === name)
        .map((row) =>
          swarmRecordOf(row, circuits.get(swarmRoute(row.name)), usages, idOf, leaseAt, context.config),
        )
    },
  }
}
