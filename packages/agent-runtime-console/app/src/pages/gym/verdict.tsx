/** A word with a sign and a colour of its own. */
export function Verdict({ is, word = is }: { readonly is: keyof typeof kinds; readonly word?: string }) {
  const [sign, state] = kinds[is]
  return (
    <span className={`state state-${state}`}>
      <span aria-hidden="true">{sign}</span> {word}
    </span>
  )
}

const kinds = {
  passed: ['✓', 'completed'],
  failed: ['✕', 'failed'],
  none: ['–', 'canceled'],
  worse: ['▼', 'failed'],
  better: ['▲', 'completed'],
  same: ['=', 'queued'],
  new: ['+', 'running'],
  gone: ['–', 'failed'],
} as const
