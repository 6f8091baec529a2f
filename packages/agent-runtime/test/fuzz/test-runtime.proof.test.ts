import './test-runtime.test.ts'
