import {
  cancelTask,
  explainTask,
  forkTask,
  replayTask,
  resumeTask,
  retryTask,
  signalTask,
} from './act-on-task.ts'
import {
  listAgents,
  listEvaluations,
  listRoutes,
  listSwarms,
  recordEvaluation,
  showDrift,
  showReputation,
  similarAgents,
} from './agents.ts'
import { allEvents } from './all-events.ts'
import { approvalTrail, approve, listApprovals, reject, showApproval } from './approvals.ts'
import { countBulk, showBulk, startBulk, stopBulk } from './bulk.ts'
import type { Endpoint } from './endpoint.ts'
import { taskHistory } from './history.ts'
import {
  continueBudget,
  listBudgets,
  listClients,
  listQuotas,
  removeClient,
  setClient,
  showBudget,
  stopBudget,
} from './limits.ts'
import { openConnection, receiveFrames, sendFrames, showLine } from './line.ts'
import { listTasks } from './list-tasks.ts'
import {
  deadLetters,
  drainWorker,
  listLeases,
  listWorkers,
  pauseQueue,
  resumeQueue,
  showInfo,
  showQueue,
  showSeries,
  showStats,
  undrainWorker,
} from './operation.ts'
import { listPipelines, pipelineEvents, showPipeline } from './pipelines.ts'
import {
  listSchedules,
  pauseSchedule,
  putSchedule,
  removeSchedule,
  resumeSchedule,
  showSchedule,
  triggerSchedule,
  upcomingTimes,
} from './schedules.ts'
import { listReports, showReport } from './reports.ts'
import { listAgreements } from './agreements.ts'
import { listEntries, purchaseCredits, showCredits } from './credits.ts'
import { showResult, showTask } from './show-task.ts'
import {
  listSupervisors,
  restartSupervised,
  showSupervised,
  startSupervised,
  stopSupervised,
} from './supervisors.ts'
import { createToken, listTokens, revokeToken } from './tokens.ts'
import { submitTask, submitTasks } from './submit-tasks.ts'
import { taskEvents, taskOutput } from './task-events.ts'
import { emitOutput, recordStep, settleTask, waitFor } from './work-leases.ts'
import { claimTasks, heartbeat, registerWorker, removeWorker } from './work.ts'

/** Every route of the API. */
export const endpoints: readonly Endpoint[] = [
  listTasks,
  submitTask,
  submitTasks,
  showTask,
  showResult,
  cancelTask,
  retryTask,
  forkTask,
  signalTask,
  resumeTask,
  explainTask,
  replayTask,
  listSupervisors,
  showSupervised,
  startSupervised,
  stopSupervised,
  restartSupervised,
  listPipelines,
  showPipeline,
  pipelineEvents,
  countBulk,
  startBulk,
  showBulk,
  stopBulk,
  taskEvents,
  taskOutput,
  taskHistory,
  allEvents,
  listApprovals,
  showApproval,
  approve,
  reject,
  approvalTrail,
  listBudgets,
  showBudget,
  continueBudget,
  stopBudget,
  listQuotas,
  listClients,
  setClient,
  removeClient,
  listAgreements,
  showCredits,
  purchaseCredits,
  listEntries,
  listSchedules,
  showSchedule,
  putSchedule,
  removeSchedule,
  pauseSchedule,
  resumeSchedule,
  triggerSchedule,
  upcomingTimes,
  listRoutes,
  listSwarms,
  listAgents,
  showReputation,
  listEvaluations,
  recordEvaluation,
  similarAgents,
  showDrift,
  listWorkers,
  drainWorker,
  undrainWorker,
  listLeases,
  showQueue,
  pauseQueue,
  resumeQueue,
  showSeries,
  showStats,
  showInfo,
  deadLetters,
  listTokens,
  createToken,
  revokeToken,
  listReports,
  showReport,
  showLine,
  openConnection,
  sendFrames,
  receiveFrames,
  registerWorker,
  claimTasks,
  heartbeat,
  recordStep,
  emitOutput,
  waitFor,
  settleTask,
  removeWorker,
]
