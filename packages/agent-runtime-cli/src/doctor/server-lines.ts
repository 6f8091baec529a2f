import { inspectionLines, problemLines } from '../screen/inspection.ts'
import type { Line } from '../screen/printer.ts'
import { count, dated, lasting } from '../screen/words.ts'
import { offsetText, type ServerFindings } from './examine-server.ts'

/** The findings about a server, in lines. */
export function serverLines(findings: ServerFindings): readonly Line[] {
  const { url, answeredInMs, info, clockOffsetMs, workers, tasks, inspection, problems } = findings
  const versions = Object.entries(info.versions).map(([name, version]) => `${name} ${version}`)
  const can = [
    info.readOnly ? 'read-only' : '',
    info.remoteWorkers ? 'takes remote workers' : 'takes no remote workers',
    info.replays ? 'runs tasks' : 'runs no tasks itself',
  ]
  return [
    `${url}: ${findings.ok ? 'well' : 'something is wrong with its store'}`,
    `  answered in ${lasting(answeredInMs)}; API ${info.apiVersion}, ${versions.join(', ')}; ${can.filter(Boolean).join(', ')}`,
    `  store ${info.storeId}, ${info.kind}, schema ${info.schemaVersion}, durability ${info.durability}`,
    `  clock ${dated(info.at)}, ${offsetText(clockOffsetMs)}`,
    workers === null
      ? '  workers: the token may not ask'
      : `  workers ${count(workers.registered)}, ${count(workers.fresh)} seen within a minute; slots ${count(workers.slots)}, ${count(workers.busy)} busy`,
    tasks === null
      ? '  tasks: the token may not ask'
      : `  tasks ${count(tasks.queued)} queued, ${count(tasks.delayed)} delayed, ${count(tasks.running)} running, ${count(tasks.waiting)} waiting`,
    `  ${tokenText(info)}`,
    ...problemLines(problems),
    ...(inspection === null
      ? [`the store itself was not looked at: ${findings.notInspected ?? ''}`]
      : inspectionLines(inspection)),
  ]
}

function tokenText({ token, scopes }: ServerFindings['info']): string {
  const may = `scopes ${scopes.join(', ')}`
  if (token === undefined) return `no token is asked for: whoever reaches it is its owner; ${may}`
  const { name, client, types, expiresAt } = token
  return [
    `token ${name}: ${may}`,
    client === undefined ? '' : `client ${client}`,
    types === undefined ? '' : `types ${types.join(', ')}`,
    expiresAt === undefined ? 'for ever' : `until ${dated(expiresAt)}`,
  ]
    .filter(Boolean)
    .join('; ')
}
