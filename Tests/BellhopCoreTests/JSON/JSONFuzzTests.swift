import BellhopCore
import BellhopTesting
import Foundation
import Testing

/// Parses random texts from a fixed seed, and compares the results with those of Foundation.
struct JSONFuzzTests {
    @Test func `random values are equal after writing and reading`() throws {
        var random = SeededRandom(seed: 1)
        for round in 0..<2_000 {
            let value = Self.value(depth: 0, &random)
            let style = [JSON.Style.compact, .pretty, .sorted][round % 3]
            let bytes = value.encoded(style)
            #expect(try JSON.parse(bytes) == value)
            if value.asArray != nil || value.asObject != nil {
                let theirs = try JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
                #expect(Self.isSame(value, theirs), "\(value.text)")
            }
        }
    }

    @Test func `damaged texts are accepted and refused as Foundation does, except for known differences`() throws {
        var random = SeededRandom(seed: 2)
        var accepted = 0
        for _ in 0..<20_000 {
            var bytes = Self.value(depth: 1, &random).encoded()
            for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
                let at = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes.remove(at: at)
                case 1: bytes[at] = Self.spice.randomElement(using: &random) ?? 0
                case 2: bytes.insert(Self.spice.randomElement(using: &random) ?? 0, at: at)
                default: bytes.removeLast(bytes.count - at)
                }
            }
            let ours = try? JSON.parse(bytes)
            let theirs = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
            guard let theirs else {
                if ours != nil { #expect(Self.isKnownDifference(bytes), "\(String(decoding: bytes, as: UTF8.self))") }
                continue
            }
            guard let ours else {
                #expect(Self.isKnownDifference(bytes), "\(String(decoding: bytes, as: UTF8.self))")
                continue
            }
            accepted += 1
            #expect(Self.isSame(ours, theirs), "\(String(decoding: bytes, as: UTF8.self))")
        }
        #expect(accepted > 1_000)
    }

    @Test func `random bytes never cause a trap`() {
        var random = SeededRandom(seed: 3)
        for _ in 0..<50_000 {
            let bytes = (0..<Int.random(in: 0...24, using: &random)).map { _ in
                Bool.random(using: &random)
                    ? Self.spice.randomElement(using: &random) ?? 0 : UInt8.random(in: 0...255, using: &random)
            }
            _ = try? JSON.parse(bytes)
            _ = try? Listing(bytes, shape: .serviceNow)
        }
    }

    private static let spice =
        Array(#"{}[]",:\/u0123456789abcdefdD8-+.eEtrufalsn "#.utf8) + [0, 0x1f, 0x7f, 0x80, 0xc3, 0xe2, 0xed, 0xf0, 0xff]

    /// Foundation refuses half a surrogate pair, accepts numbers that a double cannot hold, and mistakes a zero byte near the
    /// start for UTF-16.
    private static func isKnownDifference(_ bytes: [UInt8]) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        return bytes.prefix(4).contains(0) || text.contains("\\ud") || text.contains("\\uD") || text.lowercased().contains("e")
    }

    private static func value(depth: Int, _ random: inout SeededRandom) -> JSON {
        switch Int.random(in: 0..<(depth < 4 ? 8 : 6), using: &random) {
        case 0: return .null
        case 1: return .bool(.random(using: &random))
        case 2: return .int(Int64(truncatingIfNeeded: random.next() >> UInt64.random(in: 0..<64, using: &random)))
        case 3: return .double(Double(Int64.random(in: -1_000_000...1_000_000, using: &random)) / 1024)
        case 4, 5: return .string(text(&random))
        case 6: return .array((0..<Int.random(in: 0..<5, using: &random)).map { _ in value(depth: depth + 1, &random) })
        default:
            var object = JSON.Object()
            for _ in 0..<Int.random(in: 0..<5, using: &random) { object[text(&random)] = value(depth: depth + 1, &random) }
            return .object(object)
        }
    }

    private static func text(_ random: inout SeededRandom) -> String {
        let letters: [Character] = ["a", "Z", "\"", "\\", "/", "\n", "\u{1}", "\u{2028}", "é", "😀", "𝄞", "ß", " ", "0", "\u{7f}"]
        return String((0..<Int.random(in: 0..<20, using: &random)).map { _ in letters.randomElement(using: &random) ?? "x" })
    }

    private static func isSame(_ ours: JSON, _ theirs: Any) -> Bool {
        switch ours {
        case .null: return theirs is NSNull
        case .bool(let value): return (theirs as? NSNumber)?.boolValue == value
        case .int(let value): return (theirs as? NSNumber)?.int64Value == value
        case .double(let value):
            // Foundation converts decimal numbers with a detour that may change the last bit.
            return (theirs as? NSNumber).map { abs($0.doubleValue - value) <= abs(value) * 1e-15 } ?? false
        case .string(let value): return (theirs as? String) == value
        case .array(let values):
            guard let theirs = theirs as? [Any], theirs.count == values.count else { return false }
            return zip(values, theirs).allSatisfy { isSame($0, $1) }
        case .object(let object):
            guard let theirs = theirs as? [String: Any], theirs.count == object.count else { return false }
            return object.allSatisfy { key, value in theirs[key].map { isSame(value, $0) } ?? false }
        }
    }
}
