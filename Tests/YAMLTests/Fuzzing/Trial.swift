#if canImport(YAML)
    @testable import YAML
#endif

/// Properties that hold for any text read as YAML. The tests check them for the seeds of Tests/Fuzz, and the fuzzing harness for
/// libFuzzer's inputs; the harness is compiled as one module with the reader.
enum Trial {
    /// The property that these bytes violate; nil if all hold. A trap or endless work ends the run without a report.
    static func problem(of bytes: [UInt8]) -> String? {
        let source = SourceText(bytes)
        do throws(YAMLErrors) {
            for document in try parse(source, limits: Limits(bytes: 1 << 16, depth: 32, nodes: 10_000)) {
                if let problem = problem(of: document.root) { return problem }
            }
        } catch {
            if error.errors.isEmpty { return "refused without a fault" }
            for fault in error.errors {
                if let problem = problem(of: fault.range, in: source) { return "\(fault.code): \(problem)" }
            }
        }
        return nil
    }

    /// The place of each error and each node lies within the text, and its line and column match its offset.
    private static func problem(of range: SourceRange, in source: SourceText) -> String? {
        guard range.start <= range.end, range.end.offset <= source.bytes.count else { return "it lies outside the text" }
        return range.start == source.position(ofOffset: range.start.offset) ? nil : "it begins elsewhere"
    }

    /// Each value is found at its place in the text.
    private static func problem(of node: Node) -> String? {
        if let problem = problem(of: node.range, in: node.source) { return "\(node.kind): \(problem)" }
        switch node.content {
        case .scalar(let scalar):
            _ = node.cutByComment()
            let places = ScalarPlaces(scalar, node.range, in: node.source)
            return places.bytes == Array(scalar.text.utf8) ? nil : "`\(scalar.text)` is not at its place"
        case .sequence(let items): return items.lazy.compactMap { $0.alias == nil ? problem(of: $0) : nil }.first
        case .mapping(let mapping):
            return mapping.lazy.flatMap { [$0.key, $0.value] }.compactMap { $0.alias == nil ? problem(of: $0) : nil }.first
        }
    }
}
