import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, test } from 'vitest'
import { endpoints } from '../src/routes/endpoints.ts'
import { apiPage, freshApiPage } from './api-table.ts'
import { callerOf, servedRuntime, serverOn } from './served.ts'

const call = callerOf(serverOn(await servedRuntime()))
const { json: document } = await call('GET', '/api/v1/openapi.json')

test('the document of the API is OpenAPI 3.1', async () => {
  expect(document.openapi).toBe('3.1.0')
  expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true })
})

test('it has every route, each with a name of its own, its scope and its problems', () => {
  const operations = Object.entries<
    Record<string, { operationId: string; description: string; responses: object }>
  >(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, it]) => ({ path, method, ...it })),
  )
  expect(operations.map(({ path, method }) => `${method} ${path}`).toSorted()).toEqual(
    endpoints.map(({ path, method }) => `${method} /api/v1${path}`).toSorted(),
  )
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(endpoints.length)
  for (const { responses, description } of operations) {
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(['401', '403', '503']))
    expect(description).toMatch(/Needs the scope `(read|submit|operate|work|admin)`\.$/)
  }
})

test('the page of the API is as the routes are; node test/write-api-page.ts writes it', () => {
  expect(apiPage()).toBe(freshApiPage())
})
