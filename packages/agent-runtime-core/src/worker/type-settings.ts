import type { WorkerStatus } from './schema.ts'

/** The settings of a task type as a process knows them, each as a short text. A schema is there by the hash of its JSON Schema. */
export type TypeSettings = Readonly<Record<string, string>>

/** A setting of a task type that two processes know differently; undefined where one of them has none. */
export interface TypeDifference {
  readonly type: string
  readonly setting: string
  readonly here: string | undefined
  readonly there: string | undefined
  /** The worker of the other process. */
  readonly workerId: string
}

/**
 * In which settings of task types what one process knows differs from what registered workers do. A schema is compared only where both can tell theirs.
 * Source: `docs/semantics.md 8.11`.
 */
export function typeDifferences(
  here: ReadonlyMap<string, TypeSettings>,
  workers: readonly Pick<WorkerStatus, 'workerId' | 'settings'>[],
): readonly TypeDifference[] {
  return workers.flatMap(({ workerId, settings = {} }) =>
    Object.entries(settings).flatMap(([type, theirs]) => {
      const mine = here.get(type)
      return mine === undefined ? [] : differing(mine, theirs).map((it) => ({ type, ...it, workerId }))
    }),
  )
}

/** The same among the workers of a store: each difference once, against the first worker that knows the type. */
export function differencesAmong(
  workers: readonly Pick<WorkerStatus, 'workerId' | 'settings'>[],
): readonly (TypeDifference & { readonly first: string })[] {
  const firsts = new Map<string, { readonly workerId: string; readonly settings: TypeSettings }>()
  const found = new Map<string, TypeDifference & { readonly first: string }>()
  for (const worker of workers)
    for (const [type, settings] of Object.entries(worker.settings ?? {})) {
      const first = firsts.get(type)
      if (first === undefined) firsts.set(type, { workerId: worker.workerId, settings })
      else
        for (const it of differing(first.settings, settings)) {
          const key = JSON.stringify([type, it.setting, it.there])
          if (!found.has(key))
            found.set(key, { type, ...it, workerId: worker.workerId, first: first.workerId })
        }
    }
  return [...found.values()]
}

function differing(
  here: TypeSettings,
  there: TypeSettings,
): readonly Pick<TypeDifference, 'setting' | 'here' | 'there'>[] {
  const names = [...new Set([...Object.keys(here), ...Object.keys(there)])].toSorted()
  return names.flatMap((setting) => {
    const [mine, theirs] = [here[setting], there[setting]]
    const isUntold = setting === SCHEMA && (mine === undefined || theirs === undefined)
    return mine === theirs || isUntold ? [] : [{ setting, here: mine, there: theirs }]
  })
}

const SCHEMA = 'input'
