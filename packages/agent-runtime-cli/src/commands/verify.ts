import { resolve } from 'node:path'
import { verifyStore } from '@ku0/agent-runtime-persistence'
import { cliExitCodes } from '../exit-codes.ts'
import type { Run } from '../call.ts'
import { shownUrl } from '../store-argument.ts'
import { storeOf } from '../store-of.ts'
import { readSeal, writeSeal } from './seal-file.ts'
import { count, dated } from '../screen/words.ts'

export const run: Run = async (call) => {
  const { print, signal } = call
  const { maxFaults, seal } = call.options as { readonly maxFaults?: number; readonly seal?: string }
  const file = seal === undefined ? undefined : resolve(call.outlet.folder ?? process.cwd(), seal)
  const since = file === undefined ? undefined : readSeal(file)
  const url = await storeOf(call)
  const store = shownUrl(call.args[0] ?? url)
  print.patience(since === undefined ? `reads all of ${store}` : `reads what is new in ${store}`)
  const report = await verifyStore(url, {
    ...(maxFaults === undefined ? {} : { maxFaults }),
    ...(since === undefined ? {} : { since }),
    signal,
  })
  if (file !== undefined && report.seal !== null) writeSeal(file, report.seal)
  const { ok, tasks, events, commits, faults, faultCount, lastGood, remedy, anchored } = report
  const end = lastGood.at === null ? 'none' : `${count(lastGood.commit)} of ${dated(lastGood.at)}`
  const noAnchor = faults.some(({ what }) => what === 'anchor') ? 'damaged' : 'none'
  print.answer(report, () => [
    ok
      ? `${store}: well`
      : `${store}: damaged, ${count(faultCount)} ${faultCount === 1 ? 'fault' : 'faults'}`,
    ...faults.map(
      ({ what, where, expected, actual }) => `  ${what}: ${where}: expected ${expected}, found ${actual}`,
    ),
    ...(faultCount > faults.length ? [`  and ${count(faultCount - faults.length)} more`] : []),
    `  tasks ${count(tasks)}, events ${count(events)}, commits ${count(commits)}`,
    ...(since === undefined ? [] : [`  read: all after commit ${count(since.commit)}, which ${seal} seals`]),
    `  last good commit: ${end}`,
    ...(remedy === null ? [] : [`  what to do: ${remedy}`]),
    `  anchor: ${anchored === null ? noAnchor : `commit ${count(anchored)}`}`,
  ])
  return ok ? cliExitCodes.ok : cliExitCodes.damaged
}
