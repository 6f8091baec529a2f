import './exports.test.ts'
