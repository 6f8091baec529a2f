/** Every table of a store with its columns, as the migrations make them: what a store is held against when it is opened. */
export const columns: Readonly<Record<string, string>> = {
  blob: 'sha256 data',
  budget: 'task above limits soft used own started_at due_at asked asks',
  checkpoint: 'task seq data at',
  child: 'parent key task position policy seq open',
  circuit: 'route state scar scar_at opened_at probe_at unhealthy probe',
  client: 'id name credits tier time floor spent changed',
  evaluation: 'agent seq at domain scores missing composite reputation distance change task_id key',
  event: 'task seq type at data blob hash',
  idempotency: 'key task payload_hash',
  journal: 'number at touched hash',
  lease:
    'id task worker process attempt fence state acquired_at expires_at last_heartbeat_at ended_at end_reason end_seq yield_asked_at abort_acknowledged_at abort_grace_expired_at progress',
  meta: 'key value',
  output: 'task seq attempt at data round',
  process: 'id process_id host boot_id pid started_at last_seen_at ended_at',
  pruned: 'task hash',
  quota: 'key queued running window_start window_count window_tokens blocked_until',
  reputation: 'agent reputation evaluations average latest last_at',
  schedule:
    'name definition paused created_at changed_at next_at last_at last_due_at last_task runs rejected missed skipped',
  signal: 'task seq name',
  stream: 'id key lane_rank type quota_keys depth delayed client head place changed',
  swarm: 'name terms spent_us spawned created_at',
  task: 'id stream state attempt fence lease crashes steps waits seq tail submitted_at due_at queued_at started_at finished_at wait_reason tokens explicit_id parent account budget',
  totals:
    'id submitted rejected rejected_pruned completed failed canceled requeued expired preempted running waiting',
  usage: 'task route swarm agent lease data',
  wait: 'task key position kind name due_at terms',
  worker: 'id worker_id process capacity draining types last_seen_at registered',
}
