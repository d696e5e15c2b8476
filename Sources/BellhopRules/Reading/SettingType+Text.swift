import BellhopCore
import YAML

extension Setting {
    /// The problem of a value below the setting's minimum or above its maximum; nil for any other value.
    /// - Parameter shown: the value as messages show it.
    func problem(of value: JSON, shown: String) -> SettingProblem? {
        guard case .int(let number) = value else { return nil }
        if let least, case .int(let bound)? = try? type.value(of: least), number < bound {
            return SettingProblem(
                "\(shown) is below the minimum of `\(name)`", code: "too-small", help: "write `\(least)` or more")
        }
        if let most, case .int(let bound)? = try? type.value(of: most), number > bound {
            return SettingProblem(
                "\(shown) is above the maximum of `\(name)`", code: "too-large", help: "write `\(most)` or less")
        }
        return nil
    }
}

extension SettingType {
    /// What the type expects, in words that complete "this is not …".
    var wanted: String {
        switch self {
        case .text, .target, .secret, .markdown: "a text"
        case .scalar: "a text, a number, `true`, `false` or `null`"
        case .name: "a name"
        case .integer(let range):
            range == Int.min...Int.max ? "a whole number" : "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .number(let range): "a number from \(JSON.double(range.lowerBound).text) to \(JSON.double(range.upperBound).text)"
        case .boolean: "`true` or `false`"
        case .duration: "a duration such as `15m`"
        case .size: "a size such as `64MB`"
        case .rate: "a rate such as `60/m`"
        case .oneOf(let names): Self.choice(names)
        case .address: "an http or https address"
        case .path: "a path"
        case .list(let element): "\(element.wanted), or a list of these"
        case .map: "a mapping of names to values"
        case .record: "a mapping"
        case .json: "a value"
        case .either(let types): types.map(\.wanted).joined(separator: ", or ")
        case .expression: "an expression"
        }
    }

    private static func choice(_ names: [String]) -> String {
        let all = names.filter { !$0.isEmpty }.map { "`\($0)`" }
        let names = all.count > 12 ? all.prefix(8) + ["…"] : all
        return names.count > 2 ? "one of " + names.joined(separator: ", ") : names.joined(separator: " or ")
    }

    /// The value of a scalar's text, as ``Settings`` holds it.
    func value(of text: String) throws(SettingProblem) -> JSON {
        switch self {
        case .text, .target, .scalar, .secret, .markdown, .expression: return .string(text)
        case .name, .path:
            if text.isEmpty { throw SettingProblem("this is empty") }
            return .string(text)
        case .integer(let range):
            guard let number = Int(text), range.contains(number) else { throw mismatch(text) }
            return .int(Int64(number))
        case .number(let range):
            guard let number = Double(text), range.contains(number) else { throw mismatch(text) }
            return .double(number)
        case .boolean:
            switch text {
            case "true", "True", "TRUE": return .bool(true)
            case "false", "False", "FALSE": return .bool(false)
            case "yes", "on", "Yes", "On", "YES", "ON", "y": throw mismatch(text, help: "write `true`")
            case "no", "off", "No", "Off", "NO", "OFF", "n": throw mismatch(text, help: "write `false`")
            default: throw mismatch(text)
            }
        case .duration: return .int(try Self.duration(text).wholeMicroseconds)
        case .size:
            guard let bytes = Self.bytes(text) else {
                throw mismatch(text, help: "a whole number with B, KB, MB, GB, KiB, MiB or GiB")
            }
            return .int(bytes)
        case .rate: return try Self.rate(text)
        case .oneOf(let names):
            if names.contains(text) { return .string(text) }
            let begun = names.filter { text.count > 2 && $0.hasPrefix(text) }
            let meant = begun.count == 1 ? begun[0] : Suggestion.closest(to: text, among: names)
            throw mismatch(text, help: meant.map { "did you mean `\($0)`?" })
        case .address:
            try Self.checkAddress(text)
            return .string(text)
        case .json: return .string(text)
        case .list(let element): return .array([try element.value(of: text)])
        case .either(let types):
            var first: SettingProblem?
            for type in types {
                do throws(SettingProblem) { return try type.value(of: text) } catch { first = first ?? error }
            }
            throw first ?? mismatch(text)
        case .map, .record: throw mismatch(text)
        }
    }

    private func mismatch(_ text: String, help: String? = nil) -> SettingProblem {
        let shown = text.utf8.count > 40 ? "this" : "`\(text)`"
        return SettingProblem("\(text.isEmpty ? "an empty text" : shown) is not \(wanted)", code: "wrong-value", help: help)
    }

    private static func duration(_ text: String) throws(SettingProblem) -> Duration {
        do throws(TimeTextError) {
            return try DurationText.parse(text)
        } catch {
            throw SettingProblem(
                error.message, code: "bad-duration", help: error.help, range: error.offset..<error.offset + error.length)
        }
    }

    /// `64MB`: powers of 1000, or of 1024 with an `i`.
    static func bytes(_ text: String) -> Int64? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text.dropFirst(digits.count).drop { $0 == " " }
        let scales: [String: Int64] = [
            "b": 1, "kb": 1000, "mb": 1_000_000, "gb": 1_000_000_000, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30,
        ]
        guard let number = Int64(digits), let scale = scales[unit.lowercased()] else { return nil }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: scale)
        return overflow ? nil : bytes
    }

    /// The highest number of a rate: a connection keeps the times of that many requests in memory.
    private static let maxRateCount = 1_000_000

    /// `60/m`, `20/h`, `5/10s`: a count per duration.
    static func rate(_ text: String) throws(SettingProblem) -> JSON {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { String($0).trimmedBlanks }
        guard parts.count == 2, let count = Int64(parts[0]), count > 0 else {
            throw SettingProblem(
                "`\(text)` is not \(SettingType.rate.wanted)", help: "write a number, a slash and a time: `20/h`")
        }
        guard count <= maxRateCount else {
            throw SettingProblem(
                "the number of a rate is at most \(maxRateCount)", code: "too-large",
                help: "write a smaller number, or a shorter time: `1000/s`")
        }
        let isUnit = parts[1].utf8.first.map { $0 > UInt8(ascii: "9") } ?? false
        guard let time = try? DurationText.parse(isUnit ? "1" + parts[1] : parts[1]) else {
            throw SettingProblem(
                "`\(text)` is not \(SettingType.rate.wanted)", help: "write the time as s, m, h or d: `\(count)/h`")
        }
        if time <= .zero { throw SettingProblem("a rate needs a time above zero") }
        return .object(["count": .int(count), "microseconds": .int(time.wholeMicroseconds)])
    }

    private static func checkAddress(_ text: String) throws(SettingProblem) {
        let lower = text.lowercased()
        guard lower.hasPrefix("https://") || lower.hasPrefix("http://") else {
            // Text before an @ or after a question mark may be a password.
            let isBare =
                text.contains(".") && !text.contains("@") && !text.contains("?")
                && !text.utf8.contains { $0 <= 0x20 || $0 == 0x7F }
                && !text.contains("://")
            throw SettingProblem(
                "an address begins with `https://` or `http://`", code: "bad-address",
                help: isBare ? "write `https://\(text)`" : nil)
        }
        let host = lower.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).dropFirst(2).first ?? ""
        if host.prefix(while: { $0 != "/" && $0 != "?" && $0 != "#" }).isEmpty {
            throw SettingProblem("the address has no host", code: "bad-address")
        }
        if let place = text.utf8.firstIndex(where: { $0 <= 0x20 || $0 == 0x7F }) {
            let offset = text.utf8.distance(from: text.utf8.startIndex, to: place)
            throw SettingProblem(
                "an address must not contain spaces or control characters", code: "bad-address", range: offset..<offset + 1)
        }
    }
}

/// Why a text is invalid for a setting.
struct SettingProblem: Error, Hashable {
    var code: String
    var message: String
    var help: String?
    /// The invalid part of the text, in UTF-8 bytes; nil for all of it.
    var range: Range<Int>?

    init(_ message: String, code: String = "wrong-value", help: String? = nil, range: Range<Int>? = nil) {
        (self.code, self.message, self.help, self.range) = (code, message, help, range)
    }
}

extension SettingType {
    func fits(_ node: Node) -> Bool {
        switch self {
        case .map, .record: node.mapping != nil
        case .list(let element): node.items != nil || element.fits(node)
        case .either(let types): types.contains { $0.fits(node) }
        case .json: true
        case .text, .scalar, .secret, .name, .integer, .number, .boolean, .duration, .size, .rate, .oneOf, .address, .target,
            .path, .markdown, .expression:
            node.scalar.map { !$0.isAbsent } ?? false
        }
    }

    /// The settings of a record, even if it is one of several choices.
    var members: [Setting] {
        switch self {
        case .record(let settings): settings
        case .either(let types): types.flatMap(\.members)
        case .text, .scalar, .secret, .name, .integer, .number, .boolean, .duration, .size, .rate, .oneOf, .address, .target,
            .path, .list, .map, .json, .markdown, .expression:
            []
        }
    }
}
