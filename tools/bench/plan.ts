import type { Missing } from './results.ts'
import type { System } from './registry.ts'
import type { Workload } from './workloads.ts'

export interface Case {
  readonly system: System
  readonly workload: Workload
  readonly round: number
}

export interface Plan {
  readonly cases: readonly Case[]
  readonly leftOut: readonly Missing[]
}

interface Asked {
  readonly only: readonly string[]
  readonly rounds: number
}

/**
 * What is run, in order: round by round, and in a round one workload after the other by all systems, so that what compares stands side by
 * side in time. Each round begins with another system. Throws when a text of `only` names nothing.
 */
export function planOf(
  systems: readonly System[],
  workloads: readonly Workload[],
  { only, rounds }: Asked,
): Plan {
  const chosenSystems = chosen(systems, only)
  const chosenWorkloads = chosen(workloads, only)
  for (const text of only)
    if (![...systems, ...workloads].some(({ id }) => id.includes(text)))
      throw new Error(`--only ${text} names no system and no workload; --list prints all names`)
  const leftOut = chosenWorkloads.flatMap((workload) =>
    chosenSystems.flatMap((system) => {
      const reason = workload.leavesOut(system)
      return reason === undefined ? [] : [{ system: system.id, workload: workload.id, reason }]
    }),
  )
  const isLeftOut = (system: System, workload: Workload) =>
    leftOut.some((it) => it.system === system.id && it.workload === workload.id)
  const cases = Array.from({ length: rounds }, (_, round) =>
    chosenWorkloads
      .filter((workload) => round < (workload.rounds ?? rounds))
      .flatMap((workload) =>
        turned(chosenSystems, round)
          .filter((system) => !isLeftOut(system, workload))
          .map((system) => ({ system, workload, round })),
      ),
  ).flat()
  return { cases, leftOut }
}

/** Those that a text names; all, where no text names one. */
function chosen<T extends { readonly id: string }>(all: readonly T[], only: readonly string[]): readonly T[] {
  const named = all.filter(({ id }) => only.some((text) => id.includes(text)))
  return named.length === 0 ? all : named
}

function turned<T>(all: readonly T[], by: number): readonly T[] {
  const at = all.length === 0 ? 0 : by % all.length
  return [...all.slice(at), ...all.slice(0, at)]
}
