/** A sign beside each word, so that colour alone never carries a state. */
const signs: Readonly<Record<string, string>> = {
  queued: '○',
  running: '◐',
  waiting: '◷',
  completed: '✓',
  failed: '✕',
  canceled: '⊘',
  rejected: '⊖',
}

export function State({ state, note }: { readonly state: string; readonly note?: string | undefined }) {
  return (
    <span className={`state state-${state}`}>
      <span aria-hidden="true">{signs[state] ?? '·'}</span>{' '}
      <span className="state-words">
        {state}
        {note === undefined ? '' : ` · ${note}`}
      </span>
    </span>
  )
}
