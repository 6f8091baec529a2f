import {
  invalid,
  parseJson,
  partsOf,
  PIPELINE_KEY,
  type PipelineTerms,
  RuntimeError,
  slotShortage,
  slotShortageText,
  stageKey,
  stagePartText,
  type StagePart,
  violationsText,
} from '@ku0/agent-runtime-core'
import type { ChildTask, SpawnOptions } from '../../api/task-context.ts'
import { TaskFailed, TaskRejected } from '../../api/errors.ts'
import type { TaskType } from '../../api/task-type.ts'
import { settled } from '../child/child.ts'
import { type ChildCaller, superviseChild } from '../child/children.ts'
import { isThenable } from '../../terms/thenable.ts'
import { guarded } from '../pass/guarded.ts'

/** A stage with the task that it runs. */
export interface StageTask {
  readonly stage: string
  readonly task: TaskType
  /** The input of one of its tasks; `partition`: its number, from 1. */
  readonly inputOf: (partition: number) => unknown
  readonly options: Omit<SpawnOptions, 'taskId' | 'onParentEnd' | 'whenFull'>
}

/**
 * The task becomes a pipeline, spawns its stages in order, and waits without a slot until all have ended. A task of a stage that fails fails it.
 * Later passes have the partitions that the first one had, whatever the definition says by now.
 * Source: `docs/semantics.md 13.1, 13.2`.
 */
export async function runPipeline(
  caller: ChildCaller,
  terms: PipelineTerms,
  stages: readonly StageTask[],
): Promise<Record<string, unknown>> {
  const opened = await open(caller, terms, stages)
  const running: { readonly stage: string; readonly isOne: boolean; readonly tasks: StartedTask[] }[] = []
  for (const { stage, task, inputOf, options } of stages) {
    const places = placesOf(opened, stage)
    const tasks: StartedTask[] = []
    for (const place of places) {
      const input = inputOf(place.partition ?? 1)
      if (isThenable(input))
        throw invalid(
          `stage '${stage}': its input returned a promise. It is called in every pass and may not wait: do that in the task of the stage`,
        )
      tasks.push({ place, child: await beginTask(caller, place, [task, input, options]) })
    }
    running.push({ stage, isOne: places[0]?.partition === undefined, tasks })
  }
  const results = await Promise.all(
    running.map(async ({ stage, isOne, tasks }) => {
      const all = await Promise.all(tasks.map(resultOf))
      return [stage, isOne ? all[0] : all] as const
    }),
  )
  return Object.fromEntries(results)
}

interface StartedTask {
  readonly place: StagePart
  readonly child: ChildTask
}

/** The result of the task of a stage; the error of one that failed names the stage. */
async function resultOf({ place, child }: StartedTask): Promise<unknown> {
  try {
    return await child.result()
  } catch (error) {
    if (!(error instanceof TaskFailed)) throw error
    const { code, details, message } = error
    throw settled(new RuntimeError(code, `${stagePartText(place)}: ${message}`, { details, cause: error }))
  }
}

/** The task of a stage; the error of one that was refused names the stage. */
async function beginTask(
  caller: ChildCaller,
  place: StagePart,
  [task, input, options]: readonly [TaskType, unknown, StageTask['options']],
): Promise<ChildTask> {
  try {
    return (await superviseChild(caller, stageKey(place), task, input, options)) as ChildTask
  } catch (error) {
    if (!(error instanceof TaskRejected)) throw error
    const { code, details, message } = error
    throw new RuntimeError(code, `${stagePartText(place)} could not begin: ${message}`, {
      details,
      cause: error,
    })
  }
}

function placesOf({ stages }: PipelineTerms, stage: string): readonly StagePart[] {
  const begun = stages.find((it) => it.stage === stage)
  return begun === undefined ? [{ stage }] : partsOf(begun)
}

/** The terms with which the pipeline began. */
async function open(
  { pass, scope, callee }: ChildCaller,
  terms: PipelineTerms,
  stages: readonly StageTask[],
): Promise<PipelineTerms> {
  const { position, memo } = pass.use({ key: PIPELINE_KEY, as: 'step', scope, callee })
  if (memo !== undefined) {
    scope.answered(memo.seq)
    return parseJson(memo.result) as PipelineTerms
  }
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
      if (outcome?.as === 'open') await tellShortage(pass, terms, stages)
      if (outcome?.as !== 'invalid') return
      const { violations } = outcome
      throw new RuntimeError('pipeline_constraint_violation', violationsText(violations, terms.stages), {
        details: { violations },
      })
    }),
  )
  return terms
}

/**
 * Says when the tasks of a pipeline that begins have to share slots: it is slow then, and nothing else tells why. Once for each pipeline type of a
 * store and process.
 */
async function tellShortage(
  { attempt }: ChildCaller['pass'],
  terms: PipelineTerms,
  stages: readonly StageTask[],
): Promise<void> {
  const { claim, parts } = attempt
  const told = toldIn.get(parts.store) ?? new Set()
  if (told.has(claim.type)) return
  const typeOf = new Map(stages.map(({ stage, task }) => [stage, task.type]))
  const types = terms.stages.flatMap(partsOf).map(({ stage }) => typeOf.get(stage) ?? '')
  // Whoever may not look at the workers is not told.
  const shortage = slotShortage(types, await parts.store.read({ kind: 'workers' }).catch(() => []))
  if (shortage === undefined) return
  toldIn.set(parts.store, told.add(claim.type))
  attempt.log('warn', `pipeline '${claim.type}': ${slotShortageText(shortage)}`, { ...shortage })
}

/** The pipeline types of which it was said. */
const toldIn = new WeakMap<object, Set<string>>()
