import type { Scenario } from './scenario.ts'

/**
 * The scenario with so many processes that work, at least: its last one is there several times, each with the same workers. Faults that are drawn for that one
 * are drawn for all of them.
 */
export function withProcesses(scenario: Scenario, count: number): Scenario {
  const working = scenario.processes.filter(({ workers, standby }) => workers !== undefined && !standby)
  const last = working.at(-1)
  if (last === undefined || working.length >= count) return scenario
  const more = Array.from({ length: count - working.length }, (_, i) => ({
    ...last,
    name: `${last.name}-${i + 2}`,
  }))
  const names = more.map(({ name }) => name)
  return {
    ...scenario,
    processes: [...scenario.processes, ...more],
    faults: scenario.faults.map((fault) =>
      fault.do === 'draw' && fault.processes.includes(last.name)
        ? { ...fault, processes: [...fault.processes, ...names] }
        : fault,
    ),
  }
}
