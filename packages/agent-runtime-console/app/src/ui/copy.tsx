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
