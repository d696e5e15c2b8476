// The harness by which libFuzzer tries the language: lexer, parser, checker, planned and observed evaluation. `make fuzz` builds and runs
// it; Findings.md says what came of it.

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    if let problem = Trial.problem(of: Array(UnsafeBufferPointer(start: start, count: count))) { fatalError(problem) }
    return 0
}
