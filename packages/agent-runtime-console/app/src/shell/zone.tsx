import { chooseZone, useZone, zones } from '../ui/zone.ts'

/** In which time zone moments are shown. */
export function ZoneChoice() {
  const zone = useZone()
  return (
    <label className="theme">
      Times{' '}
      <select
        value={zone}
        title={zone === 'local' ? Intl.DateTimeFormat().resolvedOptions().timeZone : 'UTC'}
        onChange={({ target }) => chooseZone(zones.find((it) => it === target.value) ?? 'local')}
      >
        {zones.map((it) => (
          <option key={it} value={it}>
            {it}
          </option>
        ))}
      </select>
    </label>
  )
}
