import { instead } from '../check/rules.ts'
import type { StageTerms } from './pipeline.ts'

/** A rule that the stages of a pipeline break. */
export type StageViolation =
  /** It receives types that no stage before it publishes. */
  | { readonly rule: 'invalid_subscription'; readonly stage: string; readonly missing: readonly string[] }
  /** A stage before it has the same name. */
  | { readonly rule: 'duplicate_stage'; readonly stage: string }

/**
 * Everything that is wrong with the stages of a pipeline, in their order: a stage receives only what a stage before it publishes. Source:
 * agent-scheduler-paper Def 6, 5.3; `docs/semantics.md 13.1`.
 */
export function checkStages(stages: readonly StageTerms[]): readonly StageViolation[] {
  const published = new Set<string>()
  const names = new Set<string>()
  return stages.flatMap(({ stage, publishes, subscribes }): readonly StageViolation[] => {
    const missing = subscribes.filter((type) => !published.has(type))
    const isTaken = names.has(stage)
    for (const type of publishes) published.add(type)
    names.add(stage)
    return [
      ...(isTaken ? [{ rule: 'duplicate_stage', stage } as const] : []),
      ...(missing.length > 0 ? [{ rule: 'invalid_subscription', stage, missing } as const] : []),
    ]
  })
}

/** Words for the violations, one sentence for all. `stages`: those of the pipeline, for the type that was meant by one that is missing. */
export function violationsText(
  violations: readonly StageViolation[],
  stages: readonly StageTerms[] = [],
): string {
  return violations
    .map((it) =>
      it.rule === 'duplicate_stage'
        ? `stage '${it.stage}' is there twice`
        : `stage '${it.stage}' subscribes to ${it.missing.map((type) => `'${type}'`).join(', ')}, which no stage before it publishes${meantText(it, stages)}`,
    )
    .join('; ')
}

function meantText(
  { stage, missing }: Extract<StageViolation, { rule: 'invalid_subscription' }>,
  stages: readonly StageTerms[],
): string {
  const [type = ''] = missing
  const place = stages.findIndex((it) => it.stage === stage)
  const later = stages.find(({ publishes }, at) => at >= place && publishes.includes(type))
  if (missing.length > 1 || later !== undefined) return ''
  return instead(
    type,
    stages.slice(0, Math.max(0, place)).flatMap(({ publishes }) => publishes),
  )
}
