import BellhopCore
import BellhopRules
import YAML

/// Finds and replaces `${{ env.NAME }}` and `${{ secret.NAME }}` in the strings of bellhop.yaml.
enum Interpolation {
    struct Reference: Sendable, Hashable {
        enum Space: String, Sendable, Hashable { case env, secret }
        var space: Space
        var name: String
    }

    enum Part: Sendable, Hashable {
        case text(String)
        case reference(Reference, utf8: Range<Int>)
        /// Text between `${{` and `}}` that is not a reference.
        case other(String, utf8: Range<Int>)
        /// `${{` without an end.
        case open(utf8: Range<Int>)
    }

    /// Splits a string into parts; `$${{` is a literal `${{`.
    static func parts(of text: String) -> [Part] {
        let bytes = Array(text.utf8)
        var parts: [Part] = []
        var literal: [UInt8] = []
        var index = 0
        func starts(_ sign: StaticString, at index: Int) -> Bool {
            let count = sign.utf8CodeUnitCount
            guard index + count <= bytes.count else { return false }
            return sign.withUTF8Buffer { buffer in bytes[index..<index + count].elementsEqual(buffer) }
        }
        func flush() {
            if !literal.isEmpty { parts.append(.text(String(decoding: literal, as: UTF8.self))) }
            literal = []
        }
        while index < bytes.count {
            if starts("$${{", at: index) {
                literal += Array("${{".utf8)
                index += 4
            } else if starts("${{", at: index) {
                flush()
                var end = index + 3
                while end < bytes.count, !starts("}}", at: end) { end += 1 }
                guard end < bytes.count else {
                    parts.append(.open(utf8: index..<bytes.count))
                    return parts
                }
                let inner = String(decoding: bytes[index + 3..<end], as: UTF8.self)
                parts.append(part(inner, utf8: index..<end + 2))
                index = end + 2
            } else {
                literal.append(bytes[index])
                index += 1
            }
        }
        flush()
        return parts
    }

    private static func part(_ inner: String, utf8 range: Range<Int>) -> Part {
        let words = inner.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
        guard let dot = words.firstIndex(of: "."), let space = Reference.Space(rawValue: String(words[..<dot])) else {
            return .other(words, utf8: range)
        }
        let name = String(words[words.index(after: dot)...])
        guard isName(name) else { return .other(words, utf8: range) }
        return .reference(Reference(space: space, name: name), utf8: range)
    }

    /// Whether a name fits files and variables: letters, digits, `_`, `-` and inner dots.
    static func isName(_ name: String) -> Bool {
        !name.isEmpty && !name.hasPrefix(".") && !name.contains("..")
            && name.utf8.allSatisfy { $0.isASCIIAlphanumeric || "_-.".utf8.contains($0) }
    }
}

extension ConfigurationReading {
    /// The text with its references replaced by their values; reports all that are wrong.
    static func interpolate(
        _ text: String, in node: Node, file: String, values: SecretResolver.Found, resolver: SecretResolver,
        hasPlaceholders: Bool
    ) throws(Diagnostics) -> String {
        var out = ""
        var problems = Diagnostics()
        func report(_ code: String, _ message: String, _ range: Range<Int>, help: String) {
            let place = Diagnostic.Place(node, utf8: range, file: file)
            problems.report(Diagnostic(code: code, message, at: place, help: help))
        }
        let parts = Interpolation.parts(of: text)
        for part in parts {
            switch part {
            case .text(let text): out += text
            case .reference(let reference, let range):
                if let value = values.values[reference] {
                    out += value
                } else if hasPlaceholders {
                    // Valid as a password and as an address.
                    out += parts.count == 1 ? "https://placeholder.invalid" : "placeholder"
                } else if let refusal = values.refusals[reference] {
                    report(refusal.isWrongName ? "missing-secret" : "failed-secret", refusal.message, range, help: refusal.help)
                } else {
                    let what = reference.space == .env ? "environment variable" : "secret"
                    report(
                        "missing-\(reference.space == .env ? "variable" : "secret")", "there is no \(what) `\(reference.name)`",
                        range, help: resolver.help(for: reference))
                }
            case .other(let words, let range):
                report(
                    "bad-reference", "`${{ \(words) }}` is unknown in bellhop.yaml", range,
                    help: "only `${{ env.NAME }}` and `${{ secret.NAME }}` are possible here")
            case .open(let range):
                report("open-reference", "this `${{` has no end", range, help: "add `}}`, or write `$${{` for a literal `${{`")
            }
        }
        for other in OtherTemplate.all(in: text) where other.isOfSecrets {
            report(
                "other-template", "this is not a reference and would be used literally", other.range,
                help: "write `${{ \(other.expression) }}`")
        }
        if !problems.all.isEmpty { throw problems }
        return out
    }
}
