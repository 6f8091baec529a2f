import { useRouterState } from '@tanstack/react-router'
import type { ReactNode } from 'react'

export interface Column<Row> {
  readonly name: string
  readonly show: (row: Row) => ReactNode
  /** Numbers stand to the right. */
  readonly isNumber?: boolean
  /** Left out where there is no room. */
  readonly isExtra?: boolean
}

/** The part of an address, behind `#`, that leads to a row of a table by its key. */
export function rowHash(key: string): string {
  return `row-${encodeURIComponent(key)}`
}

/** The router leaves in a hash what means something in an address. */
function decoded(hash: string): string {
  try {
    return decodeURIComponent(hash)
  } catch {
    return hash
  }
}

/** The name of a row that has no page of its own: a link to the row, to be copied or sent. */
export function RowLink({ row, children }: { readonly row: string; readonly children: ReactNode }) {
  return <a href={`#${rowHash(row)}`}>{children}</a>
}

/** The row that the address names comes into sight, once it is there. */
const comeIntoSight = (row: HTMLElement | null) => row?.scrollIntoView({ block: 'center' })

/** A short table. On a phone each row is a card, whose cells name their columns. */
export function Table<Row>({
  caption,
  rows,
  columns,
  keyOf,
}: {
  readonly caption: string
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
  readonly keyOf: (row: Row) => string
}) {
  const hash = useRouterState({ select: ({ location }) => decoded(location.hash) })
  const kind = ({ isNumber, isExtra }: Column<Row>) =>
    [isNumber === true ? 'number' : '', isExtra === true ? 'extra' : ''].join(' ').trim()
  return (
    <div className="table-box">
      <table className="table">
        <caption className="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" className={kind(column)}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const key = keyOf(row)
            const isMeant = hash === `row-${key}`
            return (
              <tr
                key={key}
                id={`row-${key}`}
                aria-current={isMeant ? 'true' : undefined}
                ref={isMeant ? comeIntoSight : undefined}
              >
                {columns.map((column) => (
                  <td key={column.name} data-column={column.name} className={kind(column)}>
                    <div className="cell">{column.show(row)}</div>
                  </td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
