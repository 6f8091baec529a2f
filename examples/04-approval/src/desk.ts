// A reviewer's desk: gives one verdict on what waits, and ends. It runs no tasks.
//
//   node desk.ts DATABASE approve|reject REVIEWER [FEEDBACK]
import { createRuntime } from '@ku0/agent-runtime'

const [database, verdict, by = 'nobody', feedback] = process.argv.slice(2)
await using runtime = await createRuntime({
  store: `sqlite:${database}`,
  tasks: [],
  workers: 0,
  logger: false,
})
const { approvals } = await runtime.approvals.list()
for (const { approvalId, key, artifact, rejections } of approvals) {
  console.log(`desk: '${key}', rejected ${rejections} times: ${JSON.stringify(artifact)}`)
  const said = { by, ...(feedback === undefined ? {} : { feedback }) }
  if (verdict === 'approve') await runtime.approvals.approve(approvalId, said)
  else await runtime.approvals.reject(approvalId, said)
  console.log(`desk: ${by}: ${verdict}${feedback === undefined ? '' : `, "${feedback}"`}`)
}
