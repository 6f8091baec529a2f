import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitepress'

interface Group {
  readonly text: string
  readonly pages: readonly { readonly text: string; readonly path: string }[]
}

const file = join(import.meta.dirname, '../.pages/groups.json')
const groups = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as readonly Group[]) : []
const closed = new Set(['Reference', 'Examples', 'Packages', 'Decisions', 'Evidence'])

export default defineConfig({
  title: 'Agent runtime',
  description:
    'Runs AI-agent tasks to the end, through crashes, restarts and waits of days. One SQLite file, no server.',
  lang: 'en',
  srcDir: '.pages',
  outDir: 'dist',
  cleanUrls: true,
  // The address of a server of the reader's own is an example.
  ignoreDeadLinks: 'localhostLinks',
  // Nothing on the site is asked of another host: no fonts, no analytics, no search service.
  themeConfig: {
    nav: [
      { text: 'Guide', link: '/durable-agents' },
      { text: 'API', link: '/api/' },
      { text: 'Guarantees', link: '/guarantees' },
    ],
    sidebar: [
      ...groups.map(({ text, pages }) => ({
        text,
        collapsed: closed.has(text),
        items: pages.map((page) => ({ text: page.text, link: `/${page.path}` })),
      })),
      { text: 'API reference', link: '/api/' },
    ],
    outline: { level: [2, 3] },
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: 'https://github.com/ku0/agent-runtime' }],
  },
})
