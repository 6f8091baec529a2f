import type { OutcomeOf, Write, WriteKind } from '../store.ts'
import { answerBudget } from './budgets.ts'
import { abortSettled } from './abort-settled.ts'
import { cancel } from './cancel.ts'
import { spawn } from './children.ts'
import { observeRoute } from './circuits.ts'
import { putClient, removeClient } from './clients.ts'
import { diverge, resume } from './divergence.ts'
import { evaluate } from './evaluations.ts'
import type { LeaseRow } from './rows.ts'
import { fork } from './fork.ts'
import { report, scar } from './report.ts'
import { release, settle } from './settle.ts'
import { startLease } from './start-lease.ts'
import { appendOutput, checkpoint, failStep, progress, recordStep, startStep } from './steps.ts'
import {
  fireSchedule,
  pauseSchedule,
  putSchedule,
  removeSchedule,
  resumeSchedule,
  triggerSchedule,
} from './schedules.ts'
import { submit } from './submit.ts'
import { closeSwarm, putSwarm } from './swarms.ts'
import { drainWorkers, registerWorkers, removeWorkers } from './upkeep.ts'
import { resolveApproval } from './verdicts.ts'
import { suspend } from './suspend.ts'
import { signal } from './waits.ts'
import type { WorkingSet } from './working-set.ts'

/**
 * The order of operations inside a flush, lowest first: what frees slots comes before what fills them. Operations of one rank keep
 * the order in which they came: those on one lease, those on one worker, and a submission and the cancel of its task.
 * Source: `docs/ARCHITECTURE.md`, A flush.
 */
export const flushRank: Readonly<Record<WriteKind, number>> = {
  settle: 1,
  release: 1,
  recordStep: 1,
  startStep: 1,
  failStep: 1,
  checkpoint: 1,
  appendOutput: 1,
  progress: 1,
  suspend: 1,
  diverge: 1,
  spawn: 1,
  registerWorkers: 2,
  drainWorkers: 2,
  removeWorkers: 2,
  submit: 3,
  cancel: 3,
  signal: 3,
  resolveApproval: 3,
  resume: 3,
  fork: 3,
  answerBudget: 3,
  abortSettled: 3,
  putSchedule: 3,
  pauseSchedule: 3,
  resumeSchedule: 3,
  removeSchedule: 3,
  fireSchedule: 3,
  triggerSchedule: 3,
  putClient: 3,
  removeClient: 3,
  evaluate: 3,
  report: 1,
  scar: 3,
  observeRoute: 3,
  putSwarm: 3,
  closeSwarm: 3,
  // A lease that is granted is not changed in the same flush.
  startLease: 4,
}

/** The last of the ranks. */
export const lastRank = 4

/** Applies one operation to the working set and says what came of it. `running`: this process's live leases. */
export function fold(ws: WorkingSet, it: Write, running: Iterable<LeaseRow>): OutcomeOf<WriteKind> {
  switch (it.kind) {
    case 'submit':
      return submit(ws, it.tasks)
    case 'recordStep':
      return recordStep(ws, it)
    case 'startStep':
      return startStep(ws, it)
    case 'failStep':
      return failStep(ws, it)
    case 'checkpoint':
      return checkpoint(ws, it)
    case 'appendOutput':
      return appendOutput(ws, it)
    case 'progress':
      return progress(ws, it)
    case 'settle':
      return settle(ws, it)
    case 'putClient':
      return putClient(ws, it)
    case 'removeClient':
      return removeClient(ws, it)
    case 'release':
      return release(ws, it)
    case 'suspend':
      return suspend(ws, it)
    case 'diverge':
      return diverge(ws, it)
    case 'resume':
      return resume(ws, it)
    case 'spawn':
      return spawn(ws, it)
    case 'signal':
      return signal(ws, it)
    case 'resolveApproval':
      return resolveApproval(ws, it)
    case 'answerBudget':
      return answerBudget(ws, it)
    case 'fork':
      return fork(ws, it)
    case 'cancel':
      return cancel(ws, it)
    case 'abortSettled':
      return abortSettled(ws, it)
    case 'putSchedule':
      return putSchedule(ws, it)
    case 'pauseSchedule':
      return pauseSchedule(ws, it)
    case 'resumeSchedule':
      return resumeSchedule(ws, it)
    case 'removeSchedule':
      return removeSchedule(ws, it)
    case 'fireSchedule':
      return fireSchedule(ws, it)
    case 'triggerSchedule':
      return triggerSchedule(ws, it)
    case 'evaluate':
      return evaluate(ws, it)
    case 'report':
      return report(ws, it)
    case 'scar':
      return scar(ws, it)
    case 'observeRoute':
      return observeRoute(ws, it)
    case 'putSwarm':
      return putSwarm(ws, it)
    case 'closeSwarm':
      return closeSwarm(ws, it)
    case 'startLease':
      return startLease(ws, it)
    case 'registerWorkers':
      return registerWorkers(ws, it)
    case 'drainWorkers':
      return drainWorkers(ws, it)
    case 'removeWorkers':
      return removeWorkers(ws, it, running)
  }
}
