import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { sitePages } from '../../site/pages.ts'

const root = resolve(import.meta.dirname, '../..')

test('every page of docs/ has one place in the sidebar of the site', () => {
  const pages = sitePages(root).flatMap((group) => group.pages)
  expect(new Set(pages.map(({ path }) => path)).size).toBe(pages.length)
  expect(pages.map(({ file }) => file)).toEqual(expect.arrayContaining(['README.md', 'docs/operating.md']))
})
