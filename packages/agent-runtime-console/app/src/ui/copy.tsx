import { useState } from 'react'
import { callCode, curl } from './commands.ts'

/** What a page shows: as a request, as a program, and as it is, once it is there. */
export function CopyAs({
  path,
  call,
  json,
}: {
  /** Where the API has it, or its parts. */
  readonly path: string | readonly string[]
  /** A call of the client, such as `schedules.list()`, or one for each part. */
  readonly call: string | readonly string[]
  readonly json: unknown
}) {
  const paths = [path].flat()
  return (
    <>
      <Copy text={() => paths.map((it) => curl(it)).join('\n')} label="Copy as cURL" />
      <Copy text={() => callCode(...[call].flat())} label="Copy as code" />
      <CopyJson value={json} />
    </>
  )
}

export function CopyJson({ value }: { readonly value: unknown }) {
  return value === undefined ? null : (
    <Copy text={() => JSON.stringify(value, undefined, 2)} label="Copy as JSON" />
  )
}

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
