import { useState } from 'react'

/** Puts a text on the clipboard, and says that it did. */
export function Copy({ text, label }: { readonly text: string | (() => string); readonly label: string }) {
  const [said, setSaid] = useState<string>()
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : text())
      setSaid('Copied')
    } catch {
      setSaid('The browser refused')
    }
    setTimeout(() => setSaid(undefined), 1_500)
  }
  return (
    <button type="button" className="quiet" onClick={() => void copy()}>
      <span aria-live="polite">{said ?? label}</span>
    </button>
  )
}

/** A request to this server as a command. The token stays out of it. */
export function curl(path: string, method = 'GET', body?: unknown): string {
  const url = `${location.origin}/api/v1${path}`
  const parts = [`curl ${method === 'GET' ? '' : `-X ${method} `}'${url.replaceAll("'", '%27')}'`]
  if (sessionStorage.getItem('agent-runtime token') !== null) parts.push(`-H "authorization: Bearer $TOKEN"`)
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

function program(lines: string): string {
  const isSigned = sessionStorage.getItem('agent-runtime token') !== null
  return `import { createHttpClient } from '@ku0/agent-runtime-client'

const client = createHttpClient({ url: '${location.origin}'${isSigned ? ', token: process.env.AGENT_RUNTIME_TOKEN' : ''} })
${lines}
`
}
