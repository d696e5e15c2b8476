// The libFuzzer harness of the YAML reader. `make fuzz` builds and runs it; Findings.md lists its findings.

@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    if let problem = Trial.problem(of: Array(UnsafeBufferPointer(start: start, count: count))) { fatalError(problem) }
    return 0
}
