import type { OutputItem } from '@ku0/agent-runtime-client'
import { useEffect, useRef, useState } from 'react'
import { Copy } from '../../ui/copy.tsx'
import { Problem } from '../../ui/problem.tsx'
import { useTaskOutput } from './task-events.ts'

/** What the task emits, as it comes. Texts run on; other values stand in a line each. */
export function Output({ taskId }: { readonly taskId: string }) {
  const { items, error, isOver, again } = useTaskOutput(taskId)
  const [isFollowing, setFollowing] = useState(true)
  const box = useRef<HTMLPreElement>(null)
  useEffect(() => {
    if (isFollowing) box.current?.scrollTo({ top: box.current.scrollHeight })
  }, [items, isFollowing])
  const text = items.map(lineOf).join('')
  return (
    <>
      {error === undefined ? null : <Problem error={error} what="the output" onRetry={again} />}
      <div className="row wrap">
        <label>
          <input
            type="checkbox"
            checked={isFollowing}
            onChange={({ target }) => setFollowing(target.checked)}
          />{' '}
          Stay at the end
        </label>
        <Copy text={() => text} label="Copy text" />
        <span className="faint">{isOver ? 'The task has ended' : 'Follows live'}</span>
      </div>
      {text === '' ? (
        <p className="faint">
          {isOver ? 'It has emitted nothing.' : 'It has emitted nothing yet.'} A handler emits with{' '}
          <code>ctx.emit</code>.
        </p>
      ) : (
        <pre ref={box} className="output" tabIndex={0} aria-label="Output">
          {text}
        </pre>
      )}
    </>
  )
}

function lineOf(item: OutputItem): string {
  if (item.type === 'attempt.restarted') return `\n— attempt ${item.attempt} begins —\n`
  if (typeof item.data === 'string') return item.data
  return `${JSON.stringify(item.data)}\n`
}
