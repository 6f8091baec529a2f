/** How much of a reputation the latest evaluation is. Source: agent-scheduler-paper Def. 15; `docs/semantics.md 15.3`. */
export const reputationAlpha = 0.3
/**
 * The least reputation that the scheduling uses, so that nobody starves. Source: `docs/semantics.md 11.6`.
 */
const leastReputation = 0.05
/** The share of dispatches that reputation has no say in. Source: `docs/semantics.md 11.6`. */
export const explorationShare = 0.05

/** The reputation after a composite of 0 to 1; the first is the composite itself. Source: `docs/semantics.md 15.3`. */
export function nextReputation(
  before: number | undefined,
  composite: number,
  alpha = reputationAlpha,
): number {
  // alpha s + (1 - alpha) R, in the form that does not change R when s = R.
  return before === undefined ? composite : Math.min(1, Math.max(0, before + alpha * (composite - before)))
}

/**
 * The weight of an agent in the schedule: `weight * (1 + beta * reputation)`, the reputation clamped to 0.05 to 1. With `beta` 0, and
 * for an agent that was never evaluated, it is the weight itself. Source: agent-scheduler-paper 8.6; `docs/semantics.md 11.6`.
 */
export function effectiveWeight(weight: number, beta: number, reputation: number | undefined): number {
  if (beta === 0 || reputation === undefined) return weight
  return weight * (1 + beta * Math.min(1, Math.max(leastReputation, reputation)))
}

/**
 * Whether a dispatch leaves reputation out, so that who has a bad one can mend it. `draw` is a number drawn for this dispatch, from 0
 * to below 1. Source: `docs/semantics.md 11.6`.
 */
export function ignoresReputation(draw: number, exploration = explorationShare): boolean {
  return draw < exploration
}
