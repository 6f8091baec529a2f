import type { ReactNode } from 'react'

export interface Column<Row> {
  readonly name: string
  readonly show: (row: Row) => ReactNode
  /** Numbers stand to the right. */
  readonly isNumber?: boolean
  /** Left out where there is no room. */
  readonly isExtra?: boolean
}

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
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.name} data-column={column.name} className={kind(column)}>
                  <div className="cell">{column.show(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
