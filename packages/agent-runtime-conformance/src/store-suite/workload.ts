import {
  profileConfigs,
  type ProfileTerms,
  type Writes,
  type Claim,
  type Submission,
} from '@ku0/agent-runtime-core'
import { type Scene, submission } from './scene.ts'

/** The limits of an EXTREME lease, unless said otherwise. */
export function termsOf(change: Partial<ProfileTerms> = {}): ProfileTerms {
  return { profile: 'EXTREME', config: profileConfigs.EXTREME, grantedMs: 3_600_000, limits: {}, ...change }
}

/** A lease that its caller holds. */
export async function hold(
  scene: Scene,
  task: Partial<Submission> = {},
): Promise<Extract<Writes['startLease']['outcome'], { as: 'started' }>> {
  const outcome = await startLease(scene, task)
  if (outcome.as !== 'started') throw new Error(`not started: ${JSON.stringify(outcome.receipt)}`)
  return outcome
}

export function startLease(
  scene: Scene,
  task: Partial<Submission> = {},
): Promise<Writes['startLease']['outcome']> {
  const profile = task.profile ?? termsOf()
  return scene.write({ kind: 'startLease', submission: { ...submission(task), profile } })
}

/** A heartbeat with what is used. */
export function report(
  scene: Scene,
  { leaseId }: Pick<Claim, 'leaseId'>,
  sample: { readonly computeUs?: number; readonly memoryBytes?: number } = {},
  terms: ProfileTerms = termsOf(),
): Promise<Writes['report']['outcome']> {
  return scene.write({ kind: 'report', leaseId, terms, sample, heartbeat: true })
}

/** How a route stands; undefined where nothing is known of it. */
export async function route(scene: Scene, name = 'work') {
  return (await scene.read({ kind: 'routes' })).find((it) => it.route === name)
}
