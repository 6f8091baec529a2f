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
