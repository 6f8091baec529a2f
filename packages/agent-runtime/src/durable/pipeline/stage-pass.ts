import type { Host } from '../host.ts'
import type { Gate } from '../pass/gate.ts'
import type { KeyUse, Use } from '../pass/key-use.ts'
import type { Waits } from '../wait/waits.ts'

/** What the calls of a stage need from their pass. */
export interface StagePass {
  readonly attempt: Host
  readonly gate: Gate
  readonly waits: Waits
  begun(): void
  use(call: KeyUse): Use
  giveBack(key: string, position: number): void
}
