import type { EventData, OutOfCredits } from '@ku0/agent-runtime-core'
import type { Findings } from './findings.ts'
import type { Followed } from './followed.ts'
import { LedgerAudit } from './ledger-audit.ts'
import { PipelineAudit } from './pipeline-audit.ts'
import { RecoveryAudit } from './recovery-audit.ts'
import type { StructureRows } from './stored-rows.ts'
import { SupervisorAudit } from './supervisor-audit.ts'

/** The parts of the audit that look at what is built of tasks, supervisors and pipelines, and at what clients have agreed to and pay. */
export class StructureAudit {
  readonly supervisors: SupervisorAudit
  readonly pipelines: PipelineAudit
  readonly ledger: LedgerAudit
  readonly recoveries: RecoveryAudit

  constructor(
    findings: Findings,
    {
      ledger,
      ...ids
    }: {
      readonly numberOf: (taskId: string) => number | undefined
      readonly idOf: (task: number) => string
      /** What happens without credits; undefined where there is no ledger. */
      readonly ledger: OutOfCredits | undefined
    },
  ) {
    this.supervisors = new SupervisorAudit(findings, ids)
    this.pipelines = new PipelineAudit(findings)
    this.ledger = new LedgerAudit(findings, ledger)
    this.recoveries = new RecoveryAudit(findings, ids)
  }

  /** Whether a supervisor, a pipeline or a stage may fail so, or a task whose failures are looked at elsewhere. */
  mayFail(tasks: ReadonlyMap<number, Followed>, found: Followed, kind: string): boolean {
    if (this.recoveries.isWatched(found.row.id)) return true
    if (kind === 'escalated') return this.supervisors.isSupervisor(found.row.id)
    return kind === 'error' && this.pipelines.mayFail(tasks, found)
  }

  queued(found: Followed, task: number, it: EventData['task.queued'], parent: number | null): void {
    this.pipelines.queued(task, it.input)
    this.supervisors.queued(task, it.input, parent)
    this.ledger.queued(found, task, it, parent)
  }

  /** After a commit. */
  look(tasks: ReadonlyMap<number, Followed>, rows: StructureRows): void {
    this.supervisors.look(tasks)
    this.pipelines.look(tasks, rows)
    this.ledger.look(tasks, rows)
  }
}
