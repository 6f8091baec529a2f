import {
  defineTask,
  type RecoverySetting,
  type TaskContext,
  type TaskDefinition,
  type TaskFailure,
} from '@ku0/agent-runtime'
import type { FailureCategory, RecoveryChoice } from '@ku0/agent-runtime-core'
import type { SeededRandom } from '@ku0/agent-runtime-core/testing'
import { z } from 'zod'
import { type Call, drawProgram, MAX_ATTEMPTS, type Program } from './program.ts'

/** What is done about each failure, with which models, and which other task takes over after them. */
export interface RecoveryTerms {
  readonly table: Readonly<Record<FailureCategory, RecoveryChoice>>
  readonly models: readonly string[]
  readonly other?: string
}

/** The tables of recovery, by the task type that has each. */
export const recoveryTerms: Readonly<Record<string, RecoveryTerms>> = {
  'recovering as usual': {
    table: {
      crash: 'restart',
      timeout: 'retry_with_backoff',
      resource_exhaustion: 'fallback_agent',
      invalid_output: 'retry_with_backoff',
      human_rejection: 'retry_with_feedback',
    },
    models: ['small', 'big'],
  },
  'recovering with people': {
    table: {
      crash: 'human_escalation',
      timeout: 'fallback_agent',
      resource_exhaustion: 'fallback_agent',
      invalid_output: 'retry_with_feedback',
      human_rejection: 'human_escalation',
    },
    models: ['big'],
  },
  'recovering with models': {
    table: {
      crash: 'fallback_agent',
      timeout: 'fail',
      resource_exhaustion: 'human_escalation',
      invalid_output: 'retry_with_feedback',
      human_rejection: 'fail',
    },
    models: ['small', 'big', 'huge'],
  },
}

/** The tables of task types that hand over, and of those that take over. */
export const handOverTerms: Readonly<Record<string, RecoveryTerms>> = {
  'handing over': {
    table: {
      crash: 'fallback_agent',
      timeout: 'retry_with_backoff',
      resource_exhaustion: 'fallback_agent',
      invalid_output: 'fallback_agent',
      human_rejection: 'retry_with_feedback',
    },
    models: ['small'],
    other: 'taking over',
  },
  'handing over at once': {
    table: {
      crash: 'fallback_agent',
      timeout: 'fallback_agent',
      resource_exhaustion: 'human_escalation',
      invalid_output: 'fallback_agent',
      human_rejection: 'human_escalation',
    },
    models: [],
    other: 'handing on',
  },
  'handing on': {
    table: {
      crash: 'restart',
      timeout: 'fallback_agent',
      resource_exhaustion: 'fallback_agent',
      invalid_output: 'retry_with_feedback',
      human_rejection: 'fail',
    },
    models: [],
    other: 'taking over',
  },
  'taking over': {
    table: {
      crash: 'restart',
      timeout: 'fail',
      resource_exhaustion: 'fail',
      invalid_output: 'retry_with_feedback',
      human_rejection: 'fail',
    },
    models: [],
  },
}

/** The types of them that clients submit. */
const handing = ['handing over', 'handing over at once', 'handing on']

/** The outputs of this type are short. */
const SHORT = 'handing over at once'

/** What the product is told: the first has the product's own table. */
function settingOf(type: string, { table, models, other }: RecoveryTerms): RecoverySetting {
  return {
    ...(type === 'recovering as usual' ? {} : (table as RecoverySetting)),
    ...(models.length === 0 ? {} : { fallbackModels: models }),
    ...(other === undefined ? {} : { fallback: { task: other } }),
  }
}

/** The request for approval at the end of such a task. */
const REVIEW = 'review'

/** How often the work that a request of such a task shows may be rejected. */
export function mostRejections(key: string): number {
  return key === REVIEW ? 1 : 3
}

/** A program whose first so many attempts return what does not fit. */
export interface RecoveringProgram extends Program {
  readonly unfit: number
}

const causes = ['crash', 'timeout', 'resource_exhaustion', 'invalid_output'] as const

/** A task whose attempts fail in one way or several, and whose work is rejected now and then. */
export function drawRecovering(
  random: SeededRandom,
  name: string,
  types: readonly string[] = Object.keys(recoveryTerms),
): { type: string; program: RecoveringProgram } {
  const program = drawProgram(random, name, undefined, 2)
  const fail = (): Call => {
    const parts = causes.filter(() => random.int(3) === 0)
    return {
      call: 'fail',
      as: parts.length === 0 ? [random.pick(causes)] : parts,
      attempts: 1 + random.int(MAX_ATTEMPTS + 1),
    }
  }
  const review: Call = {
    call: 'approval',
    key: REVIEW,
    timeoutMs: undefined,
    maxRetries: mostRejections(REVIEW),
  }
  const calls = program.calls.flatMap((call) => (random.int(3) === 0 ? [call, fail()] : [call]))
  return {
    type: random.pick(types),
    program: {
      ...program,
      calls: [...calls, ...(random.int(2) === 0 ? [fail()] : []), ...(random.int(2) === 0 ? [review] : [])],
      unfit: random.int(3) === 0 ? 1 + random.int(MAX_ATTEMPTS) : 0,
    },
  }
}

/** The same of a type that hands over to another task. */
export function drawHandOver(random: SeededRandom, name: string): ReturnType<typeof drawRecovering> {
  return drawRecovering(random, name, handing)
}

/** The words of an error that a program throws: the audit reads its parts from them, and without any it is a crash. */
const PLANNED = 'as planned'

/** An error of one part, or of several. */
export function failureOf(parts: readonly FailureCategory[]): Error {
  const message = `${PLANNED}: ${parts.join(', ')}`
  const [first = 'crash', ...others] = parts
  if (others.length === 0) return Object.assign(new Error(message), codeOf(first))
  return new AggregateError(
    parts.map((part) => Object.assign(new Error(part), codeOf(part))),
    message,
  )
}

/** The parts of an error by its message; undefined for one of another kind. */
export function plannedParts(message: string): readonly FailureCategory[] | undefined {
  if (message === PLANNED) return ['crash']
  return message.startsWith(`${PLANNED}: `)
    ? (message.slice(PLANNED.length + 2).split(', ') as FailureCategory[])
    : undefined
}

function codeOf(part: FailureCategory): { readonly code?: string } {
  switch (part) {
    case 'timeout':
      return { code: 'ETIMEDOUT' }
    case 'resource_exhaustion':
      return { code: 'rate_limited' }
    case 'invalid_output':
      return { code: 'invalid_output' }
    default:
      return { code: 'crashed' }
  }
}

/** What a handler of such a task finds when it begins. */
export interface RecoveringPass {
  readonly taskId: string
  readonly fence: number
  readonly model: string | undefined
  readonly failure: Pick<TaskFailure, 'category' | 'strategy' | 'attempt'> | undefined
}

/** The task types with these tables of recovery. `perform` runs a program. */
export function recoveringTasks(
  terms: Readonly<Record<string, RecoveryTerms>>,
  perform: (ctx: TaskContext, program: Program) => Promise<unknown>,
  begins: (pass: RecoveringPass) => void,
): TaskDefinition[] {
  return Object.entries(terms).map(
    ([type, of]) =>
      defineTask(
        {
          type,
          recovery: settingOf(type, of),
          input: z.custom<RecoveringProgram>(),
          output: type === SHORT ? z.array(z.unknown()).max(3) : z.array(z.unknown()),
          retry: { attempts: MAX_ATTEMPTS, backoff: { initialMs: 20, maxMs: 60 } },
        },
        async (ctx, program) => {
          const { taskId, fencingToken, model, failure, attempt } = ctx
          begins({ taskId, fence: fencingToken, model, failure })
          const came = await perform(ctx, program)
          return (attempt <= program.unfit ? 'unfit' : came) as unknown[]
        },
      ) as TaskDefinition,
  )
}
