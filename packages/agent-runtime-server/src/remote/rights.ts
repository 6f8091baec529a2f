import type { ReadKind, Write, WriteKind } from '@ku0/agent-runtime-core'
import type { Scope } from '../access/tokens.ts'

/**
 * The rights that a write over a line needs. `lease`: the scope `work`, and a lease of the same process. `worker`: the scope `work`, and workers of the same
 * process. `keeper`: the scope `work`; the store itself decides whether it is due. `never`: what no line may do.
 */
export const writeRights: Readonly<Record<WriteKind, Scope | 'lease' | 'worker' | 'keeper' | 'never'>> = {
  submit: 'submit',
  recordStep: 'lease',
  startStep: 'lease',
  failStep: 'lease',
  spawn: 'lease',
  checkpoint: 'lease',
  appendOutput: 'lease',
  progress: 'lease',
  settle: 'lease',
  suspend: 'lease',
  diverge: 'lease',
  release: 'lease',
  abortSettled: 'lease',
  report: 'lease',
  scar: 'lease',
  openPipeline: 'lease',
  publish: 'lease',
  receive: 'lease',
  registerWorkers: 'worker',
  drainWorkers: 'worker',
  removeWorkers: 'worker',
  askDrain: 'operate',
  pauseQueue: 'operate',
  fireSchedule: 'keeper',
  resume: 'operate',
  answerBudget: 'operate',
  signal: 'operate',
  resolveApproval: 'operate',
  startChild: 'operate',
  restartChild: 'operate',
  fork: 'operate',
  cancel: 'operate',
  cancelMany: 'operate',
  prune: 'operate',
  putSchedule: 'operate',
  pauseSchedule: 'operate',
  resumeSchedule: 'operate',
  removeSchedule: 'operate',
  triggerSchedule: 'operate',
  evaluate: 'operate',
  observeRoute: 'operate',
  putSwarm: 'operate',
  closeSwarm: 'operate',
  putClient: 'admin',
  purchaseCredits: 'admin',
  removeClient: 'admin',
  // It would live in the store's own process, which does not know when its caller dies.
  startLease: 'never',
  claimTask: 'never',
}

/** The rights that a question over a line needs beside the scope `read`: `own`: a task that the process runs; `work`: nothing but the scope `work`. */
export const readRights: Readonly<Record<ReadKind, 'own' | 'work' | 'read'>> = {
  task: 'own',
  events: 'own',
  steps: 'own',
  integrity: 'own',
  memos: 'own',
  approvals: 'own',
  budget: 'own',
  output: 'own',
  leases: 'own',
  explain: 'own',
  stats: 'work',
  workers: 'work',
  routes: 'work',
  swarms: 'work',
  schedules: 'work',
  supervisor: 'own',
  pipeline: 'own',
  pipelineEvents: 'own',
  pipelines: 'read',
  tasks: 'read',
  taskIds: 'read',
  budgets: 'read',
  clients: 'read',
  ledger: 'read',
  reputation: 'read',
  evaluations: 'read',
  similar: 'read',
  waits: 'read',
  series: 'read',
}

/** The lease that a write is made under. */
export function leaseOf(operation: Write): string | undefined {
  return 'leaseId' in operation ? operation.leaseId : undefined
}
