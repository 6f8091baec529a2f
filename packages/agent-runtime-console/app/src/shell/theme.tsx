import { useState } from 'react'

const themes = ['system', 'light', 'dark'] as const
type Theme = (typeof themes)[number]
const SLOT = 'agent-runtime theme'

/** The theme that somebody chose here, before the first paint. */
export function applyTheme(theme: Theme = chosen()): void {
  document.documentElement.style.colorScheme = theme === 'system' ? 'light dark' : theme
}

export function ThemeChoice() {
  const [theme, setTheme] = useState(chosen)
  return (
    <label className="theme">
      Theme{' '}
      <select
        value={theme}
        onChange={({ target }) => {
          const next = themes.find((it) => it === target.value) ?? 'system'
          localStorage.setItem(SLOT, next)
          applyTheme(next)
          setTheme(next)
        }}
      >
        {themes.map((it) => (
          <option key={it} value={it}>
            {it}
          </option>
        ))}
      </select>
    </label>
  )
}

function chosen(): Theme {
  const stored = localStorage.getItem(SLOT)
  return themes.find((it) => it === stored) ?? 'system'
}
