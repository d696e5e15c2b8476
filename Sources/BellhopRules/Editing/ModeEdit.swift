import YAML

/// Changes a rule's `mode` in the text of its file, and nothing else in it. Pure.
public enum ModeEdit {
    public enum Mode: String, Sendable, Hashable, CaseIterable {
        case shadow, live
    }

    /// The text with this mode; nil if the rule is not in the text, or is written in a form that must be changed by hand.
    public static func text(_ text: String, rule: String, mode: Mode) -> String? {
        guard let mapping = self.rule(rule, in: text) else { return nil }
        var bytes = Array(text.utf8)
        if !change(&bytes, mapping, to: mode) { return nil }
        let changed = String(decoding: bytes, as: UTF8.self)
        guard let result = self.rule(rule, in: changed) else { return nil }
        // Only the mode may have changed.
        let names = Set(mapping.names).union(["mode"])
        guard names == Set(result.names).union(["mode"]), result.count == Set(result.names).count else { return nil }
        return result["mode"]?.value.scalarText ?? Mode.live.rawValue == mode.rawValue ? changed : nil
    }

    private static func rule(_ name: String, in text: String) -> Mapping? {
        guard let documents = try? YAML.parse(text) else { return nil }
        let rules = documents.flatMap { $0.root["rules"]?.items ?? [$0.root] }
        return rules.first { $0["rule"]?.scalarText == name }?.mapping
    }

    /// Changes the mode in the bytes; false if it must be changed by hand.
    private static func change(_ bytes: inout [UInt8], _ mapping: Mapping, to mode: Mode) -> Bool {
        guard let name = mapping["rule"] else { return false }
        let isBlock = mapping.isBlock(in: bytes)
        guard let pair = mapping["mode"] else {
            if mode == .live { return true }
            let place = name.value.range.end.offset
            if isBlock {
                let end = lineEnd(bytes, from: place)
                let indent = String(repeating: " ", count: name.key.range.start.column - 1)
                let line = (isCRLF(bytes) ? "\r\n" : "\n") + indent + "mode: shadow"
                bytes.insert(contentsOf: Array(line.utf8), at: end)
            } else {
                bytes.insert(contentsOf: Array(", mode: shadow".utf8), at: place)
            }
            return true
        }
        guard pair.value.alias == nil else { return false }
        let isFirst = mapping.pairs.first?.name == "mode"
        if mode == .live, isBlock, !isFirst {
            bytes.removeSubrange(lines(bytes, pair))
        } else {
            let begin = pair.key.range.end.offset
            let end = Swift.max(begin, end(of: pair.value, in: bytes))
            bytes.replaceSubrange(begin..<end, with: Array(": \(mode.rawValue)".utf8))
        }
        return true
    }

    /// The end of a value. The range of a block mapping reaches up to the text after it.
    private static func end(of node: Node, in bytes: [UInt8]) -> Int {
        guard let mapping = node.mapping, mapping.isBlock(in: bytes), let last = mapping.pairs.last else {
            return node.range.end.offset
        }
        return end(of: last.value, in: bytes)
    }

    /// The whole lines of a pair in a block.
    private static func lines(_ bytes: [UInt8], _ pair: Mapping.Pair) -> Range<Int> {
        let newline = UInt8(ascii: "\n")
        let begin = bytes[..<pair.key.range.start.offset].lastIndex(of: newline).map { $0 + 1 } ?? 0
        let end = bytes[end(of: pair.value, in: bytes)...].firstIndex(of: newline).map { $0 + 1 } ?? bytes.count
        return begin..<end
    }

    /// Where the text of a line ends.
    private static func lineEnd(_ bytes: [UInt8], from place: Int) -> Int {
        let end = bytes[place...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
        return end > place && bytes[end - 1] == UInt8(ascii: "\r") ? end - 1 : end
    }

    private static func isCRLF(_ bytes: [UInt8]) -> Bool {
        bytes.firstIndex(of: UInt8(ascii: "\n")).map { $0 > 0 && bytes[$0 - 1] == UInt8(ascii: "\r") } ?? false
    }
}

extension Mapping {
    /// Whether the mapping is written as a block and not between braces.
    fileprivate func isBlock(in bytes: [UInt8]) -> Bool {
        guard let first = pairs.first else { return false }
        // In braces, a brace or a comma comes before a key.
        let before = bytes[..<first.key.range.start.offset].last { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        return before != UInt8(ascii: "{")
    }
}
