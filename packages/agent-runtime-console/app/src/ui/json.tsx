import { useState } from 'react'
import { Copy } from './copy.tsx'

const MOST = 20_000
/** Colours are elements of the page, too many of which make it slow. */
const MOST_PAINTED = 200_000

/** A value as text that can be selected; what is long is cut, and can be shown whole. */
export function Json({ value, label }: { readonly value: unknown; readonly label: string }) {
  const [isWhole, setWhole] = useState(false)
  const text = typeof value === 'string' ? value : (JSON.stringify(value, undefined, 2) ?? 'undefined')
  const isLong = text.length > MOST && !isWhole
  const shown = isLong ? text.slice(0, MOST) : text
  return (
    <div className="json">
      <div className="json-bar">
        <span className="faint">{label}</span>
        <Copy text={text} label={typeof value === 'string' ? 'Copy text' : 'Copy JSON'} />
      </div>
      <pre tabIndex={0} aria-label={label}>
        {typeof value === 'string' || shown.length > MOST_PAINTED ? shown : painted(shown)}
        {isLong ? '…' : ''}
      </pre>
      {isLong ? (
        <button type="button" onClick={() => setWhole(true)}>
          Show all {Math.round(text.length / 1_000)} kB
        </button>
      ) : null}
    </div>
  )
}

/** Names, texts and other values in their colours. */
function painted(text: string) {
  return text.split(/("(?:[^"\\]|\\.)*"\s*:?)/).map((part, index) => {
    if (index % 2 === 0) return part
    return (
      <span key={index} className={part.endsWith(':') ? 'json-name' : 'json-text'}>
        {part}
      </span>
    )
  })
}
