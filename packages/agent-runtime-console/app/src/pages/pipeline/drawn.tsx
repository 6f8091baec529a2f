import type { PipelineRecord, StageRecord } from '@ku0/agent-runtime-core'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { ArrowHead } from '../../ui/arrow-head.tsx'
import { count } from '../../ui/format.ts'
import { State } from '../../ui/state.tsx'
import { type Edge, edgesOf, layout } from './layout.ts'

/** The stages of a pipeline as boxes, with an arrow for the events between two of them. */
export function DrawnPipeline({ pipeline }: { readonly pipeline: PipelineRecord }) {
  const [place, room] = useRoom()
  const isColumn = room < 640
  const edges = edgesOf(pipeline)
  const { width, height, boxes, arrows } = layout(pipeline.stages.length, edges, room, isColumn)
  return (
    <div className="drawn" ref={place} tabIndex={0} role="group" aria-label="Stages of the pipeline">
      {room === 0 ? null : (
        <div className="drawn-area" style={{ width, height }}>
          <svg width={width} height={height} aria-hidden="true">
            <defs>
              {['arrow', 'arrow-full'].map((id) => (
                <ArrowHead key={id} id={id} />
              ))}
            </defs>
            {arrows.map(({ edge, path }) => (
              <path
                key={`${edge.from} ${edge.to}`}
                d={path}
                className={edge.isFull ? 'edge edge-full' : 'edge'}
                markerEnd={edge.isFull ? 'url(#arrow-full)' : 'url(#arrow)'}
              />
            ))}
          </svg>
          <ol className="plain">
            {pipeline.stages.map((stage, at) => {
              const { x = 0, y = 0, ...size } = boxes[at] ?? {}
              return (
                <li key={stage.stage} className="stage" style={{ left: x, top: y, ...size }}>
                  <StageBox stage={stage} pipeline={pipeline.taskId} />
                </li>
              )
            })}
          </ol>
          {arrows.map(({ edge, label }) => (
            <span
              key={`${edge.from} ${edge.to}`}
              className={`edge-label edge-${label.at}${edge.isFull ? ' full' : ''}`}
              style={{
                left: label.x,
                top: label.y,
                width: label.width,
                // It stands beside the lanes of other arrows.
                ...(label.at === 'beside' ? { maxWidth: (boxes[0]?.width ?? 0) - label.x } : {}),
              }}
              title={edge.types.join(', ')}
              aria-hidden="true"
            >
              <Label edge={edge} isShort={isColumn && label.at === 'on'} />
            </span>
          ))}
        </div>
      )}
    </div>
  )
}

function Label({ edge, isShort }: { readonly edge: Edge; readonly isShort: boolean }) {
  const { types, taken, published, isFull } = edge
  if (isShort) return <>{isFull ? 'no room' : `${count(taken)}/${count(published)}`}</>
  return (
    <>
      <span className="edge-types">{types.join(', ')}</span>
      <span>
        {count(taken)} of {count(published)}
        {isFull ? ' · no room' : ''}
      </span>
    </>
  )
}

function StageBox({ stage, pipeline }: { readonly stage: StageRecord; readonly pipeline: string }) {
  const { stage: name, tasks, heldBack } = stage
  const [only] = tasks
  return (
    <>
      <strong>
        {tasks.length === 1 && only?.taskId !== undefined ? (
          <Link to="/tasks/$taskId" params={{ taskId: only.taskId }} data-row>
            {name}
          </Link>
        ) : tasks.length > 1 ? (
          <Link to="/tasks" search={{ parent: pipeline }} data-row>
            {name}
          </Link>
        ) : (
          name
        )}
      </strong>
      <span className="row wrap">
        {statesOf(stage).map(([state, number]) =>
          state === 'not started' ? (
            <span key={state} className="faint">
              not started{number === 1 ? '' : ` · ${number}`}
            </span>
          ) : (
            <State key={state} state={state} note={tasks.length === 1 ? undefined : String(number)} />
          ),
        )}
      </span>
      {heldBack.length === 0 ? null : (
        <span className="held" title={heldBack.join(', ')}>
          ‖ no room for {heldBack.join(', ')}
        </span>
      )}
    </>
  )
}

/** In which states its tasks are, with how many. */
function statesOf({ tasks }: StageRecord): readonly (readonly [state: string, number: number])[] {
  const states = new Map<string, number>()
  for (const { state = 'not started' } of tasks) states.set(state, (states.get(state) ?? 0) + 1)
  return [...states]
}

/** A place of the page, and how wide it is; 0 until that is known. */
function useRoom() {
  const place = useRef<HTMLDivElement>(null)
  const [room, setRoom] = useState(0)
  useEffect(() => {
    const element = place.current
    if (element === null) return undefined
    const look = () => setRoom(element.clientWidth - 32)
    const resized = new ResizeObserver(look)
    resized.observe(element)
    look()
    return () => resized.disconnect()
  }, [])
  return [place, Math.max(0, room)] as const
}
