import { useEffect, useState } from 'react'
import { ago, exactly, moment } from './format.ts'
import { useZone } from './zone.ts'

/** The time, once a second: pages show how long ago things were. */
export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}

/** How long ago a moment is; the moment itself as a hint. */
export function When({ at }: { readonly at: number | undefined }) {
  const now = useNow(5_000)
  const zone = useZone()
  if (at === undefined) return <span className="faint">never</span>
  return (
    <time dateTime={new Date(at).toISOString()} title={exactly(at, zone)}>
      {ago(at, now)}
    </time>
  )
}

/** A moment; its ms and its time zone as a hint. */
export function Moment({ at }: { readonly at: number }) {
  const now = useNow(60_000)
  const zone = useZone()
  return (
    <time dateTime={new Date(at).toISOString()} title={exactly(at, zone)}>
      {moment(at, zone, now)}
    </time>
  )
}
