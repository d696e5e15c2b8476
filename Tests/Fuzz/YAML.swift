// A libFuzzer harness for the YAML reader. It is not part of the package:
//
//     swiftc -O -sanitize=fuzzer,address -parse-as-library -enable-testing -I Sources/CLibYAML Sources/YAML/*.swift \
//         Tests/Fuzz/YAML.swift -module-name YAML -o yaml-fuzz && SWIFT_BACKTRACE=enable=no ./yaml-fuzz -max_len=512 -max_total_time=300
//
// It stops where reading traps, where a fault or a node lies outside its text, and where a value cannot be found again in its text.

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzYAML(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let source = SourceText(Array(UnsafeBufferPointer(start: start, count: count)))
    do throws(YAMLErrors) {
        for document in try parse(source, limits: Limits(bytes: 1 << 16, depth: 32, nodes: 10_000)) { check(document.root) }
    } catch {
        precondition(!error.errors.isEmpty)
        for fault in error.errors { check(fault.range, in: source) }
    }
    return 0
}

private func check(_ range: SourceRange, in source: SourceText) {
    precondition(range.start <= range.end && range.end.offset <= source.bytes.count)
    precondition(range.start == source.position(ofOffset: range.start.offset))
}

private func check(_ node: Node) {
    check(node.range, in: node.source)
    switch node.content {
    case .scalar(let scalar):
        precondition(ScalarPlaces(scalar, node.range, in: node.source).bytes == Array(scalar.text.utf8))
        _ = node.cutByComment()
    case .sequence(let items): for item in items where item.alias == nil { check(item) }
    case .mapping(let mapping):
        for pair in mapping {
            if pair.key.alias == nil { check(pair.key) }
            if pair.value.alias == nil { check(pair.value) }
        }
    }
}
