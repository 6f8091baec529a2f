/** A path of the API with its query. */
export function pathWith(path: string, query: readonly (readonly [name: string, value: unknown])[]): string {
  const text = new URLSearchParams(query.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? path : `${path}?${text}`
}

/** A request to this server as a command of a shell. The token stays out of it. */
export function curl(path: string, method = 'GET', body?: unknown): string {
  const url = `${location.origin}/api/v1${path}`
  const parts = [`curl ${method === 'GET' ? '' : `-X ${method} `}'${url.replaceAll("'", '%27')}'`]
  if (isSigned()) parts.push(`-H "authorization: Bearer $AGENT_RUNTIME_TOKEN"`)
  if (body !== undefined)
    parts.push(
      `-H 'content-type: application/json'`,
      `-d '${JSON.stringify(body).replaceAll("'", String.raw`'\''`)}'`,
    )
  return parts.join(' ')
}

/** A program that reads a task. The token stays out of it. */
export function codeOf(taskId: string): string {
  return program(`const details = await client.get(${JSON.stringify(taskId)})
console.log(details.task.state, await client.explain(details.task))`)
}

/** A program that lists the tasks of a filter. */
export function listCode(filter: object): string {
  return program(`const { tasks, cursor } = await client.list(${JSON.stringify(filter)})
for (const task of tasks) console.log(task.taskId, task.type, task.state)`)
}

/** A program that makes some calls and prints the answers. */
export function callCode(...calls: readonly string[]): string {
  return program(`console.log(${calls.map((call) => `await client.${call}`).join(', ')})`)
}

function program(lines: string): string {
  return `import { createHttpClient } from '@ku0/agent-runtime-client'

const client = createHttpClient({ url: '${location.origin}'${isSigned() ? ', token: process.env.AGENT_RUNTIME_TOKEN' : ''} })
${lines}
`
}

function isSigned(): boolean {
  return sessionStorage.getItem('agent-runtime token') !== null
}
