import {
  invalid,
  PIPELINE_KEY,
  type PipelineTerms,
  RuntimeError,
  stageKey,
  violationsText,
} from '@ku0/agent-runtime-core'
import type { ChildTask, SpawnOptions } from '../../api/task-context.ts'
import type { TaskType } from '../../api/task-type.ts'
import { type ChildCaller, superviseChild } from '../child/children.ts'
import { guarded } from '../pass/guarded.ts'

/** A stage with the task that it runs. */
export interface StageTask {
  readonly stage: string
  readonly task: TaskType
  readonly input: unknown
  readonly options: Omit<SpawnOptions, 'taskId' | 'onParentEnd' | 'whenFull'>
}

/**
 * The task becomes a pipeline, spawns its stages in order, and waits without a slot until all have ended. A stage that fails fails it.
 * Source: `docs/semantics.md 13.1, 13.2`.
 */
export async function runPipeline(
  caller: ChildCaller,
  terms: PipelineTerms,
  stages: readonly StageTask[],
): Promise<Record<string, unknown>> {
  const { submission } = caller
  if (submission.forkOf !== undefined)
    throw invalid(
      'a pipeline has one log, which a fork or a retry would not share: submit the pipeline again, or let its stages retry',
    )
  await open(caller, terms)
  const children: ChildTask[] = []
  for (const { stage, task, input, options } of stages)
    children.push((await superviseChild(caller, stageKey(stage), task, input, options)) as ChildTask)
  const results = await Promise.all(children.map((child) => child.result()))
  return Object.fromEntries(stages.map(({ stage }, at) => [stage, results[at]]))
}

async function open({ pass, scope, callee }: ChildCaller, terms: PipelineTerms): Promise<void> {
  const { position, memo } = pass.use({ key: PIPELINE_KEY, as: 'step', scope, callee })
  if (memo !== undefined) return scope.answered(memo.seq)
  const { lease, claim } = pass.attempt
  await pass.gate.during(() =>
    guarded(scope, async () => {
      const outcome = await lease.write({
        kind: 'openPipeline',
        leaseId: claim.leaseId,
        key: PIPELINE_KEY,
        position,
        terms,
      })
      if (outcome?.as !== 'invalid') return
      const { violations } = outcome
      throw new RuntimeError('pipeline_constraint_violation', violationsText(violations), {
        details: { violations },
      })
    }),
  )
}
