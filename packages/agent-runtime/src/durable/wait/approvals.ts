import {
  approvalName,
  type ApprovalRequest,
  approvalTimeouts,
  assertOptions,
  invalid,
  isOneOf,
  type OversightMode,
  type RecoveryPolicy,
  oversightModes,
  rejectionPolicies,
  type Rules,
  show,
  SPOT_CHECK_SHARE,
  type WaitRecord,
  withoutUndefined,
  type ValueCodec,
} from '@ku0/agent-runtime-core'
import { endOfWait } from './ended-waits.ts'
import type { Approval, ApprovalOptions, Feedback } from '../../api/task-context.ts'
import { ApprovalRejected, TimeoutError } from '../../api/errors.ts'
import type { TaskDefinition } from '../../api/task-definition.ts'
import { refused } from '../pass/answer.ts'
import { checkKey, type Pass } from '../pass/pass.ts'
import { assertDeclared, type ExchangeTerms, readApproval } from '../../terms/exchange.ts'
import { awaitRecord, isWait, readOrEnd, type WaitCaller } from './wait-calls.ts'

/** `ctx.requestApproval`. Source: `docs/semantics.md 12.1-12.3`. */
export function requestApproval(
  { pass, scope, callee }: WaitCaller,
  terms: ExchangeTerms &
    Pick<TaskDefinition, 'oversight' | 'recovery'> & {
      /** The mode that the task was submitted with: no approval has less. */
      readonly least: OversightMode | undefined
    },
  key: unknown,
  artifact: unknown,
  given: unknown,
): Promise<Approval> {
  try {
    if (scope.closedBy !== undefined) throw scope.closedBy
    checkKey(key, 'approval')
    assertDeclared(terms, 'approval', key)
    assertOptions(`requestApproval '${key}'`, given, approvalRules)
    const options = (given ?? {}) as ApprovalOptions
    if (options.onTimeout !== undefined && options.timeoutMs === undefined)
      throw invalid(
        `requestApproval '${key}' option onTimeout: only together with timeoutMs; without timeoutMs the wait never times out; given ${show(options.onTimeout)}`,
      )
    const { config, values } = pass.attempt.parts
    const text = values.encode(artifact, {
      what: `the artifact of approval '${key}'`,
      maxBytes: config.maxPayloadBytes,
    })
    const { position, wait: memo } = pass.use({ key, as: 'approval', scope, callee })
    const answer = (record: WaitRecord): Approval => {
      if (record.outcome === 'timed_out')
        throw endOfWait(key, new TimeoutError(`approval '${key}'`, options.timeoutMs ?? 0))
      const verdict = verdictOf(values, record)
      if (record.outcome === 'rejected') throw endOfWait(key, new ApprovalRejected(key, verdict))
      const { value } = verdict
      const read = value === undefined ? {} : { value: readOrEnd(key, () => readApproval(terms, key, value)) }
      pass.approved(record.seq)
      return { asked: record.outcome === 'approved', ...verdict, ...read }
    }
    const { timeoutMs } = options
    return awaitRecord(pass, scope, { key, memo }, answer, () => ({
      key,
      position,
      kind: 'approval',
      name: approvalName(key),
      ...(timeoutMs === undefined ? {} : { delayMs: timeoutMs }),
      approval: requestOf(pass, key, text, {
        ...rejectionsOf(terms.recovery),
        ...withoutUndefined(options),
        mode: stronger(options.mode ?? terms.oversight, terms.least),
      }),
    }))
  } catch (error) {
    return refused(scope, 'approval', key, error)
  }
}

/** A task under supervision has no spot checks. A spot check that it was submitted with lets nothing through that its own mode asks for. */
function stronger(mode: OversightMode, least: OversightMode | undefined): OversightMode {
  return least === 'supervised' ? least : mode
}

/** The feedback of the rejections since the last approval. Source: `docs/semantics.md 12.2`. */
export function feedbackOf(pass: Pass): readonly Feedback[] {
  return pass.memos.rejections
    .filter(({ since }) => since === pass.approvedSeq)
    .map(({ key, at, value }) => ({
      key,
      at,
      ...(pass.attempt.parts.values.decode(value) as Partial<Feedback>),
    }))
}

/** What the table of the task type says of rejections. Source: `docs/semantics.md 14.3`. */
function rejectionsOf(recovery: RecoveryPolicy | undefined): { maxRetries?: number; escalates?: true } {
  const choice = recovery?.table.human_rejection
  if (choice === 'human_escalation') return { escalates: true }
  return choice === 'fail' ? { maxRetries: 0 } : {}
}

/** Rejected work is always reviewed again: after a rejection a spot check does not draw. */
function requestOf(
  pass: Pass,
  key: string,
  artifact: string,
  {
    mode,
    maxRetries = 3,
    onReject = 'rerun',
    onTimeout = 'throw',
    escalates,
  }: ApprovalOptions & { readonly mode: OversightMode; readonly escalates?: true },
): ApprovalRequest {
  const asks = mode !== 'spot_check' || feedbackOf(pass).length > 0 || pass.memos.open.has(key)
  const { claim, parts } = pass.attempt
  const draw = asks ? undefined : parts.environment.random.next(`spot check\n${claim.taskId}\n${key}`)
  return {
    artifact,
    mode,
    asked: draw === undefined || draw < SPOT_CHECK_SHARE,
    ...(draw === undefined ? {} : { draw }),
    maxRetries,
    onReject,
    onTimeout,
    ...(escalates === undefined ? {} : { escalates }),
  }
}

function verdictOf(values: ValueCodec, { value }: WaitRecord): Omit<Approval, 'asked'> {
  return value === undefined ? {} : (values.decode(value) as Omit<Approval, 'asked'>)
}

const approvalRules: Rules<ApprovalOptions> = {
  mode: isOneOf(oversightModes),
  maxRetries: ['a whole number, 0 or more', (value) => Number.isSafeInteger(value) && Number(value) >= 0],
  timeoutMs: isWait,
  onReject: isOneOf(rejectionPolicies),
  onTimeout: isOneOf(approvalTimeouts),
}
