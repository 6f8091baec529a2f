import './edited.test.ts'
