/** A task as the audit knows it: its row, read by SQL alone. */
export interface TaskState {
  id: number
  state: number
  attempt: number
  fence: number
  lease: number | null
  crashes: number
  waits: number
  seq: number
  dueAt: number | null
  parent: number | null
  stream: number | null
  finishedAt: number | null
}

/** A live lease. */
export interface LiveLease {
  id: number
  task: number
  worker: number
  process: number
  fence: number
  attempt: number
  acquiredAt: number
  expiresAt: number
}

export interface Stream {
  id: number
  lane: number
  type: string
  quotaKeys: string
  depth: number
  delayed: number
}

export interface AuditedEvent {
  seq: number
  type: string
  at: number
  data: string
}

/** How a route stands. */
export interface CircuitState {
  readonly route: string
  /** 0 closed, 1 open, 2 half open. */
  readonly state: number
  readonly openedAt: number | null
  readonly probeAt: number | null
  readonly probe: number | null
}

/** A worker, and when it was seen last by the clock of leases. */
export interface WorkerState {
  readonly id: number
  readonly name: string
  readonly process: number
  readonly lastSeenAt: number
  readonly isRegistered: 0 | 1
}

/** What of a swarm's agents, and of others that are measured, is counted. */
export interface UsageState {
  readonly task: number
  readonly swarm: string | null
}

export interface SwarmState {
  readonly name: string
  readonly spentUs: number
  readonly spawned: number
  readonly createdAt: number
}

/** A pipeline as its row says it stands, and an event of its log. */
export interface PipelineState {
  readonly task: number
  readonly log: string
}
export interface Chunk {
  readonly task: number
  readonly seq: number
  readonly data: string
}

/** A client's credits as its row says they stand, and an entry of its ledger; in millionths. */
export interface CreditState {
  readonly name: string
  readonly credits: number
  /** The open request for credits, as JSON. */
  readonly asks: string | null
}
export interface Entry {
  readonly client: string
  readonly seq: number
  readonly kind: number
  readonly amount: number
  readonly held: number
  readonly credits: number
  readonly reserved: number
  readonly task: number | null
  readonly key: string | null
}

/** What of the tables has to do with structures. */
export interface StructureRows {
  readonly pipelines: readonly PipelineState[]
  readonly chunks: readonly Chunk[]
  readonly clients: readonly CreditState[]
  readonly entries: readonly Entry[]
}

/** What of the tables has to do with work that is measured. */
export interface WorkRows {
  readonly circuits: readonly CircuitState[]
  readonly usages: readonly UsageState[]
  readonly swarms: readonly SwarmState[]
  readonly judgements: readonly Judgement[]
}

/** A judgement of an agent, by its row. */
export interface Judgement {
  readonly agent: string
  readonly seq: number
  readonly key: string
}

/** A budget as its row says it stands. */
export interface BudgetState {
  readonly task: number
  readonly limits: string
  readonly used: string
}
