/** How much a person looks at what an agent does, least control first. Source: agent-scheduler-paper 3.4; `docs/semantics.md 12.1`. */
export const oversightModes = ['autonomous_escalation', 'spot_check', 'supervised'] as const
export type OversightMode = (typeof oversightModes)[number]

/** The mode of an agent that names none. Source: `docs/semantics.md 12.0`. */
export const defaultOversightMode: OversightMode = 'autonomous_escalation'

/** Above 0 when `a` has more control than `b`, 0 when they are the same: `supervised >= spot_check >= autonomous_escalation`. */
export function compareOversight(a: OversightMode, b: OversightMode): number {
  return oversightModes.indexOf(a) - oversightModes.indexOf(b)
}
