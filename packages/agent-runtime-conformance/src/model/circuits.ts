import type { ModelCircuit, ModelTask } from './records.ts'

// The reference model's circuits, as far as hard breaches open them. One that is closed is not there. Source: `docs/semantics.md 10.3`.

type Circuits = Map<string, ModelCircuit>

/** A hard limit was broken on the route. */
export function breach(circuits: Circuits, { type }: ModelTask, now: number): void {
  circuits.set(type, { openedAt: now, probe: undefined, probeAt: 0 })
}

/** Whether it takes one more: while it is open a probe once in a while, which starts at once. */
export function isOpen(
  circuits: Circuits,
  route: string,
  isDelayed: boolean,
  { now, openMs }: { readonly now: number; readonly openMs: number },
): boolean {
  const circuit = circuits.get(route)
  if (circuit === undefined) return false
  const { probe, probeAt, openedAt } = circuit
  const hasProbe = probe !== undefined && (probe.state !== 'queued' || now - probeAt < openMs)
  return hasProbe || isDelayed || now - openedAt < openMs
}

/** A task that was admitted although the circuit is not closed is its probe. */
export function takeProbe(circuits: Circuits, task: ModelTask, now: number): void {
  const circuit = circuits.get(task.type)
  if (circuit !== undefined) Object.assign(circuit, { probe: task, probeAt: now })
}

/** Probes that have ended, or wait, decide. */
export function answerProbes(circuits: Circuits, now: number): void {
  for (const [route, circuit] of circuits) {
    const said = circuit.probe?.said
    if (said === 'success') circuits.delete(route)
    else if (said === 'failure') circuits.set(route, { openedAt: now, probe: undefined, probeAt: 0 })
    else if (said === 'none') circuit.probe = undefined
  }
}
