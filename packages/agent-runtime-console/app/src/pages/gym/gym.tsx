import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type DragEvent, useEffect, useState } from 'react'
import { Asked } from '../../ui/asked.tsx'
import { Empty } from '../../ui/empty.tsx'
import { moment } from '../../ui/format.ts'
import { Page } from '../../ui/page.tsx'
import { useToast } from '../../ui/toast.tsx'
import { facts } from '../../ui/problem.tsx'
import { useNow } from '../../ui/now.tsx'
import { useZone } from '../../ui/zone.ts'
import { Comparing } from './comparing.tsx'
import { OneReport } from './one-report.tsx'
import { listReports, type NamedReport, type ReportFile, readReport, reportOf } from './reports.ts'

type Side = 'a' | 'b'

/** Files that somebody has chosen: they are in no address, and stay until the page is closed. */
const chosen: Partial<Record<Side, NamedReport>> = {}

/** Reports of the gym: one by itself, or two beside each other. */
export function GymPage() {
  const search = useSearch({ from: '/gym' })
  const navigate = useNavigate()
  const say = useToast()
  const [files, setFiles] = useState(chosen)
  const [isOver, setOver] = useState(false)
  useEffect(() => void Object.assign(chosen, { a: undefined, b: undefined }, files), [files])
  const listed = useQuery({ queryKey: ['reports'], queryFn: listReports })
  const a = useReport(search.a, files.a)
  const b = useReport(search.b, files.b)

  const go = (next: Partial<Record<Side, string | undefined>>) =>
    void navigate({
      to: '/gym',
      search: Object.fromEntries(
        Object.entries({ a: search.a, b: search.b, ...next }).filter(([, value]) => value !== undefined),
      ),
      replace: true,
      resetScroll: false,
    })
  const setPath = (side: Side, name: string | undefined) => {
    setFiles(without(side))
    go({ [side]: name })
  }
  const open = async (given: readonly File[], side?: Side) => {
    try {
      const read = await Promise.all(given.slice(0, 2).map(reportOf))
      const [first, second] = read.toSorted((x, y) => x.report.startedAt.localeCompare(y.report.startedAt))
      if (first === undefined) return
      const at = side ?? (a.named === undefined ? 'a' : 'b')
      if (second === undefined) {
        setFiles((before) => ({ ...before, [at]: first }))
        go({ [at]: undefined })
      } else {
        setFiles({ a: first, b: second })
        go({ a: undefined, b: undefined })
      }
    } catch (error) {
      say(facts(error).detail, true)
    }
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    void open([...event.dataTransfer.files])
  }
  const swap = () => {
    setFiles({
      ...(files.b === undefined ? {} : { a: files.b }),
      ...(files.a === undefined ? {} : { b: files.a }),
    })
    go({ a: search.b, b: search.a })
  }
  const only = a.named ?? b.named
  return (
    <div
      className={isOver ? 'drop over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={({ currentTarget, relatedTarget }) => {
        if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) setOver(false)
      }}
      onDrop={drop}
    >
      <Page title="Gym reports">
        <section className="filters" aria-label="Reports">
          {(['a', 'b'] as const).map((side) => (
            <Choice
              key={side}
              label={side === 'a' ? 'A, before' : 'B, after'}
              listed={listed.data ?? []}
              path={files[side] === undefined ? search[side] : undefined}
              file={files[side]?.name}
              onPath={(name) => setPath(side, name)}
              onFiles={(given) => void open(given, given.length > 1 ? undefined : side)}
            />
          ))}
          {a.named === undefined || b.named === undefined ? null : (
            <button type="button" onClick={swap}>
              Swap A and B
            </button>
          )}
        </section>
        {a.query === undefined ? null : (
          <Asked query={a.query} what={`the report ${search.a}`}>
            {() => null}
          </Asked>
        )}
        {b.query === undefined ? null : (
          <Asked query={b.query} what={`the report ${search.b}`}>
            {() => null}
          </Asked>
        )}
        {a.named !== undefined && b.named !== undefined ? (
          <Comparing a={a.named} b={b.named} />
        ) : only === undefined ? (
          a.query === undefined && b.query === undefined ? (
            <NoReport hasListed={(listed.data?.length ?? 0) > 0} />
          ) : null
        ) : (
          <OneReport named={only} />
        )}
      </Page>
    </div>
  )
}

function without(side: Side) {
  return (files: typeof chosen): typeof chosen =>
    Object.fromEntries(Object.entries(files).filter(([it]) => it !== side))
}

/** The report of a side: a chosen file before one of the server. */
function useReport(path: string | undefined, file: NamedReport | undefined) {
  const query = useQuery({
    queryKey: ['report', path],
    queryFn: () => readReport(path ?? ''),
    enabled: path !== undefined && file === undefined,
    retry: false,
  })
  if (file !== undefined) return { named: file, query: undefined }
  if (path === undefined) return { named: undefined, query: undefined }
  return { named: query.data, query }
}

function Choice({
  label,
  listed,
  path,
  file,
  onPath,
  onFiles,
}: {
  readonly label: string
  readonly listed: readonly ReportFile[]
  readonly path: string | undefined
  readonly file: string | undefined
  readonly onPath: (name: string | undefined) => void
  readonly onFiles: (files: readonly File[]) => void
}) {
  const now = useNow(60_000)
  const zone = useZone()
  const isListed = path === undefined || listed.some(({ name }) => name === path)
  return (
    <fieldset className="choice">
      <legend>{label}</legend>
      {listed.length === 0 && isListed ? null : (
        <select
          aria-label={`${label}: a report of the server`}
          value={path ?? ''}
          onChange={({ target }) => onPath(target.value === '' ? undefined : target.value)}
        >
          <option value="">{file ?? 'none'}</option>
          {isListed ? null : <option value={path}>{path}</option>}
          {listed.map(({ name, changedAt }) => (
            <option key={name} value={name}>
              {name}, {moment(Date.parse(changedAt), zone, now)}
            </option>
          ))}
        </select>
      )}
      <label className="button file">
        {file ?? 'Open a file…'}
        <input
          type="file"
          className="hidden"
          accept=".json,application/json"
          multiple
          aria-label={`${label}: open a file`}
          onChange={({ target }) => {
            onFiles([...(target.files ?? [])])
            // The same file can be chosen again after it has changed.
            target.value = ''
          }}
        />
      </label>
      {path === undefined && file === undefined ? null : (
        <button type="button" className="quiet" onClick={() => onPath(undefined)}>
          Close<span className="hidden"> {label}</span>
        </button>
      )}
    </fieldset>
  )
}

function NoReport({ hasListed }: { readonly hasListed: boolean }) {
  return (
    <Empty title="Open one report to look at it, or two to compare them">
      <p>
        Drop one or two <code>.json</code> files of <code>gym:run</code> on this page
        {hasListed ? ', or choose reports of the server above' : ''}. Files stay in your browser.
      </p>
      {hasListed ? null : (
        <p>
          To choose reports by their names here, start the server with <code>--reports FOLDER</code>.
        </p>
      )}
    </Empty>
  )
}
