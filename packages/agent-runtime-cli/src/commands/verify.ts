import { resolve } from 'node:path'
import { type Seal, type Verification, verifyStore, type VerifyOptions } from '@ku0/agent-runtime-persistence'
import { cliExitCodes } from '../exit-codes.ts'
import type { Call, Run } from '../call.ts'
import { placeOfCare } from '../place-of-care.ts'
import { shownUrl } from '../store-argument.ts'
import { readSeal, writeSeal } from './seal-file.ts'
import { count, dated } from '../screen/words.ts'

export const run: Run = async (call) => {
  const { print, signal, outlet } = call
  const { maxFaults, seal } = call.options as { readonly maxFaults?: number; readonly seal?: string }
  const file = seal === undefined ? undefined : resolve(outlet.folder ?? process.cwd(), seal)
  const since = file === undefined ? undefined : readSeal(file)
  const { store, verify } = await placeOf(call)
  print.patience(since === undefined ? `reads all of ${store}` : `reads what is new in ${store}`)
  const report = await verify({
    ...(maxFaults === undefined ? {} : { maxFaults }),
    ...(since === undefined ? {} : { since }),
    signal,
  })
  if (file !== undefined && report.seal !== null) writeSeal(file, report.seal)
  print.answer(report, () => linesOf(report, { store, seal, since }))
  return report.ok ? cliExitCodes.ok : cliExitCodes.damaged
}

/** Where the store is, and who verifies it: this process, or the server that has it. */
interface Place {
  readonly store: string
  readonly verify: (options: VerifyOptions) => Promise<Verification>
}

async function placeOf(call: Call): Promise<Place> {
  const { print, system } = call
  const place = await placeOfCare(call)
  if (place.server === undefined) {
    const { store: url } = place
    return { store: shownUrl(call.args[0] ?? url), verify: (options) => verifyStore(url, options) }
  }
  const { server, token } = place
  const { clientOfServer } = await import('../remote.ts')
  let toldAt = system.now()
  return {
    store: `the store of ${server}`,
    verify: (options) =>
      clientOfServer(server, token).verifyStore({
        ...options,
        onProgress({ tasks }) {
          if (system.now() - toldAt < TOLD_EACH_MS) return
          toldAt = system.now()
          print.patience(`${count(tasks)} tasks so far`)
        },
      }),
  }
}

const TOLD_EACH_MS = 5_000

function linesOf(
  { ok, tasks, events, commits, faults, faultCount, lastGood, remedy, anchored }: Verification,
  given: { readonly store: string; readonly seal: string | undefined; readonly since: Seal | undefined },
): readonly string[] {
  const { store, seal, since } = given
  const end = lastGood.at === null ? 'none' : `${count(lastGood.commit)} of ${dated(lastGood.at)}`
  const noAnchor = faults.some(({ what }) => what === 'anchor') ? 'damaged' : 'none'
  return [
    ok
      ? `${store}: well`
      : `${store}: damaged, ${count(faultCount)} ${faultCount === 1 ? 'fault' : 'faults'}`,
    ...faults.map(
      ({ what, where, expected, actual }) => `  ${what}: ${where}: expected ${expected}, found ${actual}`,
    ),
    ...(faultCount > faults.length ? [`  and ${count(faultCount - faults.length)} more`] : []),
    `  tasks ${count(tasks)}, events ${count(events)}, commits ${count(commits)}`,
    ...(since === undefined
      ? []
      : [`  read: all after commit ${count(since.commit)}, which ${seal ?? ''} seals`]),
    `  last good commit: ${end}`,
    ...(remedy === null ? [] : [`  what to do: ${remedy}`]),
    `  anchor: ${anchored === null ? noAnchor : `commit ${count(anchored)}`}`,
  ]
}
