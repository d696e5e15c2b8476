import BellhopCore
import BellhopTesting
import Testing

struct FingerprintTests {
    @Test(arguments: [
        ("", "c5e3bb841a357fe4701c7945fce85e2c"), ("a", "5826996141252c8cf1244014c81a13e0"),
        ("The quick brown fox jumps over the lazy dog", "a62151f061fde15dbedcbb3128417c1d"),
    ])
    func `fingerprints are the same on every machine`(_ text: String, _ hex: String) {
        #expect(Fingerprint(content: text).hex == hex)
    }

    @Test func `a fingerprint is equal after writing and reading it in hexadecimal`() throws {
        let one = Fingerprint(high: 0x0123_4567_89ab_cdef, low: 0x00ff)
        #expect(one.hex == "0123456789abcdef00000000000000ff")
        #expect(Fingerprint(hex: one.hex) == one)
        for wrong in [
            "", "0123456789ABCDEF00000000000000ff", "g123456789abcdef00000000000000ff", one.hex + "0", String(one.hex.dropLast()),
        ] { #expect(Fingerprint(hex: wrong) == nil) }
        for byte in UInt8(0)...127 where !Array("0123456789abcdef".utf8).contains(byte) {
            let text = String(decoding: Array(repeating: UInt8(ascii: "0"), count: 31) + [byte], as: UTF8.self)
            #expect(Fingerprint(hex: text) == nil)
        }
    }

    @Test func `every bit of the content changes half of the fingerprint's bits on average`() {
        var random = SeededRandom(seed: 4)
        for length in [1, 3, 8, 15, 16, 17, 31, 32, 33, 47, 48, 64, 65, 100, 380] {
            var turned = [Int](repeating: 0, count: 128)
            var trials = 0
            for _ in 0..<max(1, 4_000 / (length * 8)) {
                var bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
                let before = Fingerprint(content: bytes)
                for bit in 0..<length * 8 {
                    bytes[bit / 8] ^= 1 << UInt8(bit % 8)
                    let after = Fingerprint(content: bytes)
                    bytes[bit / 8] ^= 1 << UInt8(bit % 8)
                    for place in 0..<64 {
                        turned[place] += Int((before.high ^ after.high) >> UInt64(place) & 1)
                        turned[place + 64] += Int((before.low ^ after.low) >> UInt64(place) & 1)
                    }
                    trials += 1
                }
            }
            for count in turned {
                let share = Double(count) / Double(trials)
                #expect(abs(share - 0.5) < 0.06, "length \(length): \(share)")
            }
        }
    }

    /// Each half of the bits on its own. A chance collision among this many would occur in one of some 40,000 such tests.
    @Test func `similar contents have different fingerprints, in each half too`() {
        var highs: Set<UInt64> = []
        var lows: Set<UInt64> = []
        var count = 0
        func add(_ bytes: [UInt8], seed: Fingerprint = .zero) {
            let fingerprint = Fingerprint(content: bytes, seed: seed)
            highs.insert(fingerprint.high)
            lows.insert(fingerprint.low)
            count += 1
        }
        for length in 0..<2_000 { add(Array(repeating: 0, count: length)) }
        for length in 1..<2_000 { add(Array(repeating: 0xff, count: length)) }
        for number in 0..<100_000 { add(Array("INC\(number)".utf8)) }
        for number in 1..<20_000 { add([0], seed: Fingerprint(high: 0, low: UInt64(number))) }
        for number in 1..<20_000 { add([0], seed: Fingerprint(high: UInt64(number), low: 0)) }
        var sparse = [UInt8](repeating: 0, count: 96)
        for first in 0..<768 {
            sparse[first / 8] ^= 1 << UInt8(first % 8)
            add(sparse)
            for second in 0..<first {
                sparse[second / 8] ^= 1 << UInt8(second % 8)
                add(sparse)
                sparse[second / 8] ^= 1 << UInt8(second % 8)
            }
            sparse[first / 8] ^= 1 << UInt8(first % 8)
        }
        // No content is in two of these groups: groups with equal patterns have different lengths.
        #expect(highs.count == count)
        #expect(lows.count == count)
    }

    @Test func `contents with words equal to a key of the hash keep different fingerprints`() {
        let keys: [UInt64] = [0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1, 0x6a09_e667_f3bc_c908, 0xbb67_ae85_84ca_a73b]
        for key in keys {
            var seen: Set<Fingerprint> = []
            let word = (0..<8).map { UInt8(truncatingIfNeeded: key >> UInt64($0 * 8)) }
            for number in UInt8(0)...255 {
                seen.insert(Fingerprint(content: [number] + Array(repeating: 7, count: 7) + word + word + word))
                seen.insert(Fingerprint(content: word + [number] + Array(repeating: 7, count: 7) + word + word))
            }
            #expect(seen.count == 512)
        }
    }

    @Test func `fingerprints of facts depend on their kind, their boundaries and their number`() {
        func of(_ add: (inout FingerprintBuilder) -> Void) -> Fingerprint {
            var builder = FingerprintBuilder()
            add(&builder)
            return builder.fingerprint
        }
        let all = [
            Fingerprint.of(), .of(""), .of("", ""), .of("a", "b"), .of("ab"), .of("ab", ""), .of("", "ab"), .of("b", "a"),
            .of("a", "b", ""),
            of { $0.add(1) }, of { $0.add("1") }, of { $0.add(Array("1".utf8)) }, of { $0.add(Fingerprint(high: 1, low: 0)) },
            of { $0.add(Fingerprint.of("a", "b")) }, of { $0.add(-1) },
            of {
                $0.add(1); $0.add(1)
            },
            Fingerprint(content: "ab"), Fingerprint(content: "ab", seed: .of("a")),
        ]
        #expect(Set(all).count == all.count)
        #expect(
            of {
                $0.add("a"); $0.add("b")
            } == .of("a", "b"))
    }
}
