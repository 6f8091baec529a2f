import './hostile-names.test.ts'
